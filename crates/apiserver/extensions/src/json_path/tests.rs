//! Tests: the values selected by paths, as by client-go's `util/jsonpath`, and the bounds of an evaluation.

use super::*;
use pintle_codec::json;
use pintle_schema::value;

fn object() -> Value {
    value!({
        "l": [{"n": 1, "t": "a", "in": [1, 2]}, {"n": 2, "t": "b"}, {"n": 3, "t": "c", "in": []}],
        "m": {"k.d": "dot", "a": {"x": 1}, "b": {"x": 2}},
        "s": "hé", "empty": [], "null": null, "f": 1.5, "yes": true,
    })
}

/// All values of the first part of a path; `None` if it is malformed, the error if it does not fit.
fn all(path: &str) -> Option<Result<String, &'static str>> {
    let (path, object) = (JsonPath::parse(path)?, object());
    let found = Evaluation { left: VISITED_MAX }.steps(vec![Found::Value(&object)], &path.parts[0]);
    let text = |found: &Found<'_>| match found {
        Found::Value(value) => json::to_string(value),
        other => format!("{other:?}"),
    };
    Some(match found {
        Ok(found) => Ok(found.iter().map(text).collect::<Vec<_>>().join(" ")),
        Err(Stop::Misfit { some: true }) => Err("misfit"),
        Err(Stop::Misfit { some: false }) => Err("misfit of nothing"),
        Err(Stop::Exhausted) => Err("exhausted"),
    })
}

#[test]
fn paths_lead_where_client_go_leads() {
    let rows = [
        // Fields.
        (".m.a.x", Ok("1")),
        (".m.none.x", Ok("")),
        (".s.x", Ok("")),
        (".", Ok("")),
        ("@.s", Ok("\"hé\"")),
        (".m.k\\.d", Ok("\"dot\"")),
        (".m['k\\.d']", Ok("\"dot\"")),
        (".m['k.d']", Ok("")),
        (".m.*.x", Ok("1 2")),
        (".s.*", Ok("Byte(104) Byte(195) Byte(169)")),
        (".f.*", Ok("")),
        // Indexes and slices.
        (".l[0].t", Ok("\"a\"")),
        (".l[].t", Ok("\"a\"")),
        (".l[-1].t", Ok("\"c\"")),
        (".l[-3].t", Ok("\"a\"")),
        (".l[-4].t", Err("misfit")),
        (".l[3].t", Err("misfit")),
        (".l[1:].t", Ok("\"b\" \"c\"")),
        (".l[:2].t", Ok("\"a\" \"b\"")),
        (".l[:-1].t", Ok("\"a\" \"b\"")),
        (".l[-2:].t", Ok("\"b\" \"c\"")),
        (".l[-1:0].t", Err("misfit")),
        (".l[2:1].t", Err("misfit")),
        (".l[0:4].t", Err("misfit")),
        (".l[1:1].t", Ok("")),
        (".l[9:9].t", Ok("")),
        (".l[::2].t", Ok("\"a\" \"c\"")),
        (".l[0:3:2].t", Ok("\"a\" \"c\"")),
        (".l[::0].t", Err("misfit")),
        (".l[::-1].t", Err("misfit")),
        (".l[*].t", Ok("\"a\" \"b\" \"c\"")),
        (".empty[*]", Ok("")),
        (".empty[0]", Err("misfit")),
        (".null[0]", Ok("")),
        (".none[0]", Ok("")),
        (".m[0]", Err("misfit")),
        (".l[9223372036854775807]", Err("misfit")),
        // An empty slice drops the values after it.
        (".l[*].in[*]", Ok("1 2")),
        (".l[::2].in[:0]", Ok("")),
        // Unions.
        (".l[0,2].t", Ok("\"a\" \"c\"")),
        (".l[*]['n', 't']", Ok("1 2 3 \"a\" \"b\" \"c\"")),
        (".l[0,3].t", Err("misfit")),
        // Recursive descent.
        ("..x", Ok("1 2")),
        ("..['t']", Ok("\"a\" \"b\" \"c\"")),
        (".m..x", Ok("1 2")),
        (".s..", Ok("\"hé\"")),
        (".f..", Ok("")),
        (".l..[0]", Err("misfit")),
        // Filters.
        (".l[?(@.n==2)].t", Ok("\"b\"")),
        (".l[?(@.n == 2)].t", Ok("\"b\"")),
        (".l[?(@.n!=2)].t", Ok("\"a\" \"c\"")),
        (".l[?(@.n<2)].t", Ok("\"a\"")),
        (".l[?(@.n<=2)].t", Ok("\"a\" \"b\"")),
        (".l[?(@.n>2)].t", Ok("\"c\"")),
        (".l[?(@.n>=2)].t", Ok("\"b\" \"c\"")),
        (".l[?(2>@.n)].t", Ok("\"a\"")),
        (".l[?(@.t==\"b\")].n", Ok("2")),
        (".l[?(@.t=='b')].n", Ok("2")),
        (".l[?(@.t>'a')].n", Ok("2 3")),
        (".l[?(@.t=='\\x62')].n", Ok("2")),
        (".l[?(@.t==')')].n", Ok("")),
        (".l[?(@.in)].n", Ok("1 3")),
        // An item that the path does not fit has something where the step fails.
        (".l[?(@.in[0])].n", Ok("1 3")),
        (".l[?(@.none)].n", Ok("")),
        (".l[?(@.none==1)].n", Ok("")),
        (".l[?(@.n==@.none)].n", Ok("")),
        (".l[?(@.n==@.n)].n", Ok("1 2 3")),
        (".l[?(@.n==1.5)].n", Err("misfit")),
        (".l[?(@.n=='1')].n", Err("misfit")),
        (".l[?(@.n<true)].n", Err("misfit")),
        (".l[?(@.in==1)].n", Err("misfit")),
        (".l[?(@.in[*]==1)].n", Err("misfit")),
        (".l[?(@.n=1)].n", Err("misfit")),
        (".l[?(@.n<>1)].n", Err("misfit")),
        (".l[?(@.n=)].n", Ok("")),
        (".m[?(@.x==1)]", Err("misfit")),
        (".null[?(@.x==1)]", Err("misfit")),
        (".none[?(@.x==1)]", Ok("")),
        // Constants and words.
        (".l 'it\\'s'", Ok("Text(\"it's\")")),
        (".l[*] true", Ok("Bool(true) Bool(true) Bool(true)")),
        (".l 1.5", Ok("Float(1.5)")),
        (".l range", Err("misfit")),
        (".none end", Err("misfit of nothing")),
        (".f} text", Ok("1.5")),
    ];
    for (path, expected) in rows {
        assert_eq!(all(path), Some(expected.map(str::to_owned)), "{path}");
    }
}

#[test]
fn malformed_paths_are_refused() {
    for path in [
        ".a[",
        ".a[b]",
        ".a[1",
        ".a[1.5]",
        ".a[+1]",
        ".a[-]",
        ".a[1:2:3:4]",
        ".a[\"b\"]",
        ".a['b]",
        ".a[1,b]",
        ".a]",
        ".a,b",
        ".a[?(@.b==1]",
        ".a[?(@.b==1)",
        ".a[?(@.b==)]",
        ".a[?(==1)]",
        ".a[?('b)]",
        ".a....b",
        ".a 'b",
        ".a 'b\\q'",
        ".a '\\400'",
        ".a 1.2.3",
        ".a -",
        ".a\t.b",
        ".a\n",
        ".a[99999999999999999999]",
        ".a[?(@.b[?(@.c)])]",
        ".a/ #",
    ] {
        assert_eq!(JsonPath::parse(path), None, "{path}");
    }
}

#[test]
fn all_parts_of_a_template_have_to_fit() {
    let object = object();
    for (path, expected) in [(".f}{.l[0]", Some(1.5)), (".f}{.l[9]", None), (".f} and {.none", Some(1.5))] {
        let path = JsonPath::parse(path).expect(path);
        assert_eq!(
            path.first(&object).map(|found| found == Found::Value(&Value::Float(expected.unwrap_or_default()))),
            expected.map(|_| true)
        );
    }
}

#[test]
fn evaluations_and_nesting_are_bounded() {
    let mut deep = value!({"a": "x"});
    for _ in 0..60 {
        deep = value!({"a": (deep)});
    }
    let path = JsonPath::parse(&"..a".repeat(12)).expect("a path");
    assert_eq!(path.first(&deep), None, "the evaluation ends without a result");
    let filters = "[?('".repeat(1000);
    assert_eq!(JsonPath::parse(&format!(".a{filters}")), None);
    assert!(JsonPath::parse(&".a".repeat(50_000)).is_some());
}
