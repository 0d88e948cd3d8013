//! The rows: request, response, and allowed memory. Guarantees that a body is within the body limit, so that the decoder is
//! tested. Must never start a server.

mod patches;

use crate::common::http::{JSON, YAML};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Nothing is stored, so that rows are independent.
const DRY_RUN: &str = "/api/v1/namespaces/default/configmaps?dryRun=All";
const PODS: &str = "/api/v1/namespaces/default/pods";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const APPLY: &str = "application/apply-patch+yaml";
const CBOR: &str = "application/cbor";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The largest body that is read.
const MAX_BODY: usize = 3 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Set {
    Yaml,
    Json,
    Binary,
    Patches,
    Queries,
}

pub struct Row {
    pub what: &'static str,
    pub method: &'static str,
    pub path: String,
    pub content_type: &'static str,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Requests sent before: method, path, content type, body.
    pub before: Vec<(&'static str, String, &'static str, Vec<u8>)>,
    pub statuses: &'static [u16],
    /// Text in the response.
    pub says: String,
    /// Whether an error is no Status.
    pub plain: bool,
    pub at_once: usize,
    /// Maximum growth of memory as a multiple of the request.
    pub times: u64,
}

fn row(
    what: &'static str,
    method: &'static str,
    path: &str,
    content_type: &'static str,
    body: impl Into<Vec<u8>>,
) -> Row {
    let body = body.into();
    assert!(body.len() <= MAX_BODY, "{what}: {} bytes", body.len());
    Row {
        what,
        method,
        path: path.to_owned(),
        content_type,
        headers: Vec::new(),
        body,
        before: Vec::new(),
        statuses: &[200],
        says: String::new(),
        plain: false,
        at_once: 1,
        times: 40,
    }
}

impl Row {
    fn answers(self, statuses: &'static [u16], says: &str) -> Row {
        Row { statuses, says: says.to_owned(), ..self }
    }

    fn at_once(self, at_once: usize) -> Row {
        Row { at_once, ..self }
    }

    fn times(self, times: u64) -> Row {
        Row { times, ..self }
    }

    fn after(mut self, method: &'static str, path: &str, content_type: &'static str, body: impl Into<Vec<u8>>) -> Row {
        self.before.push((method, path.to_owned(), content_type, body.into()));
        self
    }

    fn plain(self) -> Row {
        Row { plain: true, ..self }
    }
}

/// Pieces one after the other, each made from its number, until there are so many bytes.
fn fill(bytes: usize, between: &str, mut piece: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes);
    for number in 0.. {
        let piece = piece(number);
        if text.len() + piece.len() + between.len() > bytes {
            break;
        }
        if number > 0 {
            text.push_str(between);
        }
        text.push_str(&piece);
    }
    text
}

const MIB: usize = 1 << 20;

pub fn rows(set: Set) -> Vec<Row> {
    match set {
        Set::Yaml => yaml(),
        Set::Json => json(),
        Set::Binary => binary(),
        Set::Patches => patches::rows(),
        Set::Queries => queries(),
    }
}

fn config_map(inside: &str) -> String {
    format!(r#"{{"metadata":{{"name":"hostile"}},{inside}}}"#)
}

const TOO_MANY_ALIASES: &str = "yaml: document contains excessive aliasing";

fn yaml() -> Vec<Row> {
    let post = |what, body: String| row(what, "POST", DRY_RUN, YAML, body);
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hostile}\n";
    let aliased = |bytes: usize, times: usize, field: &str| {
        let aliases: String = (0..times).map(|at| format!("  k{at}: *a\n")).collect();
        format!("{head}{field}:\n  a: &a \"{}\"\n{aliases}", "x".repeat(bytes))
    };
    let lists = |levels: usize, each: usize| {
        let mut text = format!("{head}data:\n  l0: &l0 [x]\n");
        for level in 1..=levels {
            let items = vec![format!("*l{}", level - 1); each].join(",");
            text.push_str(&format!("  l{level}: &l{level} [{items}]\n"));
        }
        text
    };
    vec![
        post("a scalar of 1 MB aliased 3,000 times", aliased(MIB, 3000, "data")).answers(&[400], TOO_MANY_ALIASES),
        post(
            "a quoted scalar far to the right, of a million lines that are not indented",
            format!("{head}data:\n  a:{}\"x{}y\"\n", " ".repeat(MIB), "\n".repeat(MIB)),
        )
        .answers(&[422], "Too long"),
        post(
            "a million possible keys, each in a bracket of its own",
            format!("{head}nothing: [{}]", fill(2 * MIB, ",", |_| "[[]: [a]]: b".to_owned())),
        )
        .answers(&[400], "yaml: "),
        post("the same where no field is", aliased(MIB, 3000, "nothing")).answers(&[400], TOO_MANY_ALIASES),
        post("a scalar of 1 MB aliased 150,000 times", aliased(MIB, 120_000, "data")).answers(&[400], TOO_MANY_ALIASES),
        row(
            "the same, applied",
            "PATCH",
            &format!("{CONFIG_MAPS}/hostile?fieldManager=m"),
            APPLY,
            aliased(MIB, 3000, "data"),
        )
        .answers(&[400], TOO_MANY_ALIASES),
        post("a key of 1 MB aliased 1,000 times", {
            let keys: String = (0..1000).map(|_| "? *a\n: 1\n".to_owned()).collect();
            format!("{head}nothing: &a \"{}\"\n{keys}", "x".repeat(MIB))
        })
        .answers(&[400], TOO_MANY_ALIASES),
        post("a map of 10,000 keys merged 10,000 times", {
            let map = fill(150_000, ",", |at| format!("k{at}: x"));
            let merges: String = (0..10_000).map(|at| format!("m{at}: {{<<: *a}}\n")).collect();
            format!("{head}nothing: &a {{{map}}}\n{merges}")
        })
        .answers(&[400], TOO_MANY_ALIASES),
        post("lists of aliases, nine levels", lists(9, 10)).answers(&[400], TOO_MANY_ALIASES),
        post("lists of aliases, many levels", lists(60, 2)).answers(&[400], TOO_MANY_ALIASES),
        post("100,000 anchors", format!("{head}data:\n{}", fill(2 * MIB, "\n", |at| format!("  k{at}: &a{at} x"))))
            .answers(&[201, 413, 500], ""),
        post("100,000 keys that stand twice", format!("{head}data:\n{}", fill(2 * MIB, "\n", |_| "  k: x".to_owned())))
            .answers(&[201, 400], ""),
        row(
            "the same, strict",
            "POST",
            &format!("{CONFIG_MAPS}?fieldValidation=Strict"),
            YAML,
            format!("{head}data:\n{}", fill(2 * MIB, "\n", |_| "  k: x".to_owned())),
        )
        .answers(&[400], "already set in map"),
        post("two keys of 100 KB that stand 13 times", {
            let keys = fill(2 * MIB + MIB / 2, "\n", |at| {
                format!("{}: x", if at % 2 == 0 { "x" } else { "y" }.repeat(100_000))
            });
            format!("{head}nothing:\n  {}", keys.replace('\n', "\n  "))
        })
        .answers(&[201, 400], ""),
        post("one line of a million nodes, and a tab", {
            format!("# \t\n{{\"metadata\": {{name: hostile}}, nothing: [{}]}}", fill(2 * MIB, ",", |_| "1".to_owned()))
        })
        .answers(&[201], "")
        .times(265),
        post("a million brackets", "[".repeat(MIB)).answers(&[400], ""),
        post("a million braces", "{a: ".repeat(MIB / 4)).answers(&[400], ""),
        post("a million dashes", format!("{head}data:\n{}", "- ".repeat(MIB))).answers(&[400], ""),
        post("a million question marks", "? ".repeat(MIB)).answers(&[400], ""),
        post("brackets that close nothing", format!("{{}}{}", "]".repeat(MIB))).answers(&[201, 400, 422], ""),
        post("a quoted string without end", format!("{head}data: {{a: \"{}", "x\n ".repeat(MIB / 2)))
            .answers(&[400], ""),
        post("a plain scalar of a million lines", format!("{head}nothing: {}", "x\n ".repeat(MIB / 2)))
            .answers(&[201], ""),
        post("a million empty documents", "---\n".repeat(MIB / 2)).answers(&[201, 400, 422], ""),
        post("a million comments", format!("{}{head}", "#\n".repeat(MIB))).answers(&[201], ""),
        post("a million directives", format!("{}--- {{}}", "%Y\n".repeat(MIB / 2))).answers(&[201, 400, 422], ""),
        post("a million tags", format!("{head}nothing: [{}]", "!!str x,".repeat(MIB / 4))).answers(&[201], ""),
        post(
            "a number of a million digits",
            format!("{head}nothing: {}\nmore: 1e{}", "9".repeat(MIB), "9".repeat(MIB)),
        )
        .answers(&[201, 400], ""),
        post("two million nodes", format!("{head}nothing: [{}]", "1,".repeat(MIB))).answers(&[201], "").times(120),
        post("half a million maps", format!("{head}nothing: [{}]", "{a: b},".repeat(MIB / 3)))
            .answers(&[201], "")
            .times(120),
    ]
}

fn json() -> Vec<Row> {
    let post = |what, body: String| row(what, "POST", DRY_RUN, JSON, body);
    let strict = |what, body: String| row(what, "POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict"), JSON, body);
    let long = "x".repeat(MIB);
    let template = |what, spec: &dyn Fn(&str, &mut String) -> String| {
        let mut labels = String::new();
        let spec = spec(r#""containers":[{"name":"c","image":"i""#, &mut labels);
        let labels = if labels.is_empty() { r#""a":"b""#.to_owned() } else { labels };
        let body = format!(
            r#"{{"metadata":{{"name":"x"}},"spec":{{"selector":{{"matchLabels":{{{labels}}}}},"template":{{"metadata":{{"labels":{{{labels}}}}},"spec":{{{spec}}}}}}}}}"#
        );
        row(what, "POST", "/apis/apps/v1/namespaces/default/deployments?dryRun=All", JSON, body)
            .answers(&[201, 413, 422], "")
            .times(100)
    };
    vec![
        post("a million nodes in no field", config_map(&format!(r#""nothing":[{}1]"#, "1,".repeat(MIB)))).answers(&[201], ""),
        post("unknown fields", config_map(&fill(2 * MIB, ",", |at| format!(r#""u{at}":1"#)))).answers(&[201, 409], ""),
        strict("unknown fields, strict", config_map(&fill(2 * MIB, ",", |at| format!(r#""u{at}":1"#))))
            .answers(&[400], "unknown field \\\"u99\\\""),
        row("unknown fields below a key of 1 MB", "POST", PODS, JSON, {
            let unknown = fill(MIB, ",", |at| format!(r#""u{at}":1"#));
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"resourceClaims":[{{}}],"overhead":{{}},"containers":[{{"name":"c","resources":{{"limits":{{"{long}":{{{unknown}}}}}}}}}]}}}}"#)
        })
        .answers(&[400, 403, 422], ""),
        row("unknown fields below a deep path of long keys", "POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", JSON, {
            let unknown = fill(MIB, ",", |at| format!(r#""u{at}":1"#));
            format!(r#"{{"metadata":{{"name":"x"}},"status":{{"devices":[{{"data":{{"{long}":{{{unknown}}}}}}}]}}}}"#)
        })
        .answers(&[201, 400, 422], ""),
        row("unknown fields below a capacity of 1 MB", "POST", "/apis/resource.k8s.io/v1/resourceslices?fieldValidation=Strict", JSON, {
            let unknown = fill(MIB, ",", |at| format!(r#""u{at}":1"#));
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"devices":[{{"name":"d","capacity":{{"{long}":{{{unknown}}}}}}}]}}}}"#)
        })
        .answers(&[400], "unknown field"),
        strict("data twice, 100,000 keys each", {
            let data = fill(MIB, ",", |at| format!(r#""k{at}":"""#));
            config_map(&format!(r#""data":{{{data}}},"data":{{{data}}}"#))
        })
        .answers(&[400], "duplicate field \\\"data\\\""),
        post("data 100,000 times", {
            let data = fill(MIB, ",", |at| format!(r#""k{at}":"""#));
            let again = fill(MIB, ",", |at| format!(r#""data":{{"m{at}":""}}"#));
            config_map(&format!(r#""data":{{{data}}},{again}"#))
        })
        .answers(&[201, 400, 413, 422, 500], ""),
        post("200,000 keys", config_map(&format!(r#""data":{{{}}}"#, fill(2 * MIB, ",", |at| format!(r#""k{at}":"""#)))))
            .answers(&[201, 413, 422, 500], ""),
        post("200,000 keys, backwards", {
            config_map(&format!(r#""data":{{{}}}"#, fill(2 * MIB, ",", |at| format!(r#""k{}":"""#, 1_000_000 - at))))
        })
        .answers(&[201, 413, 422, 500], ""),
        post("200,000 wrong keys", config_map(&format!(r#""data":{{{}}}"#, fill(2 * MIB, ",", |at| format!(r#""!{at}":"""#)))))
            .answers(&[422], "Invalid value").times(200),
        post("200,000 wrong labels", {
            let labels = fill(2 * MIB, ",", |at| format!(r#""!{at}":"-""#));
            format!(r#"{{"metadata":{{"name":"hostile","labels":{{{labels}}}}}}}"#)
        })
        .answers(&[422], "Invalid value").times(200),
        post("200,000 finalizers", {
            format!(r#"{{"metadata":{{"name":"hostile","finalizers":[{}]}}}}"#, fill(2 * MIB, ",", |at| format!(r#""a/{at}""#)))
        })
        .answers(&[201, 413, 422, 500], ""),
        post("200,000 owners", {
            let owners = fill(2 * MIB, ",", |at| format!(r#"{{"uid":"{at}"}}"#));
            format!(r#"{{"metadata":{{"name":"hostile","ownerReferences":[{owners}]}}}}"#)
        })
        .answers(&[422], "").times(300),
        row("500,000 containers", "POST", PODS, JSON, {
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{}]}}}}"#, fill(MIB + MIB / 2, ",", |_| "{}".to_owned()))
        })
        .answers(&[403, 413, 422], "").times(400),
        template("60,000 mounts of one container", &|container, _| {
            format!(r#"{container},"volumeMounts":[{}]}}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"name":"v","mountPath":"/{at}"}}"#)))
        }),
        template("40,000 volumes", &|container, _| {
            format!(r#"{container}}}],"volumes":[{}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"name":"v{at}","emptyDir":{{}}}}"#)))
        }),
        template("50,000 wrong volumes and their mounts", &|container, _| {
            let mounts = fill(MIB, ",", |at| format!(r#"{{"name":"v{at}","mountPath":"/{at}"}}"#));
            format!(r#"{container},"volumeMounts":[{mounts}]}}],"volumes":[{}]"#, fill(MIB, ",", |at| format!(r#"{{"name":"v{at}"}}"#)))
        }),
        template("60,000 variables of one container", &|container, _| {
            format!(r#"{container},"env":[{}]}}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"name":"V{at}","value":"$(V{at})"}}"#)))
        }),
        template("60,000 ports of one container", &|container, _| {
            format!(r#"{container},"ports":[{}]}}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"containerPort":{},"hostPort":{}}}"#, at % 65535, at % 65535)))
        }),
        template("60,000 init containers", &|container, _| {
            format!(r#"{container}}}],"initContainers":[{}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"name":"i{at}","image":"i"}}"#)))
        }),
        template("100,000 tolerations", &|container, _| {
            format!(r#"{container}}}],"tolerations":[{}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"key":"k{at}"}}"#)))
        }),
        template("60,000 sysctls", &|container, _| {
            format!(r#"{container}}}],"securityContext":{{"sysctls":[{}]}}"#, fill(2 * MIB, ",", |at| format!(r#"{{"name":"a.b{at}","value":"1"}}"#)))
        }),
        template("40,000 claims and who uses them", &|container, _| {
            let used = fill(MIB, ",", |at| format!(r#"{{"name":"d{at}"}}"#));
            let claims = fill(MIB, ",", |at| format!(r#"{{"name":"c{at}","resourceClaimName":"c"}}"#));
            format!(r#"{container},"resources":{{"claims":[{used}]}}}}],"resourceClaims":[{claims}]"#)
        }),
        template("60,000 constraints of spreading", &|container, _| {
            let each = |at: usize| format!(r#"{{"maxSkew":1,"topologyKey":"t{at}","whenUnsatisfiable":"DoNotSchedule"}}"#);
            format!(r#"{container}}}],"topologySpreadConstraints":[{}]"#, fill(2 * MIB, ",", each))
        }),
        template("60,000 host names", &|container, _| {
            format!(r#"{container}}}],"hostAliases":[{}]"#, fill(2 * MIB, ",", |at| format!(r#"{{"ip":"10.0.0.1","hostnames":["h{at}"]}}"#)))
        }),
        template("60,000 labels that select", &|container, labels| {
            labels.push_str(&fill(MIB, ",", |at| format!(r#""k{at}":"v""#)));
            format!("{container}}}]")
        }),
        row("500,000 ports", "POST", "/api/v1/namespaces/default/services", JSON, {
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"ports":[{}]}}}}"#, fill(MIB + MIB / 2, ",", |_| "{}".to_owned()))
        })
        .answers(&[413, 422], "").times(400),
        row("100,000 wrong values of a selector", "POST", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", JSON, {
            let values = fill(2 * MIB, ",", |at| format!(r#""-{at}""#));
            format!(
                r#"{{"metadata":{{"name":"x"}},"spec":{{"podSelector":{{"matchExpressions":[{{"key":"k","operator":"In","values":[{values}]}}]}}}}}}"#
            )
        })
        .answers(&[422], "").times(300),
        row("300,000 wrong types", "POST", PODS, JSON, {
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{}]}}}}"#, fill(2 * MIB, ",", |_| "1".to_owned()))
        })
        .answers(&[400], "json: cannot unmarshal number"),
        post("deep brackets", config_map(&format!(r#""nothing":{}{}"#, "[".repeat(MIB), "]".repeat(MIB)))).answers(&[400], ""),
        post("deep objects", config_map(&format!(r#""nothing":{}"#, r#"{"a":"#.repeat(MIB / 4)))).answers(&[400], ""),
        post("a number of a million digits", config_map(&format!(r#""immutable":{}"#, "9".repeat(2 * MIB)))).answers(&[400], ""),
        row("quantities beyond all measure", "POST", PODS, JSON, {
            let limits = fill(2 * MIB, ",", |at| format!(r#""r{at}":"1e999999999""#));
            format!(r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"limits":{{{limits}}}}}}}]}}}}"#)
        })
        .answers(&[400, 403, 422], "").times(300),
        row("a quantity of a million digits", "POST", PODS, JSON, {
            let digits = "9".repeat(MIB);
            format!(
                r#"{{"metadata":{{"name":"x"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"limits":{{"cpu":"{digits}.{digits}m"}}}}}}]}}}}"#
            )
        })
        .answers(&[400, 403, 422], ""),
        row("a number of an exponent beyond all measure", "POST", REVISIONS, JSON, {
            format!(r#"{{"metadata":{{"name":"hostile"}},"revision":1,"data":[{}]}}"#, fill(MIB, ",", |_| "1e999999999".to_owned()))
        })
        .answers(&[201, 400, 422], ""),
        row("100,000 managers", "POST", DRY_RUN, JSON, {
            let entries = fill(2 * MIB, ",", |at| {
                format!(r#"{{"manager":"m{at}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{}}}}"#)
            });
            format!(r#"{{"metadata":{{"name":"hostile2","managedFields":[{entries}]}}}}"#)
        })
        .answers(&[201, 413, 422, 500], "").times(150),
        row("a body under gzip is none", "POST", CONFIG_MAPS, JSON, vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]).answers(&[400], ""),
        row("eight bodies of 2 MB at once", "POST", DRY_RUN, JSON, config_map(&format!(r#""nothing":[{}1]"#, "1,".repeat(MIB))))
            .answers(&[201], "")
            .at_once(8),
        row("options of deletion with 200,000 dry runs", "DELETE", &format!("{CONFIG_MAPS}/hostile"), JSON, {
            format!(r#"{{"dryRun":[{}]}}"#, fill(2 * MIB, ",", |at| format!(r#""x{at}""#)))
        })
        .answers(&[404, 422], ""),
    ]
}

fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(number: usize, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(number << 3 | 2, &mut out);
    varint(bytes.len(), &mut out);
    out.extend_from_slice(bytes);
    out
}

fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
    let head = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &head), field(2, raw)].concat()
}

fn binary() -> Vec<Row> {
    let cbor = |what, body: Vec<u8>| row(what, "POST", DRY_RUN, CBOR, body);
    let proto = |what, kind: &str, raw: &[u8]| {
        let path = if kind == "Pod" { PODS } else { DRY_RUN };
        row(what, "POST", path, PROTOBUF, envelope(kind, raw))
    };
    let meta = field(1, &field(1, b"hostile"));
    let shuffled = |count: usize| {
        let entry =
            |at: usize| field(2, &[field(1, format!("k{}", (at * 7919) % count).as_bytes()), field(2, b"")].concat());
        [meta.clone(), (0..count).flat_map(entry).collect()].concat()
    };
    let nested_claim = |claim: usize| {
        let mut raw = vec![0x0a];
        varint(claim, &mut raw);
        raw
    };
    vec![
        cbor("CBOR: an array of claimed length", vec![0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
            .answers(&[400, 415], ""),
        cbor("CBOR: a string of claimed length", vec![0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
            .answers(&[400, 415], ""),
        cbor("CBOR: deep arrays", vec![0x81; 2 * MIB]).answers(&[400, 415], ""),
        cbor("CBOR: deep tags", vec![0xc1; 2 * MIB]).answers(&[400, 415], ""),
        cbor("CBOR: arrays of arrays", {
            let inner: Vec<u8> = [vec![0x9a, 0, 0, 4, 0], vec![0; 1024]].concat();
            [vec![0x9a, 0, 0, 4, 0], (0..1024).flat_map(|_| inner.clone()).collect()].concat()
        })
        .answers(&[400, 415], "")
        .times(100),
        proto("protobuf: a message of claimed length", "ConfigMap", &nested_claim(1 << 62)).answers(&[400], ""),
        proto("protobuf: 130,000 keys out of order", "ConfigMap", &shuffled(130_000))
            .answers(&[201, 413, 422, 500], "")
            .times(60),
        proto(
            "protobuf: a million unknown fields",
            "ConfigMap",
            &[meta.clone(), [0xf8, 0x7f, 0].repeat(MIB / 2)].concat(),
        )
        .answers(&[201, 409], ""),
        proto("protobuf: 500,000 containers", "Pod", &[meta.clone(), field(2, &[0x12, 0].repeat(MIB / 2))].concat())
            .answers(&[403, 413, 422], "")
            .times(600),
        proto("protobuf: groups in groups", "ConfigMap", &[vec![0x0b; MIB], vec![0x0c; MIB]].concat())
            .answers(&[201, 400, 422], ""),
        proto("protobuf: deep messages", "Pod", &(0..2000).fold(Vec::new(), |raw, _| field(2, &raw)))
            .answers(&[400, 403, 422], ""),
    ]
}

fn queries() -> Vec<Row> {
    const LONG: usize = 60_000;
    let get = |what, query: String| row(what, "GET", &format!("{CONFIG_MAPS}?{query}"), "", "");
    let impersonating = |what, name: fn(usize) -> String, count: usize| {
        let mut row = row(what, "GET", CONFIG_MAPS, "", "");
        row.headers = (0..count).map(|at| (name(at), format!("value-{at}"))).collect();
        row.headers.push(("Impersonate-User".to_owned(), "somebody".to_owned()));
        row
    };
    vec![
        get("a selector of 10,000 requirements", format!("labelSelector={}", fill(LONG, ",", |at| format!("k{at}"))))
            .answers(&[200], ""),
        get(
            "a selector of 10,000 values",
            format!("labelSelector=k%20in%20({})", fill(LONG, ",", |at| format!("v{at}"))),
        )
        .answers(&[200], ""),
        get(
            "a selector of 10,000 wrong values",
            format!("labelSelector=k%20in%20({})", fill(LONG, ",", |at| format!("-{at}"))),
        )
        .answers(&[400], "")
        .times(400),
        get(
            "a selector of 4,000 fields",
            format!("fieldSelector={}", fill(LONG, ",", |at| format!("metadata.name=a{at}"))),
        )
        .answers(&[200], ""),
        get(
            "a selector of 5,000 unknown fields",
            format!("fieldSelector={}", fill(LONG, ",", |at| format!("f{at}=a{at}"))),
        )
        .answers(&[400], ""),
        get("a selector of escapes", format!("fieldSelector=metadata.name={}", "%5C%5C".repeat(LONG / 6)))
            .answers(&[200], ""),
        get("a continue token of 60,000 bytes", format!("limit=1&continue={}", "A".repeat(LONG))).answers(&[400], ""),
        get("30,000 parameters", fill(LONG, "&", |_| "a".to_owned())).answers(&[200], ""),
        row("a URL of 900,000 bytes", "GET", &format!("{CONFIG_MAPS}?{}", "a".repeat(900_000)), "", "")
            .answers(&[414], "")
            .plain(),
        row(
            "7,000 dry runs",
            "POST",
            &format!("{CONFIG_MAPS}?{}", fill(LONG, "&", |_| "dryRun=x".to_owned())),
            JSON,
            "{}",
        )
        .answers(&[422], "")
        .times(100),
        row("a path of 60,000 slashes", "GET", &format!("/api{}", "/".repeat(LONG)), "", "")
            .answers(&[200, 403, 404], "")
            .plain(),
        impersonating("900 groups to act as", |_| "Impersonate-Group".to_owned(), 900).answers(&[403], ""),
        impersonating("900 extras to act with", |at| format!("Impersonate-Extra-{at}"), 900).answers(&[403], ""),
        {
            let mut row = row("a token of 60,000 bytes", "GET", CONFIG_MAPS, "", "").answers(&[401], "");
            row.headers.push((
                "Authorization".to_owned(),
                format!("Bearer {}.{}.{}", "a".repeat(LONG / 3), "b".repeat(LONG / 3), "c".repeat(LONG / 3)),
            ));
            row
        },
        {
            let mut row = row("an Accept of 6,000 media types", "GET", CONFIG_MAPS, "", "").answers(&[200, 406], "");
            row.headers.push(("Accept".to_owned(), fill(LONG, ",", |_| "a/b;q=0.1".to_owned())));
            row
        },
        row("OpenAPI v2, eight at once", "GET", "/openapi/v2", "", "").answers(&[200], "").at_once(8).times(1),
        row("OpenAPI v3, eight at once", "GET", "/openapi/v3/api/v1?rules=true", "", "")
            .answers(&[200], "")
            .at_once(8)
            .times(1),
    ]
}
