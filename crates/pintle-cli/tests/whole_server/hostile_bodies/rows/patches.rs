//! The rows about patches and updates of an existing object. Guarantees that each row creates a new object. Must never start a
//! server.

use super::{APPLY, CONFIG_MAPS, MIB, REVISIONS, Row, fill, row};
use crate::common::http::{JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH};

pub fn rows() -> Vec<Row> {
    let there = format!("{CONFIG_MAPS}/there");
    let create = |name: &str, inside: &str| format!(r#"{{"metadata":{{"name":"{name}"}},{inside}}}"#);
    let with = |row: Row| {
        let body = create("there", r#""data":{"k":"v"}"#);
        row.after("DELETE", CONFIG_MAPS, "", "").after("POST", CONFIG_MAPS, JSON, body)
    };
    let patch = |what, content_type, body: String| with(row(what, "PATCH", &there, content_type, body));
    let dry =
        |what, content_type, body: String| with(row(what, "PATCH", &format!("{there}?dryRun=All"), content_type, body));
    let keys = |bytes, value: &'static str| fill(bytes, ",", move |at| format!(r#""k{at}":{value}"#));
    let applied = |letter: &str, bytes: usize| {
        let data = fill(bytes, ",", |at| format!(r#""{letter}{at}":"""#));
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"there"}},"data":{{{data}}}}}"#)
    };
    let operations = |count: usize, each: &dyn Fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(",");
    let revision = |row: Row, data: &str| {
        let body = format!(r#"{{"metadata":{{"name":"there"}},"revision":1,"data":{{"x":{data}}}}}"#);
        row.after("DELETE", REVISIONS, "", "").after("POST", REVISIONS, JSON, body)
    };
    let revision_path = format!("{REVISIONS}/there");
    vec![
        patch("JSON patch: copies of copies", JSON_PATCH, {
            let copies = operations(40, &|_| r#"{"op":"copy","from":"/x","path":"/x/-"}"#.to_owned());
            format!(r#"[{{"op":"add","path":"/x","value":["{}"]}},{copies}]"#, "x".repeat(1000))
        })
        .answers(&[422], ""),
        patch("JSON patch: copies into the deepest", JSON_PATCH, {
            let mut depth = 400;
            let mut operations = vec![format!(r#"{{"op":"add","path":"/x","value":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))];
            for _ in 0..9 {
                operations.push(format!(r#"{{"op":"copy","from":"/x","path":"/x{}/-"}}"#, "/0".repeat(depth - 1)));
                depth *= 2;
            }
            format!("[{}]", operations.join(","))
        })
        .answers(&[413, 422], ""),
        patch("JSON patch: 9,000 additions before a million items", JSON_PATCH, {
            let more = operations(9000, &|_| r#"{"op":"add","path":"/x/0","value":0}"#.to_owned());
            format!(r#"[{{"op":"add","path":"/x","value":[{}0]}},{more}]"#, "0,".repeat(MIB))
        })
        .answers(&[413], "Request entity too large"),
        patch("JSON patch: 9,000 moves among a million items", JSON_PATCH, {
            let more = operations(9000, &|_| r#"{"op":"move","from":"/x/0","path":"/x/1"}"#.to_owned());
            format!(r#"[{{"op":"add","path":"/x","value":[{}0]}},{more}]"#, "0,".repeat(MIB))
        })
        .answers(&[413], "Request entity too large"),
        patch("JSON patch: 9,000 members of 200,000", JSON_PATCH, {
            let more = operations(9000, &|at| format!(r#"{{"op":"add","path":"/x/n{at}","value":0}}"#));
            format!(r#"[{{"op":"add","path":"/x","value":{{{}}}}},{more}]"#, keys(MIB + MIB / 2, "0"))
        })
        .answers(&[413], "Request entity too large"),
        revision(
            row("JSON patch: 10,000 tests of raw JSON", "PATCH", &revision_path, JSON_PATCH, {
                format!("[{}]", operations(10_000, &|_| r#"{"op":"test","path":"/data","value":{"y":1}}"#.to_owned()))
            }),
            &format!("[{}1]", "1,".repeat(MIB / 4)),
        )
        .answers(&[413, 422], ""),
        revision(
            row("JSON patch: 10,000 good tests of raw JSON", "PATCH", &revision_path, JSON_PATCH, {
                format!("[{}]", operations(10_000, &|_| r#"{"op":"test","path":"/data/y","value":null}"#.to_owned()))
            }),
            &format!("[{}1]", "1,".repeat(MIB / 4)),
        )
        .answers(&[200, 413, 422], ""),
        patch("JSON patch: a test of 100,000 members", JSON_PATCH, {
            let members = keys(MIB, "0");
            let backwards = members.split(',').rev().collect::<Vec<_>>().join(",");
            format!(
                r#"[{{"op":"add","path":"/x","value":{{{members}}}}},{{"op":"test","path":"/x","value":{{{backwards}}}}}]"#
            )
        })
        .answers(&[200, 413, 422], ""),
        patch("JSON patch: shown with 9,000 paths", JSON_PATCH, {
            let more = operations(9000, &|at| format!(r#"{{"op":"test","path":"/data/k{at}"}}"#));
            let data = keys(MIB, r#""""#);
            format!(r#"[{{"op":"add","path":"/data","value":{{{data}}}}},{more},{{"op":"add","path":"/immutable","value":7}}]"#)
        })
        .answers(&[413, 422], ""),
        patch("merge patch: 200,000 new keys", MERGE_PATCH, format!(r#"{{"data":{{{}}}}}"#, keys(2 * MIB, r#""""#)))
            .answers(&[200, 413, 422, 500], ""),
        patch("merge patch: 200,000 wrong keys", MERGE_PATCH, format!(r#"{{"data":{{"!":"",{}}}}}"#, keys(2 * MIB, r#""""#)))
            .answers(&[413, 422, 500], ""),
        row("merge patch: 100,000 keys taken away", "PATCH", &there, MERGE_PATCH, {
            format!(r#"{{"data":{{{}}}}}"#, keys(MIB, "null"))
        })
        .after("DELETE", CONFIG_MAPS, "", "")
        .after("POST", CONFIG_MAPS, JSON, create("there", &format!(r#""data":{{{}}}"#, keys(MIB, r#""""#))))
        .answers(&[200], ""),
        row("strategic patch: 100,000 keys taken away", "PATCH", &there, STRATEGIC_PATCH, {
            format!(r#"{{"data":{{{}}}}}"#, keys(MIB, "null"))
        })
        .after("DELETE", CONFIG_MAPS, "", "")
        .after("POST", CONFIG_MAPS, JSON, create("there", &format!(r#""data":{{{}}}"#, keys(MIB, r#""""#))))
        .answers(&[200], ""),
        patch("strategic patch: 200,000 new keys", STRATEGIC_PATCH, format!(r#"{{"data":{{{}}}}}"#, keys(2 * MIB, r#""""#)))
            .answers(&[200, 413, 422, 500], ""),
        dry("strategic patch: 200,000 finalizers", STRATEGIC_PATCH, {
            let finalizers = fill(MIB, ",", |at| format!(r#""a/{at}""#));
            format!(r#"{{"metadata":{{"finalizers":[{finalizers}],"$setElementOrder/finalizers":[{finalizers}]}}}}"#)
        })
        .answers(&[200, 413, 422, 500], ""),
        patch("strategic patch: 100,000 owners", STRATEGIC_PATCH, {
            let owners = fill(2 * MIB, ",", |at| format!(r#"{{"uid":"{at}"}}"#));
            format!(r#"{{"metadata":{{"ownerReferences":[{owners}]}}}}"#)
        })
        .answers(&[413, 422], "").times(300),
        patch("strategic patch: one owner 50,000 times", STRATEGIC_PATCH, {
            let members = keys(MIB, "0");
            let again = fill(MIB, ",", |_| r#"{"uid":"u"}"#.to_owned());
            format!(r#"{{"metadata":{{"ownerReferences":[{{{members},"uid":"u"}},{again}]}}}}"#)
        })
        .answers(&[413, 422], ""),
        patch("strategic patch: orders of lists that are not there", STRATEGIC_PATCH, {
            let letters: Vec<char> = "finalizers".chars().collect();
            let spell = |at: usize| -> String {
                let flip = |(bit, letter): (usize, &char)| if at >> bit & 1 == 1 { letter.to_ascii_uppercase() } else { *letter };
                letters.iter().enumerate().map(flip).collect()
            };
            let orders = (0..1024).map(|at| format!(r#""$setElementOrder/{}":[]"#, spell(at))).collect::<Vec<_>>().join(",");
            format!(r#"{{"metadata":{{{},{orders}}}}}"#, keys(MIB, "0"))
        })
        .answers(&[200, 400, 422, 500], ""),
        patch("strategic patch: an order for every key", STRATEGIC_PATCH, {
            let orders = fill(2 * MIB, ",", |at| format!(r#""$setElementOrder/k{at}":[]"#));
            format!(r#"{{"metadata":{{{orders}}}}}"#)
        })
        .answers(&[400, 422, 500], ""),
        with(row("apply: 200,000 keys", "PATCH", &format!("{there}?fieldManager=m"), APPLY, applied("k", MIB)))
            .answers(&[200, 413, 422, 500], ""),
        // With its managed fields the object is stored: it is half as large as the store takes.
        with(row("apply: 40,000 keys instead of others", "PATCH", &format!("{there}?fieldManager=m"), APPLY, applied("l", MIB / 2)))
            .after("PATCH", &format!("{there}?fieldManager=m"), APPLY, applied("k", MIB / 2))
            .answers(&[200, 413, 422, 500], "")
            .times(150),
        row("update: 100,000 keys instead of others", "PUT", &there, JSON, create("there", &format!(r#""data":{{{}}}"#, keys(MIB, r#""v""#))))
            .after("DELETE", CONFIG_MAPS, "", "")
            .after("POST", CONFIG_MAPS, JSON, create("there", &format!(r#""data":{{{}}}"#, fill(MIB, ",", |at| format!(r#""l{at}":"""#)))))
            .answers(&[200], ""),
    ]
}
