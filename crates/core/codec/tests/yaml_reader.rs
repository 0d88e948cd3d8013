//! The YAML reader, row by row: what kube-apiserver's parser takes, as which value, and with which message it refuses the rest.

use pintle_codec::{Strictness, json, yaml};

fn read(bytes: &[u8]) -> Result<String, String> {
    let parsed = yaml::parse(bytes, Strictness::Collect).map_err(|error| error.to_string())?;
    Ok(json::to_string(&parsed.value))
}

fn check(rows: &[(&str, Result<&str, &str>)]) {
    let mut wrong = String::new();
    for (text, wanted) in rows {
        let found = read(text.as_bytes());
        if found.as_deref().map_err(String::as_str) != *wanted {
            wrong.push_str(&format!("{text:?} is {found:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn block_scalars_have_the_line_breaks_that_are_there() {
    check(&[
        ("a: |\n  x", Ok(r#"{"a":"x"}"#)),
        ("a: |\n  x\n", Ok(r#"{"a":"x\n"}"#)),
        ("a: |\n  x\n ", Ok(r#"{"a":"x\n"}"#)),
        ("a: |\n  x\n  ", Ok(r#"{"a":"x\n"}"#)),
        ("a: |\n  x\n   ", Ok(r#"{"a":"x\n "}"#)),
        ("a: |\n  x\n\n\n", Ok(r#"{"a":"x\n"}"#)),
        ("a: |-\n  x", Ok(r#"{"a":"x"}"#)),
        ("a: |-\n  x\n\n", Ok(r#"{"a":"x"}"#)),
        ("a: |+\n  x", Ok(r#"{"a":"x"}"#)),
        ("a: |+\n  x\n", Ok(r#"{"a":"x\n"}"#)),
        ("a: |+\n  x\n\n  ", Ok(r#"{"a":"x\n\n"}"#)),
        ("a: |+\n  x\n\n\nb: 1", Ok(r#"{"a":"x\n\n\n","b":1}"#)),
        ("a: >\n  x\n  y", Ok(r#"{"a":"x y"}"#)),
        ("a: >\n  x\n  y\n", Ok(r#"{"a":"x y\n"}"#)),
        ("a: >\n  x\n\n  y\n\n\n  z", Ok(r#"{"a":"x\ny\n\nz"}"#)),
        ("a: >\n  x\n   y\n  z\n", Ok(r#"{"a":"x\n y\nz\n"}"#)),
        ("a: >\n  x\n  \ty\n", Ok(r#"{"a":"x\n\ty\n"}"#)),
        ("a: >+\n  x", Ok(r#"{"a":"x"}"#)),
        ("a: >-\n\n  x\n", Ok(r#"{"a":"\nx"}"#)),
        ("a: |", Ok(r#"{"a":""}"#)),
        ("a: |\n", Ok(r#"{"a":""}"#)),
        ("a: |+\n\n\n", Ok(r#"{"a":"\n\n"}"#)),
        ("a: |\n\n\nb: 1", Ok(r#"{"a":"","b":1}"#)),
        ("a: |2\n    x\n  y", Ok(r#"{"a":"  x\ny"}"#)),
        ("a:\n  b: |1+ # c\n    x\n", Ok(r#"{"a":{"b":" x\n"}}"#)),
        ("a:\n- |\n x\n- >\n y", Ok(r#"{"a":["x\n","y"]}"#)),
        ("|\n x\n", Ok(r#""x\n""#)),
        ("a: |\r\n  x\r\n  y\r\n", Ok(r#"{"a":"x\ny\n"}"#)),
        ("a: |\n  x\u{2028}  y", Ok(r#"{"a":"x\u2028y"}"#)),
        ("a: |\n  # x\n # y\n", Ok(r##"{"a":"# x\n"}"##)),
        ("a: |0\n  x", Err("yaml: found an indentation indicator equal to 0")),
        ("a: |-0\n  x", Err("yaml: found an indentation indicator equal to 0")),
        ("a: |12\n  x", Err("yaml: did not find expected comment or line break")),
        ("a: |--\n  x", Err("yaml: did not find expected comment or line break")),
        ("a: |\n \tx\n", Err("yaml: line 2: found a tab character where an indentation space is expected")),
        ("a: |\n  x\n y\n", Err("yaml: line 2: did not find expected key")),
    ]);
}

#[test]
fn quoted_scalars_are_the_references() {
    check(&[
        (r#"a: "\0\a\b\t\n\v\f\r\e\ \"\'\\""#, Ok(r#"{"a":"\u0000\u0007\b\t\n\u000b\f\r\u001b \"'\\"}"#)),
        (r#"a: "\N\_\L\P""#, Ok("{\"a\":\"\u{85}\u{a0}\\u2028\\u2029\"}")),
        (r#"a: "\x41\u00e9\U0001f600""#, Ok(r#"{"a":"Aé😀"}"#)),
        ("a: \"x \\\n   y\"", Ok(r#"{"a":"x y"}"#)),
        ("a: \"x\\\n\n  y\"", Ok(r#"{"a":"x\ny"}"#)),
        ("a: \"x \n  \n  y\"", Ok(r#"{"a":"x\ny"}"#)),
        ("a: \"\\\ty\"", Ok(r#"{"a":"\ty"}"#)),
        ("a: ' x  y '", Ok(r#"{"a":" x  y "}"#)),
        ("a: ' x\n\n\n  y\t'", Ok(r#"{"a":" x\n\ny\t"}"#)),
        ("a: '\\x'''\n", Ok(r#"{"a":"\\x'"}"#)),
        ("a: ''", Ok(r#"{"a":""}"#)),
        ("a: 'x\u{85}y\u{2028}z'", Ok(r#"{"a":"x y\u2028z"}"#)),
        ("a: 'é\u{a0}€'", Ok("{\"a\":\"é\u{a0}€\"}")),
        ("'a': \"b\"", Ok(r#"{"a":"b"}"#)),
        ("{\"a\":\"b\",'c':d}", Ok(r#"{"a":"b","c":"d"}"#)),
        ("a: 'x\n\n'", Ok(r#"{"a":"x\n"}"#)),
        ("a: \"x\n\t y\"", Ok(r#"{"a":"x y"}"#)),
        (r#"a: "x\/y""#, Err("yaml: found unknown escape character")),
        (r#"{"a":"x\/y"}"#, Err("yaml: found unknown escape character")),
        ("b: 1\na: \"\\", Err("yaml: line 2: found unknown escape character")),
        (r#"a: "\x4""#, Err("yaml: did not find expected hexdecimal number")),
        (r#"a: "\ud800""#, Err("yaml: found invalid Unicode character escape code")),
        (r#"a: "\U00110000""#, Err("yaml: found invalid Unicode character escape code")),
        ("a: \"x\n... y\"", Err("yaml: line 2: found unexpected document indicator")),
        ("a: 'b'c", Err("yaml: did not find expected key")),
        ("a: 'b\nc': d", Err("yaml: line 2: mapping values are not allowed in this context")),
        ("'b\nc': d", Err("yaml: line 2: mapping values are not allowed in this context")),
    ]);
}

#[test]
fn indicators_mean_what_they_mean_in_the_reference() {
    check(&[
        ("{a: \"x\"}#c", Ok(r#"{"a":"x"}"#)),
        ("{a: x}#c", Ok(r#"{"a":"x"}"#)),
        ("a: \"x\"#c", Ok(r#"{"a":"x"}"#)),
        ("a: 'x'#c\nb: 1", Ok(r#"{"a":"x","b":1}"#)),
        ("a: [1]#c", Ok(r#"{"a":[1]}"#)),
        ("a: x#c", Ok(r##"{"a":"x#c"}"##)),
        ("a: x #c", Ok(r#"{"a":"x"}"#)),
        ("a: x\n  #c\nb: z", Ok(r#"{"a":"x","b":"z"}"#)),
        ("{?a: \"x\"}", Ok(r#"{"a":"x"}"#)),
        ("{? a: x}", Ok(r#"{"a":"x"}"#)),
        ("{? a : x, ?b}", Ok(r#"{"a":"x","b":null}"#)),
        ("?a: x", Ok(r#"{"?a":"x"}"#)),
        ("? a\n: x\n? b\nc: d", Ok(r#"{"a":"x","b":null,"c":"d"}"#)),
        ("- ? a\n  : x", Ok(r#"[{"a":"x"}]"#)),
        ("{a:x, b: c:d}", Ok(r#"{"a:x":null,"b":"c:d"}"#)),
        ("{\"a\":1}", Ok(r#"{"a":1}"#)),
        ("[a: b, c]", Ok(r#"[{"a":"b"},"c"]"#)),
        ("[a, ]", Ok(r#"["a"]"#)),
        ("{a: 1, }", Ok(r#"{"a":1}"#)),
        ("[-1, -a]", Ok(r#"[-1,"-a"]"#)),
        ("a: -b\nc: :d\ne: f:g", Ok(r#"{"a":"-b","c":":d","e":"f:g"}"#)),
        ("a: http://x:80/?y=[z]", Ok(r#"{"a":"http://x:80/?y=[z]"}"#)),
        ("a: b c\n  d\n\n  e\n", Ok(r#"{"a":"b c d\ne"}"#)),
        ("a:\n- b\n- c\nd: 1", Ok(r#"{"a":["b","c"],"d":1}"#)),
        ("-\n- a\n-", Ok(r#"[null,"a",null]"#)),
        ("a:\nb:", Ok(r#"{"a":null,"b":null}"#)),
        ("- - a\n  - b\n-  - c", Ok(r#"[["a","b"],["c"]]"#)),
        ("a: &x [1]\nb: *x\n", Ok(r#"{"a":[1],"b":[1]}"#)),
        ("a: &x\nb: *x\n", Ok(r#"{"a":null,"b":null}"#)),
        ("&k a: 1\nb: *k", Ok(r#"{"a":1,"b":"a"}"#)),
        ("--- a\n...\nb", Ok(r#""a""#)),
        ("---\n", Ok("null")),
        ("---\n---\na", Ok("null")),
        ("\u{feff}a: 1", Ok(r#"{"a":1}"#)),
        ("a:\tb\nc: \td", Ok(r#"{"a":"b","c":"d"}"#)),
        ("a:   # c\n  b\n", Ok(r#"{"a":"b"}"#)),
        // The reference does not wait for the colon behind empty brackets, with which the document ends.
        ("[]: x", Ok("[]")),
        ("{}: x", Ok("{}")),
        ("{a: :x}", Err("yaml: did not find expected node content")),
        ("{\"a\"\n: \"b\"}", Err("yaml: line 1: did not find expected ',' or '}'")),
        ("[a\n: b]", Err("yaml: line 1: did not find expected ',' or ']'")),
        ("[- a]", Err("yaml: did not find expected node content")),
        ("{a: - b}", Err("yaml: did not find expected node content")),
        ("a: ? b", Err("yaml: mapping keys are not allowed in this context")),
        ("a: &x*y", Err("yaml: did not find expected alphabetic or numeric character")),
        ("a: *", Err("yaml: did not find expected alphabetic or numeric character")),
        ("a: &é b", Err("yaml: did not find expected alphabetic or numeric character")),
        ("a: x\n \ty\n", Ok(r#"{"a":"x y"}"#)),
        ("a: x\n\ty\n", Err("yaml: line 2: found a tab character that violates indentation")),
        ("a: 1\n  b: 2", Err("yaml: line 2: mapping values are not allowed in this context")),
        ("a:\n  b: 1\n c: 2", Err("yaml: line 2: did not find expected key")),
        ("- a\n b\n- c: d\n e", Err("yaml: line 3: did not find expected '-' indicator")),
        ("}", Err("yaml: did not find expected node content")),
        ("a: `b`", Err("yaml: found character that cannot start any token")),
        ("a: 1\n%b", Err("yaml: line 2: found unknown directive name")),
    ]);
}

#[test]
fn tags_and_directives_are_the_references() {
    check(&[
        ("%YAML 1.1\n%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1", Ok(r#"{"a":"1"}"#)),
        ("b: !<tag:yaml.org,2002:str> 2", Ok(r#"{"b":"2"}"#)),
        ("a: !x 1\nb: ! 2\nc: !!str\nd: !x%41 3", Ok(r#"{"a":"1","b":"2","c":"","d":"3"}"#)),
        ("a: !!i%6et '1'", Ok(r#"{"a":1}"#)),
        ("a: !!int 2024-01-02", Err("yaml: cannot decode !!str `2024-01-02` as a !!int")),
        ("a: !!timestamp '2024-01-02'", Ok(r#"{"a":"2024-01-02"}"#)),
        ("a: &x !!str 1\nb: !!str &y 2\nc: [*x, *y]", Ok(r#"{"a":"1","b":"2","c":["1","2"]}"#)),
        ("! <<: {a: 1}", Ok(r#"{"a":1}"#)),
        ("'<<': {a: 1}", Ok(r#"{"\u003c\u003c":{"a":1}}"#)),
        ("a: !y! b", Err("yaml: did not find expected tag URI")),
        ("a: !y!z b", Err("yaml: found undefined tag handle")),
        ("a: !<y b", Err("yaml: did not find the expected '>'")),
        ("a: !y%4 b", Err("yaml: did not find URI escaped octet")),
        ("a: !y%80 b", Err("yaml: found an incorrect leading UTF-8 octet")),
        ("a: !y%c3%41 b", Err("yaml: found an incorrect trailing UTF-8 octet")),
        ("a: !y\"b\"", Err("yaml: did not find expected whitespace or line break")),
        ("%YAML 1.1\n%YAML 1.1\n---\n", Err("yaml: line 1: found duplicate %YAML directive")),
        ("%TAG ! a\n%TAG ! b\n---\n", Err("yaml: line 1: found duplicate %TAG directive")),
        ("%TAG !a b\n---\n", Err("yaml: did not find expected '!'")),
        ("%TAG a\n---\n", Err("yaml: did not find expected '!'")),
        ("%TAG !a!\n---\n", Err("yaml: did not find expected whitespace")),
        ("%\n---\n", Err("yaml: could not find expected directive name")),
        ("%YAML:\n---\n", Err("yaml: found unexpected non-alphabetical character")),
        ("%YAML 1\n---\n", Err("yaml: did not find expected digit or '.' character")),
        ("%YAML 1.\n---\n", Err("yaml: did not find expected version number")),
        ("%YAML 123.1\n---\n", Err("yaml: found extremely long version number")),
        ("%YAML 1.1 x\n---\n", Err("yaml: did not find expected comment or line break")),
        ("%YAML 1.1\na", Err("yaml: line 1: did not find expected <document start>")),
    ]);
    // A long prefix is not copied for each tag.
    let long = format!("%TAG !e! !{}\n---\n{}", "x".repeat(1_000_000), "- !e!y a\n".repeat(100_000));
    assert!(read(long.as_bytes()).is_ok());
    let handles: String = (0..50_000).map(|at| format!("%TAG !e{at}! !\n")).collect();
    assert_eq!(read(format!("{handles}---\n!e49999!y a").as_bytes()).as_deref(), Ok(r#""a""#));
}

#[test]
fn a_key_and_its_colon_are_on_one_line_of_1024_characters() {
    let key = |length: usize| read(format!("{}: x", "é".repeat(length)).as_bytes());
    assert!(key(1024).is_ok());
    assert_eq!(key(1025), Err("yaml: mapping values are not allowed in this context".to_owned()));
    let second = format!("a: 1\n{}: x", "b".repeat(1025));
    assert_eq!(read(second.as_bytes()), Err("yaml: line 2: could not find expected ':'".to_owned()));
    let brackets = |length: usize| read(format!("[{}]: x", "a".repeat(length)).as_bytes());
    assert!(brackets(1022).is_err_and(|error| error.starts_with("yaml: invalid map key")));
    assert_eq!(brackets(1023), Err("yaml: mapping values are not allowed in this context".to_owned()));
}

/// Bytes that are no text are refused if they are read, in blocks of 512 bytes.
#[test]
fn nothing_is_read_beyond_the_block_in_which_the_document_ends() {
    let text = |length: usize| [format!("a: {}\n---\n", "x".repeat(length)).as_bytes(), b"\xff"].concat();
    let invalid = Err("yaml: invalid leading UTF-8 octet".to_owned());
    assert_eq!(read(&text(600)), invalid);
    assert_eq!(read(&text(1100)), invalid);
    assert!(read(&text(1024 - 8)).is_ok());
    // An error before it comes first.
    let broken = [b"a: b: c\n".to_vec(), b"x".repeat(600), b"\0".to_vec()].concat();
    assert_eq!(read(&broken), Err("yaml: mapping values are not allowed in this context".to_owned()));
    let utf16: Vec<u8> = "\u{feff}a: é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read(&utf16), Ok(r#"{"a":"é"}"#.to_owned()));
}
