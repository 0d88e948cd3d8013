//! Rows of valid and invalid texts for every check.

use super::*;

type Check = fn(&str) -> Messages;

type Form = fn(&str) -> bool;

#[test]
fn good_texts() {
    let long_label = "a".repeat(63);
    let long_name = "a".repeat(253);
    let rows: [(&str, Check, &[&str]); 20] = [
        ("label", dns1123_label, &["a", "a-b", "0", "1a", "a--b", &long_label]),
        ("subdomain", dns1123_subdomain, &["a", "a.b", "1.2-3.c", &long_name]),
        ("caseless", dns1123_subdomain_caseless, &["A.b", "Example.COM"]),
        ("underscore", dns1123_subdomain_with_underscore, &["_a._b", "a_b", "a.b"]),
        ("dns1035", dns1035_label, &["a", "a1", "a-1", &long_label]),
        ("wildcard", wildcard_dns1123_subdomain, &["*.a", "*.example.com"]),
        ("label key", label_key, &["a", "A.b_c-d", "example.com/A", "1/2", &long_label]),
        ("prefixed key", prefixed_label_key, &["a/b"]),
        ("label value", label_value, &["", "a", "A_b.c-d", &long_label]),
        ("C identifier", c_identifier, &["_", "a1", "A_B"]),
        ("port name", port_name, &["a", "1-a", "abcdefghijklmno"]),
        ("percent", percent, &["1%", "0100%"]),
        ("header", http_header_name, &["X-Header", "-", "1"]),
        ("env", env_var_name, &["A", "_", "a.b-c", ".a", "-"]),
        ("relaxed env", relaxed_env_var_name, &["1 a:b", "~"]),
        ("config key", config_map_key, &["a", ".a", "a..b", "1", &long_name]),
        ("path segment", path_segment_name, &["", "a:b", "...", "é"]),
        ("uuid", uuid, &["01234567-89ab-cdef-0123-456789abcdef"]),
        ("integer", decimal_integer, &["0", "-1", "10"]),
        ("ip", ip::ip, &["10.9.8.7", "::", "2001:db8::ffff"]),
    ];
    for (name, check, texts) in rows {
        for text in texts {
            assert_eq!(check(text), Messages::new(), "{name} {text}");
        }
    }
}

#[test]
fn bad_texts() {
    let long_label = "a".repeat(64);
    let long_name = "a".repeat(254);
    let long_key = format!("{long_name}/a");
    let of_name: &str = &format!("name part {KEY_NAME}");
    let of_prefix: &str = &format!("prefix part {SUBDOMAIN}");
    let of_key: &str = &format!(
        "a valid label key {KEY_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    );
    let not_integer = "must be a valid decimal integer in canonical form";
    let port_characters = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    let rows: [(&str, Check, &str, &[&str]); 60] = [
        ("label", dns1123_label, "", &[LABEL]),
        ("label", dns1123_label, "a.b", &["must not contain dots"]),
        ("label", dns1123_label, "A", &[LABEL]),
        ("label", dns1123_label, "-a", &[LABEL]),
        ("label", dns1123_label, "a-", &[LABEL]),
        ("label", dns1123_label, "a\n", &[LABEL]),
        ("label", dns1123_label, "é", &[LABEL]),
        ("label", dns1123_label, &long_label, &["must be no more than 63 characters"]),
        ("short name", short_name, &long_label, &["must be no more than 63 bytes"]),
        ("subdomain", dns1123_subdomain, "a..b", &[SUBDOMAIN]),
        ("subdomain", dns1123_subdomain, "a.", &[SUBDOMAIN]),
        ("subdomain", dns1123_subdomain, &long_name, &["must be no more than 253 characters"]),
        ("long name", super::long_name, &long_name, &["must be no more than 253 bytes"]),
        ("caseless", dns1123_subdomain_caseless, "A_", &[SUBDOMAIN_CASELESS]),
        ("underscore", dns1123_subdomain_with_underscore, "__a", &[SUBDOMAIN_WITH_UNDERSCORE]),
        ("underscore", dns1123_subdomain_with_underscore, "a_", &[SUBDOMAIN_WITH_UNDERSCORE]),
        ("dns1035", dns1035_label, "1a", &[DNS1035_LABEL]),
        ("dns1035", dns1035_label, "", &[DNS1035_LABEL]),
        ("wildcard", wildcard_dns1123_subdomain, "*.", &[WILDCARD]),
        ("wildcard", wildcard_dns1123_subdomain, "a.b", &[WILDCARD]),
        ("label key", label_key, "", &["name part must be non-empty", of_name]),
        ("label key", label_key, "/a", &["prefix part must be non-empty"]),
        ("label key", label_key, "a/", &["name part must be non-empty", of_name]),
        ("label key", label_key, "A/b", &[of_prefix]),
        ("label key", label_key, "a/b/c", &[of_key]),
        ("label key", label_key, "-a", &[of_name]),
        ("label key", label_key, &long_label, &["name part must be no more than 63 bytes"]),
        ("label key", label_key, &long_key, &["prefix part must be no more than 253 bytes"]),
        ("prefixed key", prefixed_label_key, "a", &["must include a prefix (e.g. 'example.com/key')"]),
        ("label value", label_value, "-a", &[LABEL_VALUE]),
        ("label value", label_value, "a b", &[LABEL_VALUE]),
        ("label value", label_value, &long_label, &["must be no more than 63 bytes"]),
        ("C identifier", c_identifier, "1a", &[C_IDENTIFIER]),
        ("C identifier", c_identifier, "", &[C_IDENTIFIER]),
        ("port name", port_name, "", &[port_characters, "must contain at least one letter (a-z)"]),
        ("port name", port_name, "abcdefghijklmnop", &["must be no more than 15 characters"]),
        ("port name", port_name, "80", &["must contain at least one letter (a-z)"]),
        (
            "port name",
            port_name,
            "-A--",
            &[
                port_characters,
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        ("percent", percent, "%", &[PERCENT]),
        ("percent", percent, "1", &[PERCENT]),
        ("header", http_header_name, "a:b", &[HTTP_HEADER]),
        ("env", env_var_name, "1a", &[ENV_VAR]),
        ("env", env_var_name, "..", &["must not be '..'"]),
        ("env", env_var_name, "..=", &[ENV_VAR, "must not start with '..'"]),
        ("relaxed env", relaxed_env_var_name, "", &["environment variable name must be non-empty"]),
        ("relaxed env", relaxed_env_var_name, "a=", &[RELAXED_ENV_VAR]),
        ("relaxed env", relaxed_env_var_name, "é", &[RELAXED_ENV_VAR]),
        ("config key", config_map_key, ".", &["must not be '.'"]),
        ("config key", config_map_key, "", &[CONFIG_MAP_KEY]),
        ("config key", config_map_key, &long_name, &["must be no more than 253 characters"]),
        ("path segment", path_segment_name, ".", &["may not be '.'"]),
        ("path segment", path_segment_name, "a/b%", &["may not contain '/'", "may not contain '%'"]),
        ("path prefix", path_segment_prefix, "%", &["may not contain '%'"]),
        ("uuid", uuid, "01234567-89AB-cdef-0123-456789abcdef", &[UUID]),
        ("uuid", uuid, "", &[UUID]),
        ("integer", decimal_integer, "", &["must be non-empty"]),
        ("integer", decimal_integer, "-0", &[not_integer]),
        ("integer", decimal_integer, "01", &[not_integer]),
        ("integer", decimal_integer, "-", &[not_integer]),
        ("integer", decimal_integer, "+1", &[not_integer]),
    ];
    for (name, check, text, expected) in rows {
        assert_eq!(check(text), expected, "{name} {text}");
    }
}

#[test]
fn numbers() {
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
    assert_eq!(port_number(65_535), Messages::new());
}

#[test]
fn forms_without_messages() {
    let rows: [(Form, &[&str], &[&str]); 4] = [
        (is_sysctl_name, &["net.core.somaxconn", "a/b-c_d"], &["", "a.", "A", "a..b"]),
        (is_condition_reason, &["A", "A:b,c_"], &["", "1", "A:", "_a"]),
        (
            has_time_zone_form,
            &["UTC", "Europe/Berlin", "Etc/GMT+1"],
            &["", "/", "..", "a/./b", "-a", "abcdefghijklmno", "é"],
        ),
        (is_http_path, &["a/b", "%!$&'()*+,;=:"], &["", "a b", "a?"]),
    ];
    for (check, good, bad) in rows {
        assert!(good.iter().all(|text| check(text)), "{good:?}");
        assert!(!bad.iter().any(|text| check(text)), "{bad:?}");
    }
}

#[test]
fn faults_of_parts() {
    assert_eq!(fully_qualified_domain_name("a.b."), Ok(()));
    assert_eq!(fully_qualified_domain_name("a.b.."), Err(invalid("a.b.", SUBDOMAIN)));
    let few = "should be a domain with at least two segments separated by dots";
    assert_eq!(fully_qualified_domain_name("a."), Err(invalid("a", few)));
    let long = "a".repeat(64);
    let fault = invalid(&long, "must be no more than 63 characters");
    assert_eq!(fully_qualified_domain_name(&format!("b.{long}")), Err(fault));

    assert_eq!(domain_prefixed_path("acme.io/foo/bar"), []);
    assert_eq!(domain_prefixed_path(""), [Fault::Required]);
    let shape = "must be a domain-prefixed path (such as \"acme.io/foo\")";
    assert_eq!(domain_prefixed_path("acme.io/"), [invalid("acme.io/", shape)]);
    assert_eq!(domain_prefixed_path("A/b c"), [invalid("A", SUBDOMAIN), invalid("b c", HTTP_PATH)]);
}

#[test]
fn addresses() {
    use ip::{cidr, cidr_legacy, endpoint_ip, interface_address, ip, ip_legacy};
    let legacy: Check = |text| ip_legacy(text, true);
    let sloppy: Check = |text| ip_legacy(text, false);
    let legacy_cidr: Check = |text| cidr_legacy(text, true);
    let sloppy_cidr: Check = |text| cidr_legacy(text, false);
    let rows: [(&str, Check, &str, &[&str]); 32] = [
        ("sloppy", sloppy, "010.9.8.007", &[]),
        ("sloppy", sloppy, "::ffff:1.2.3.04", &[]),
        ("sloppy", sloppy, "1.2.3", &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ("sloppy", sloppy, "1.2.3.256", &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ("sloppy", sloppy, "fe80::1%eth0", &["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ("legacy", legacy, "10.9.8.07", &["must not have leading 0s"]),
        ("legacy", legacy, "::ffff:1.2.3.4", &["must not be an IPv4-mapped IPv6 address"]),
        ("legacy", legacy, "2001:DB8:0::1", &[]),
        ("ip", ip, "2001:DB8:0::1", &["must be in canonical form (\"2001:db8::1\")"]),
        ("ip", ip, "1.2.3.4", &[]),
        ("sloppy cidr", sloppy_cidr, "10.9.08.1/024", &[]),
        ("sloppy cidr", sloppy_cidr, "10.9.8.1", &["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        (
            "sloppy cidr",
            sloppy_cidr,
            "10.9.8.1/33",
            &["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
        ),
        ("sloppy cidr", sloppy_cidr, "::/129", &["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        ("cidr", legacy_cidr, "10.9.8.0/024", &["must not have leading 0s in IP or prefix length"]),
        ("cidr", legacy_cidr, "10.09.8.0/24", &["must not have leading 0s in IP or prefix length"]),
        ("cidr", legacy_cidr, "::ffff:1.2.3.0/120", &["must not have an IPv4-mapped IPv6 address"]),
        ("cidr", legacy_cidr, "10.9.8.1/24", &["must not have bits set beyond the prefix length"]),
        ("cidr", cidr, "0.0.0.0/0", &[]),
        ("cidr", cidr, "::/0", &[]),
        ("cidr", cidr, "10.9.8.7/32", &[]),
        ("cidr", cidr, "2001:db8:0::/64", &["must be in canonical form (\"2001:db8::/64\")"]),
        ("interface", interface_address, "10.9.8.7/24", &[]),
        ("interface", interface_address, "10.9.8.07/24", &["must be in canonical form (\"10.9.8.7/24\")"]),
        ("interface", interface_address, "::ffff:1.2.3.4/120", &["must be in canonical form (\"1.2.3.4/24\")"]),
        (
            "interface",
            interface_address,
            "x",
            &["must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"],
        ),
        ("endpoint", endpoint_ip, "10.0.0.1", &[]),
        ("endpoint", endpoint_ip, "0.0.0.0", &["may not be unspecified (0.0.0.0)"]),
        ("endpoint", endpoint_ip, "127.0.0.1", &["may not be in the loopback range (127.0.0.0/8, ::1/128)"]),
        ("endpoint", endpoint_ip, "fe80::1", &["may not be in the link-local range (169.254.0.0/16, fe80::/10)"]),
        (
            "endpoint",
            endpoint_ip,
            "224.0.0.9",
            &["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
        ),
        (
            "endpoint",
            endpoint_ip,
            "ff02::1",
            &["may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
        ),
    ];
    for (name, check, text, expected) in rows {
        assert_eq!(check(text), expected, "{name} {text}");
    }
}

#[test]
fn blocks_contain_addresses() {
    let rows = [
        ("10.96.0.0/12", "10.96.0.1", true),
        ("10.96.0.0/12", "10.111.255.255", true),
        ("10.96.0.0/12", "10.112.0.0", false),
        ("10.96.0.0/12", "::", false),
        // A mapped address counts as IPv4, and so does a block of them.
        ("10.96.0.0/12", "::ffff:10.96.0.1", true),
        ("::ffff:10.96.0.0/108", "10.111.255.255", true),
        ("::ffff:10.96.0.0/108", "10.112.0.0", false),
        // A block that is larger than the mapped range is IPv6.
        ("::ffff:0:0/95", "10.96.0.1", false),
        ("::/0", "10.96.0.1", false),
        ("fd00::/8", "fd12::1", true),
    ];
    for (block, address, inside) in rows {
        let (parsed, within) = (ip::parse_cidr_sloppy(block), ip::parse_ip_sloppy(address));
        let found = parsed.zip(within).map(|(block, address)| block.contains(address));
        assert_eq!(found, Some(inside), "{address} in {block}");
    }
}

#[test]
fn quoting() {
    let rows = [
        ("", r#""""#),
        ("a'b", r#""a'b""#),
        ("\"\\", r#""\"\\""#),
        ("\x07\x08\t\n\x0b\x0c\r", r#""\a\b\t\n\v\f\r""#),
        ("\0\x1b\x7f", r#""\x00\x1b\x7f""#),
        ("é日🙂", "\"é日🙂\""),
        ("\u{300}e\u{301}", "\"\u{300}e\u{301}\""),
        ("\u{a0}\u{ad}\u{200b}\u{feff}", r#""\u00a0\u00ad\u200b\ufeff""#),
        ("\u{10ffff}", r#""\U0010ffff""#),
    ];
    for (text, expected) in rows {
        assert_eq!(quoted(text), expected);
    }
}

#[test]
fn prefixes_are_validated_as_names_that_go_on() {
    for (prefix, name) in
        [("web-", "wea"), ("W-", "a"), ("-", "-"), ("web", "web"), ("a--", "aa"), ("é-", "é-"), ("", "")]
    {
        assert_eq!(masked_prefix(prefix), name, "{prefix}");
    }
}
