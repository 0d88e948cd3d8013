//! Rows of selectors: canonical text, errors, and matches.

use super::*;

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

#[test]
fn canonical_text() {
    let rows = [
        ("", ""),
        (" \t\r\n", ""),
        ("x", "x"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x=1", "x=1"),
        (" x = 1 ", "x=1"),
        ("x==1", "x==1"),
        ("x != 1", "x!=1"),
        ("x=", "x="),
        ("x=,y", "x=,y"),
        ("x>1,x<3", "x>1,x<3"),
        ("b=1,a=2,b=0", "a=2,b=1,b=0"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in(a)", "x in (a)"),
        ("x notin (c, b)", "x notin (b,c)"),
        ("x in ()", "x in ()"),
        ("x in (,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("example.com/k,!a/b", "!a/b,example.com/k"),
        ("x=1\0", "x=1"),
    ];
    for (text, expected) in rows {
        let selector = LabelSelector::parse(text);
        assert_eq!(selector.as_ref().map(ToString::to_string), Ok(expected.to_string()), "{text}");
        assert_eq!(LabelSelector::parse(expected), selector, "{text}");
    }
}

#[test]
fn words_refusals_as_the_reference() {
    let long = "a".repeat(64);
    let rows: [(&str, String); 28] = [
        ("x=(1", "unable to parse requirement: found '(', expected: identifier".into()),
        ("x in 1", "unable to parse requirement: found '1' expected: '('".into()),
        ("x in (1", "unable to parse requirement: found '', expected: ',' or ')'".into()),
        ("x in (1 2)", "unable to parse requirement: found '2', expected: ',' or ')'".into()),
        ("x in (1,", "unable to parse requirement: found '', expected: ',', or identifier".into()),
        ("x in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier".into()),
        ("x in (a,=)", "unable to parse requirement: found '=', expected: ',', or identifier".into()),
        ("=1", "found '=', expected: !, identifier, or 'end of string'".into()),
        (",", "found ',', expected: !, identifier, or 'end of string'".into()),
        ("x notin", "unable to parse requirement: found '' expected: '('".into()),
        ("!", "unable to parse requirement: found '', expected: identifier".into()),
        ("!!x", "unable to parse requirement: found '!', expected: identifier".into()),
        ("x=1 y=2", "found 'y', expected: ',' or 'end of string'".into()),
        ("!x=1", "found '=', expected: ',' or 'end of string'".into()),
        ("x=1,", "found '', expected: identifier after ','".into()),
        ("x=1,,y", "found ',', expected: identifier after ','".into()),
        ("x===1", "unable to parse requirement: found '=', expected: identifier".into()),
        ("x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt".into()),
        ("x)", "unable to parse requirement: found ')', expected: in, notin, =, ==, !=, gt, lt".into()),
        ("x&&1", format!("unable to parse requirement: <nil>: Invalid value: \"x&&1\": {NAME_PART}")),
        ("-x=1", format!("unable to parse requirement: <nil>: Invalid value: \"-x\": {NAME_PART}")),
        ("x=-1", format!("unable to parse requirement: values[0][x]: Invalid value: \"-1\": {VALUE}")),
        ("x=a_/b", format!("unable to parse requirement: values[0][x]: Invalid value: \"a_/b\": {VALUE}")),
        (
            "x in (-,a,_)",
            format!(
                "unable to parse requirement: [values[0][x]: Invalid value: \"-\": {VALUE}, values[1][x]: Invalid value: \"_\": {VALUE}]"
            ),
        ),
        (
            &format!("{long}=1"),
            format!("unable to parse requirement: <nil>: Invalid value: \"{long}\": name part must be no more than 63 bytes"),
        ),
        (
            "x>a",
            "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer".into(),
        ),
        (
            "x>",
            "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer".into(),
        ),
        ("x>=1", "unable to parse requirement: found '=', expected: identifier".into()),
    ];
    for (text, expected) in rows {
        assert_eq!(LabelSelector::parse(text).map_err(|error| error.to_string()), Err(expected), "{text}");
    }
}

fn labels(key: &str) -> Option<&'static str> {
    match key {
        "x" => Some("1"),
        "e" => Some(""),
        "w" => Some("word"),
        _ => None,
    }
}

#[test]
fn matching() {
    let rows = [
        ("", true),
        ("x", true),
        ("!x", false),
        ("y", false),
        ("!y", true),
        ("x=1", true),
        ("x==2", false),
        ("y=", false),
        ("e=", true),
        ("x!=1", false),
        ("y!=1", true),
        ("x in (1,2)", true),
        ("y in (1,2)", false),
        ("x notin (1,2)", false),
        ("y notin (1,2)", true),
        ("x>0,x<2", true),
        ("x>1", false),
        ("y<1", false),
        ("w>0", false),
        ("x,w=word,!y", true),
        ("x,w=other", false),
    ];
    for (text, expected) in rows {
        assert_eq!(LabelSelector::parse(text).map(|selector| selector.matches(labels)), Ok(expected), "{text}");
    }
    assert!(!LabelSelector::nothing().matches(labels) && !LabelSelector::nothing().is_everything());
    assert!(LabelSelector::everything().matches(labels) && LabelSelector::everything().is_everything());
}

#[test]
fn selector_fields() {
    let values = [Str::new("b"), Str::new("a")];
    let expression = |key, operator, values| Expression { key, operator, values };
    let selector = LabelSelector::from_parts(
        [("x", "1"), ("a", "")],
        [
            expression("k", "In", &values[..]),
            expression("b", "NotIn", &values[..1]),
            expression("c", "Exists", &[]),
            expression("d", "DoesNotExist", &[]),
        ],
    );
    assert_eq!(selector.map(|selector| selector.to_string()), Ok("a=,b notin (b),c,!d,k in (a,b),x=1".to_string()));
    let rows = [
        (expression("k", "Gt", &values), "\"Gt\" is not a valid label selector operator".to_string()),
        (
            expression("k", "In", &[]),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty".to_string(),
        ),
        (
            expression("k", "Exists", &values),
            "values: Invalid value: [\"b\",\"a\"]: values set must be empty for exists and does not exist".to_string(),
        ),
        (
            expression("-", "NotIn", &[]),
            format!(
                "[key: Invalid value: \"-\": {NAME_PART}, values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]"
            ),
        ),
    ];
    for (expression, expected) in rows {
        let result = LabelSelector::from_parts([], [expression]);
        assert_eq!(result.map_err(|error| error.to_string()), Err(expected));
    }
}

#[test]
fn exact_values() {
    let selector = LabelSelector::parse("a=1,b in (2),c in (3,4),d!=5").unwrap_or_default();
    let found: Vec<_> = ["a", "b", "c", "d", "e"].iter().map(|key| selector.exact_match(key)).collect();
    assert_eq!(found, [Some("1"), Some("2"), None, None, None]);
    assert_eq!(LabelSelector::from_map([("b", "-"), ("a", "1")]).to_string(), "a=1,b=-");
}
