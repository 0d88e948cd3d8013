//! YAML, row by row: the value of a document, and kube-apiserver's error messages.

mod common;

use common::Thing;
use pintle_codec::{Strictness, json, yaml};
use pintle_schema::{ApiType, Value, value};

fn parse(text: &str) -> Result<String, String> {
    let parsed = yaml::parse(text.as_bytes(), Strictness::Collect).map_err(|error| error.to_string())?;
    let problems: String = parsed.problems.iter().map(|problem| format!(" ! {problem}")).collect();
    Ok(json::to_string(&parsed.value) + &problems)
}

#[test]
fn documents_become_json() {
    for (text, wanted) in [
        ("", "null"),
        // Text after the document is not read.
        (r#"{"a":1}}"#, r#"{"a":1}"#),
        ("[1] ]\n", "[1]"),
        ("# nothing\n", "null"),
        ("b: 1\na: [x, 'y', \"z\"]\n", r#"{"a":["x","y","z"],"b":1}"#),
        (
            "a: yes\nb: on\nc: 'yes'\nd: 0777\ne: 1_000\nf: 2.0\ng: 1e3\nh: ~\n",
            r#"{"a":true,"b":true,"c":"yes","d":511,"e":1000,"f":2,"g":1000,"h":null}"#,
        ),
        ("1: a\ntrue: b\n1.5: c\n", r#"{"1":"a","1.5":"c","true":"b"}"#),
        ("1.501: a\n1.5e-7: b\n", r#"{"1.501":"a","1.5e-07":"b"}"#),
        ("a: 2024-01-02\nb: 12:30\n", r#"{"a":"2024-01-02","b":"12:30"}"#),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\n", r#"{"a":"x\ny\n","b":"x y"}"#),
        ("a: 1\n---\nb: 2\n", r#"{"a":1}"#),
        ("a: &x {k: v}\nb: *x\nc:\n  <<: *x\n  l: m\n", r#"{"a":{"k":"v"},"b":{"k":"v"},"c":{"k":"v","l":"m"}}"#),
        ("a: !!str 5\nb: !!float 5\nc: !!binary Zm9v\n", r#"{"a":"5","b":5,"c":"foo"}"#),
        ("a: 9223372036854775808\n", r#"{"a":9223372036854776000}"#),
        ("{\"a\": [1, {\"b\": null}]}", r#"{"a":[1,{"b":null}]}"#),
        (
            "a: x\nb: 1\na: z\n",
            "{\"a\":\"z\",\"b\":1} ! yaml: unmarshal errors:\n  line 3: key \"a\" already set in map",
        ),
        (
            "a:\n  b: 1\n  b: 2\n1: x\n1: z\n",
            "{\"1\":\"z\",\"a\":{\"b\":2}} ! yaml: unmarshal errors:\n  line 3: key \"b\" already set in map\n  line 5: key 1 already set in map",
        ),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn later_lines_of_quoted_scalars_need_no_indentation() {
    for (text, wanted) in [
        ("a:\n  b: \"x\ny\"\n  c: 1\n", r#"{"a":{"b":"x y","c":1}}"#),
        ("a:\n  b: 'it''s\n x\n\ny'\n", r#"{"a":{"b":"it's x\ny"}}"#),
        ("- a: \"x\\\ny \\\"\n\\n z\"\n", r#"[{"a":"xy \" \n z"}]"#),
        ("a: {b: 'x\ny'}\n", r#"{"a":{"b":"x y"}}"#),
        ("a:\n  b: 'x\n'\n", r#"{"a":{"b":"x "}}"#),
        ("a:\n  é: 'x\né'\n  c: 'y\n---z'\n", r#"{"a":{"c":"y ---z","é":"x é"}}"#),
        ("a:\n  b: &m 'x\ny'\n  c: *m\n", r#"{"a":{"b":"x y","c":"x y"}}"#),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
    }
    for text in ["a:\n  b: 'x\n--- y'\n", "a:\n  b: 'x\ny\n", "a:\n  b: 'x\ny'z\n"] {
        let refused = parse(text).expect_err(text);
        assert!(refused.starts_with("yaml: "), "{refused}");
    }
    // At any size.
    for count in [160, 80_000] {
        let text = format!("a:\n{}", "  - b: c\n    d: 'x\n  y'\n".repeat(count));
        let wanted = format!("{{\"a\":[{}]}}", vec![r#"{"b":"c","d":"x y"}"#; count].join(","));
        assert_eq!(parse(&text).as_deref(), Ok(wanted.as_str()), "{count}");
    }
    let far = format!("a:{}\"x{}y\"\n", " ".repeat(1_000_000), "\n".repeat(1_000_000));
    assert_eq!(parse(&far), Ok(format!("{{\"a\":\"x{}y\"}}", "\\n".repeat(999_999))));
}

#[test]
fn lines_between_brackets_need_no_indentation() {
    for (text, wanted) in [
        ("a:\n  b: [\n    1\n  ]\n  c: 2\n", r#"{"a":{"b":[1],"c":2}}"#),
        ("a:\n  b: [\n1,\n2\n]\n  c: 2\n", r#"{"a":{"b":[1,2],"c":2}}"#),
        ("- - a: [\n  \"x\"  # y\n# z\n\n  ]\n    b: {\nc: d}\n", r#"[[{"a":["x"],"b":{"c":"d"}}]]"#),
        ("a:\n- b: [\n    \"x\n  y\"\n  ]\n", r#"{"a":[{"b":["x y"]}]}"#),
        ("é:\n  é: [é,\né]\n", r#"{"é":{"é":["é","é"]}}"#),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
    }
    for text in ["a:\n  b: [1,\nc: 2\n", "a:\n  b: [\n--- 1\n  ]\n", "a:\n  b: 1\n ]\n"] {
        let refused = parse(text).expect_err(text);
        assert!(refused.starts_with("yaml: "), "{refused}");
    }
    let many = format!("a:\n{}", "  - b: [\n]\n".repeat(80_000));
    assert_eq!(parse(&many), Ok(format!("{{\"a\":[{}]}}", vec![r#"{"b":[]}"#; 80_000].join(","))));
}

#[test]
fn invalid_yaml_has_the_reference_messages() {
    for (text, wanted) in [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context"),
        ("{", "yaml: line 1: did not find expected node content"),
        ("a: *x\n", "yaml: unknown anchor 'x' referenced"),
        ("é: &m {name: [*m]}\n", "yaml: anchor 'm' value contains itself"),
        ("a: !!int x\n", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: .nan\n", "json: unsupported value: NaN"),
        ("{{b}: c}\n", r#"yaml: invalid map key: map[interface {}]interface {}{"b":interface {}(nil)}"#),
        ("\tx: y", "yaml: found character that cannot start any token"),
        ("a:\n \tb: 1\n", "yaml: line 2: found character that cannot start any token"),
        ("a: 1\nx\n", "yaml: line 3: could not find expected ':'"),
        ("a: 1\n b: 2\n", "yaml: line 2: mapping values are not allowed in this context"),
        ("- a\nb: c\n", "yaml: line 1: did not find expected '-' indicator"),
        ("a: [1, 2\n", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: \"b\nc", "yaml: line 2: found unexpected end of stream"),
        ("a: 'b\n---\n", "yaml: line 2: found unexpected document indicator"),
        ("a: \"\\q\"\n", "yaml: found unknown escape character"),
        ("a: @b\n", "yaml: found character that cannot start any token"),
        ("a: [|]\n", "yaml: found character that cannot start any token"),
        ("a: b\nc: {d: >\n  e\n }\n", "yaml: line 2: found character that cannot start any token"),
        ("%YAML 1.2\n---\na: b\n", "yaml: found incompatible YAML document"),
        ("# c\n%YAML 1.0\n---\na: b\n", "yaml: line 1: found incompatible YAML document"),
        ("%yaml 1.1\n---\na: b\n", "yaml: found unknown directive name"),
        ("a: |x\n", "yaml: did not find expected comment or line break"),
        ("a: - b\n", "yaml: block sequence entries are not allowed in this context"),
        ("<<: 1\n", "yaml: map merge requires map or sequence of maps as the value"),
    ] {
        assert_eq!(parse(text), Err(wanted.to_owned()), "{text}");
    }
}

#[test]
fn tabs_may_stand_between_brackets_and_after_words() {
    for (text, wanted) in [
        ("a: [1,\n\t2]\nb:\t{c:\n\td}\n", r#"{"a":[1,2],"b":{"c":"d"}}"#),
        ("a: |\n  x\n  \ty\n", r#"{"a":"x\n\ty\n"}"#),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn aliases_and_depth_are_bounded() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(parse(&bomb), Err("yaml: document contains excessive aliasing".to_owned()));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..2000 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert!(parse(&chain).is_err());
    let run = || {
        assert!(parse(&"- ".repeat(5_000)).is_err());
        assert!(parse(&"[".repeat(5_000)).is_err());
        assert!(parse(&"a: ".repeat(5_000)).is_err());
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run).expect("a thread");
    assert!(thread.join().is_ok());
}

#[test]
fn values_are_written_as_the_reference_writes_them() {
    let value = value!({
        "kind": "Thing", "a10": 1, "a9": (Value::Float(1.5)), "b": {"empty": {}, "none": [], "list": [{"x": 1, "y": null}, "z"]},
        "text": "two\nlines\n", "yes": "yes", "number": "12", "date": "2024-01-02", "base60": "12:30", "colon": "a: b", "nothing": ""
    });
    let wanted = "a9: 1.5\na10: 1\nb:\n  empty: {}\n  list:\n  - x: 1\n    \"y\": null\n  - z\n  none: []\nbase60: \"12:30\"\n\
                  colon: 'a: b'\ndate: \"2024-01-02\"\nkind: Thing\nnothing: \"\"\nnumber: \"12\"\ntext: |\n  two\n  lines\n\"yes\": \"yes\"\n";
    assert_eq!(yaml::encode(&value), wanted);
}

#[test]
fn problems_of_yaml_come_before_those_of_the_schema() {
    let text = "metadata:\n  name: a\n  name: b\nspec:\n  replicas: 2.0\n  foo: 1\n";
    let decoded = yaml::decode(Thing::schema(), text.as_bytes(), Strictness::Collect).expect("valid");
    assert_eq!(decoded.value, value!({"metadata": {"name": "b"}, "spec": {"replicas": 2}}));
    let problems: Vec<String> = decoded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["yaml: unmarshal errors:\n  line 3: key \"name\" already set in map", "unknown field \"spec.foo\""]
    );
    let refused = yaml::decode(Thing::schema(), b"spec: {replicas: yes}", Strictness::Collect);
    let wanted = "json: cannot unmarshal bool into Go struct field ThingSpec.spec.replicas of type int32";
    assert_eq!(refused.map_err(|error| error.to_string()), Err(wanted.to_owned()));
}

#[test]
fn texts_behind_aliases_are_shared_and_bounded() {
    let document = |aliases: usize| {
        let aliases: String = (0..aliases).map(|at| format!("k{at}: *a\n")).collect();
        format!("a: &a {}\n{aliases}", "x".repeat(10_000))
    };
    let decoded = yaml::parse(document(100).as_bytes(), Strictness::Ignore).expect("valid").value;
    let texts = decoded.as_map().expect("a map").values().map(|value| value.as_str().expect("a text").as_ptr());
    assert_eq!(texts.collect::<std::collections::HashSet<_>>().len(), 1, "one text for all");
    // 3 MiB contain it 314 times.
    assert!(parse(&document(314)).is_ok());
    assert_eq!(parse(&document(315)), Err("yaml: document contains excessive aliasing".to_owned()));
    let keys = format!("a: &a {}\n{}", "x".repeat(10_000), "? *a\n: 1\n".repeat(315));
    assert_eq!(parse(&keys), Err("yaml: document contains excessive aliasing".to_owned()));
}

#[test]
fn keys_that_stand_twice_are_listed_while_there_is_room() {
    let decoded = yaml::parse("k: x\n".repeat(20_000).as_bytes(), Strictness::Collect).expect("valid");
    let reported = decoded.problems.iter().map(|problem| problem.to_string().len()).sum::<usize>();
    assert!((100_000..400_000).contains(&reported), "{reported} bytes");
}

#[test]
fn a_tab_in_a_long_line_of_many_nodes() {
    let wanted = format!("{{\"a\":[{}1]}}", "1,".repeat(5000));
    assert_eq!(parse(&format!("# \t\n{{a: [{}1]}}", "1, ".repeat(5000))).as_deref(), Ok(wanted.as_str()));
    assert_eq!(
        parse(&format!("- [{}1]\n \t- x\n", "1, ".repeat(50))),
        Err("yaml: line 2: found character that cannot start any token".to_owned())
    );
}

/// libyaml ends a document with `...` after a text with empty lines at its end, even if other keys follow; kube-apiserver does not.
#[test]
fn documents_do_not_end_with_a_mark() {
    let value = value!({"data": {"a": "x\n\n"}, "kind": "ConfigMap"});
    assert_eq!(yaml::encode(&value), "data:\n  a: |+\n    x\n\nkind: ConfigMap\n");
    let value = value!({"data": {"a": "x\n\n"}});
    assert_eq!(yaml::encode(&value), "data:\n  a: |+\n    x\n\n");
}

/// libyaml writes the characters beyond U+FFFF as they are, and spaces behind a line separator at the end; kube-apiserver does not.
#[test]
fn texts_are_escaped_as_the_reference_escapes_them() {
    for (text, wanted) in [
        ("a \u{1f600}", "k: \"a \\U0001F600\"\n"),
        ("\u{feff}a b", "k: \"\\uFEFF\\x61\\x20\\x62\"\n"),
        ("\u{2028}", "k: '\u{2028}'\n"),
        ("2024-01-02é", "k: 2024-01-02é\n"),
    ] {
        assert_eq!(yaml::encode(&value!({"k": text})), wanted, "{text:?}");
    }
}

#[test]
fn documents_in_parts_are_the_whole_documents() {
    let items = value!([{"b": ["x\n\n", {"c": null}], "a": "yes"}, "text", [], [1, [2]], {}]);
    for key in ["items", "zzz", "a"] {
        let mut list = value!({"kind": "List", "apiVersion": "v1", "metadata": {}});
        list.set_at(&[key], value!([]));
        let [mut text, tail] = yaml::encode_around(list.as_map().expect("a map"), key);
        items.as_list().expect("a list").iter().for_each(|item| yaml::encode_item(item, &mut text));
        text.extend_from_slice(&tail);
        list.set_at(&[key], items.clone());
        assert_eq!(String::from_utf8_lossy(&text), yaml::encode(&list), "{key}");
    }
}
