//! Configuration files: the rules that they result in, and the messages of their errors.

use super::*;
use pintle_storage::Transformer;

fn rules(resources: &str) -> Result<Vec<Rule>, String> {
    let source = EncryptionSource { path: "config.yaml".into(), ..EncryptionSource::default() };
    let text = format!("apiVersion: {API_VERSION}\nkind: {KIND}\nresources:\n{resources}");
    parse(&source, text.as_bytes())
}

const KEY: &str = "{name: k, secret: MDEyMzQ1Njc4OWFiY2RlZg==}";

#[test]
fn a_file_becomes_rules() {
    let text = format!(
        "- resources: [secrets, '*.apps']\n  providers:\n  - aescbc: {{keys: [{KEY}]}}\n  - kms: {{apiVersion: v2, name: \
         vault, endpoint: 'unix:///@vault'}}\n  - identity: {{}}\n- resources: ['*.*']\n  providers: [{{identity: {{}}}}]\n"
    );
    let rules = rules(&text).expect("right");
    assert_eq!(rules[0].resources, [GroupResource::parse("secrets"), GroupResource::parse("*.apps")]);
    let [Provider::AesCbc(keys), Provider::Kms(kms), Provider::Identity] = &rules[0].providers[..] else {
        panic!("three providers in their order")
    };
    assert_eq!((keys[0].name.as_str(), keys[0].secret.as_slice()), ("k", &b"0123456789abcdef"[..]));
    let expected = KmsConfig { name: "vault".into(), socket: "@vault".into(), timeout: Duration::from_secs(3) };
    assert_eq!(kms, &expected);
    assert_eq!(rules.len(), 2);
}

#[test]
fn errors_have_the_reference_messages() {
    let provider = |provider: &str| format!("- resources: [secrets]\n  providers: [{provider}]\n");
    let resources = |names: &str| format!("- resources: [{names}]\n  providers: [{{identity: {{}}}}]\n");
    let short = "{name: k, secret: c2hvcnQ=}";
    for (text, expected) in [
        (" []".to_owned(), "resources: Required value: at least one resources is required"),
        (
            "- providers: []\n".to_owned(),
            "[resources[0].resources: Required value: at least one resources[0].resources is required, \
             resources[0].providers: Required value: at least one resources[0].providers is required]",
        ),
        (
            resources("secrets, secrets"),
            "resources[0].resources: Invalid value: [\"secrets\",\"secrets\"]: the same resource cannot be specified \
             multiple times",
        ),
        (
            resources("secrets, '*.'"),
            "resources[0].resources: Invalid value: [\"secrets\",\"*.\"]: using overlapping resources such as 'secrets' \
             and '*.' in the same resource list is not allowed as they will be masked",
        ),
        (
            resources("'*.apps', '*.apps'"),
            "[resources[0].resources: Invalid value: [\"*.apps\",\"*.apps\"]: the same resource cannot be specified \
             multiple times, resources[0].resources: Invalid value: [\"*.apps\",\"*.apps\"]: using overlapping resources \
             such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked]",
        ),
        (
            resources("Secrets"),
            "resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain capital letters",
        ),
        (
            resources("'*'"),
            "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API group \
             or *.* to encrypt all resources",
        ),
        (
            resources("events.events.k8s.io"),
            "resources[0].resources[0]: Invalid value: \"events.events.k8s.io\": '*.events.k8s.io' objects are stored \
             using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        (
            resources("secrets.*"),
            "resources[0].resources[0]: Invalid value: \"secrets.*\": encrypting the same resource across groups is not \
             supported",
        ),
        (
            provider("{}"),
            "resources[0].providers[0]: Invalid value: \"REDACTED\": provider does not contain any of the expected \
             providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
        ),
        (
            provider("{aesgcm: {keys: []}}"),
            "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required",
        ),
        (
            provider(&format!("{{aesgcm: {{keys: [{short}, {{name: other, secret: '?'}}, {{}}]}}}}")),
            "[resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the \
             expected length, got 5, expected one of [16 24 32], resources[0].providers[0].aesgcm.keys[1].secret: \
             Invalid value: \"REDACTED\": secrets must be base64 encoded, \
             resources[0].providers[0].aesgcm.keys[2].name: Required value: name is a mandatory field for a key, \
             resources[0].providers[0].aesgcm.keys[2].secret: Required value: secret is a mandatory field for a key]",
        ),
        (
            provider("{kms: {apiVersion: v2, name: 'a:b', endpoint: 'tcp://x', timeout: -1s, cachesize: 1}}"),
            "[resources[0].providers[0].kms.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not \
             contain ':', resources[0].providers[0].kms.timeout: Invalid value: \"-1s\": timeout should be a positive \
             value, resources[0].providers[0].kms.endpoint: Invalid value: \"tcp://x\": unsupported scheme \"tcp\" for \
             KMS provider, only unix is supported, resources[0].providers[0].kms.cachesize: Invalid value: 1: cachesize \
             is not supported in v2]",
        ),
        (
            provider(r#"{kms: {apiVersion: v2, name: a, endpoint: "unix:///a\nb"}}"#),
            "resources[0].providers[0].kms.endpoint: Invalid value: \"unix:///a\\nb\": invalid endpoint for kms provider, \
             error: parse \"unix:///a\\nb\": net/url: invalid control character in URL",
        ),
        (
            format!("{}- resources: [configmaps]\n  unknown: 1\n", provider("{identity: {}}")),
            "error decoding encryption provider configuration file \"config.yaml\": strict decoding error: unknown field \
             \"resources[1].unknown\"",
        ),
    ] {
        let refused = rules(&text).err().unwrap_or_else(|| panic!("{text} is right"));
        assert_eq!(refused, format!("error while parsing file: {expected}"), "{text}");
    }
    let old = "{kms: {name: old, endpoint: 'unix:///s'}}";
    let refused = rules(&provider(old)).err().expect("refused");
    assert!(refused.starts_with("error while building transformers: KMSv1 is deprecated"), "{refused}");
}

#[test]
fn a_file_of_the_legacy_kind_is_read() {
    let text =
        "kind: EncryptionConfig\napiVersion: v1\nresources:\n- resources: [secrets]\n  providers: [{identity: {}}]\n";
    assert_eq!(parse(&EncryptionSource::default(), text.as_bytes()).expect("right").len(), 1);
}

#[test]
fn resources_are_found_by_their_keys() {
    let names = names();
    for (key, expected) in [
        ("/registry/secrets/a/b", "secrets"),
        ("/registry/services/specs/a/b", "services"),
        ("/registry/events/a/b", "events"),
        ("/registry/minions/n", "nodes"),
        ("/registry/deployments/a/b", "deployments.apps"),
    ] {
        assert_eq!(names.of(key).map(|name| name.to_string()).as_deref(), Some(expected), "{key}");
    }
    let kept = Encryption::none(names).encrypt("/registry/secrets/a/b", &"x".into());
    assert_eq!(kept, Ok("x".into()));
}
