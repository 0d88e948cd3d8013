//! Validation for operators, authors of manifests and readers of the API: the commands, the stages, the published rules.
//! Guarantees exit codes and output, counters and log, and that rules are published on request.

use crate::common::Scratch;
use crate::common::http::Answered;
use crate::common::process::{Installation, pintle};
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};

const RIGHT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: right\ndata:\n  a: b\n";

const WRONG: &str = "\
# Two objects, the second with two faults.
apiVersion: v1
kind: ConfigMap
metadata:
  name: right
---
apiVersion: v1
kind: Service
metadata:
  name: wrong
spec:
  kidn: a
  ports:
  - name: a
    port: 80
    protocol: TCP
  - name: b
    port: 70000
    protocol: TCP
";

const LIST: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: right
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: Wrong
";

fn run(folder: &Scratch, words: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = pintle(folder.path())
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a start");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("written");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("an end");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn manifests_are_validated_offline() {
    let folder = Scratch::new();
    folder.write("right.yaml", RIGHT);
    folder.write("wrong.yaml", WRONG);
    folder.write("list.yaml", LIST);
    folder.write("kind.yaml", "apiVersion: v1\nkind: Nonsense\n");
    folder.write("broken.yaml", "a: [\n");
    let port = "spec.ports[1].port: Invalid value: 70000: must be between 1 and 65535, inclusive";
    let rows: [(&[&str], &str, i32, &str, String); 8] = [
        (&["right.yaml"], "", 0, "1 objects are valid\n", String::new()),
        (&["right.yaml", "-"], RIGHT, 0, "2 objects are valid\n", String::new()),
        (&["wrong.yaml"], "", 1, "", format!("wrong.yaml:12: unknown field \"spec.kidn\"\nwrong.yaml:18: {port}\n")),
        (&["list.yaml"], "", 1, "", "list.yaml:11: metadata.name: Invalid value: \"Wrong\"".to_owned()),
        (&["kind.yaml"], "", 1, "", "kind.yaml:2: no kind \"Nonsense\" in version \"v1\"\n".to_owned()),
        (&["broken.yaml"], "", 1, "", "broken.yaml:1: ".to_owned()),
        (&["absent.yaml", "right.yaml"], "", 2, "", "absent.yaml: ".to_owned()),
        (&["--strict"], "", 2, "", "Usage:".to_owned()),
    ];
    for (files, input, code, said, reported) in rows {
        let words: Vec<&str> = std::iter::once("validate").chain(files.iter().copied()).collect();
        let (status, out, errors) = run(&folder, &words, input);
        assert_eq!((status, out.as_str()), (Some(code), said), "{files:?}: {errors}");
        assert!(errors.starts_with(&reported) && (reported.is_empty() == errors.is_empty()), "{files:?}: {errors}");
    }
}

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shelves.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: shelves, singular: shelf, kind: Shelf, listKind: ShelfList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - rule: self.used <= self.size
              fieldPath: .used
            properties:
              size: {type: integer, default: 3}
              used: {type: integer}
          status:
            type: object
            required: [phase]
            properties:
              phase: {type: string}
    subresources: {status: {}}
";

#[test]
fn custom_resources_are_validated_offline() {
    let folder = Scratch::new();
    folder.write("definition.yaml", DEFINITION);
    folder.write("wrong-definition.yaml", &DEFINITION.replace("self.size", "self.siz"));
    let shelf = |used: &str| {
        format!("apiVersion: example.com/v1\nkind: Shelf\nmetadata:\n  name: a\nspec:\n  color: red\n  used: {used}\n")
    };
    folder.write("shelf.yaml", &shelf("3").replace("  color: red\n", ""));
    folder.write("full.yaml", &shelf("4").replace("name: a", "generateName: a-"));
    let run = |words: &[&str]| run(&folder, words, "");
    let right = (Some(0), "1 objects are valid\n".to_owned(), String::new());
    assert_eq!(run(&["validate", "definition.yaml"]), right);
    assert_eq!(run(&["validate", "--crd", "definition.yaml", "shelf.yaml"]), right);
    // A create drops the status, and the namespace of an object that has none.
    folder.write("status.yaml", &(shelf("3").replace("  color: red\n", "") + "status: {}\n"));
    assert_eq!(run(&["validate", "--crd", "definition.yaml", "status.yaml"]), right);
    folder.write("cluster.yaml", &DEFINITION.replace("scope: Namespaced", "scope: Cluster"));
    folder
        .write("placed.yaml", &shelf("3").replace("  color: red\n", "").replace("name: a", "name: a\n  namespace: b"));
    assert_eq!(run(&["validate", "--crd", "cluster.yaml", "placed.yaml"]), right);
    let (code, _, reported) = run(&["validate", "shelf.yaml"]);
    assert_eq!((code, reported.as_str()), (Some(1), "shelf.yaml:2: no kind \"Shelf\" in version \"example.com/v1\"\n"));
    let (code, _, reported) = run(&["validate", "--crd=definition.yaml", "full.yaml"]);
    let wrong = "full.yaml:6: unknown field \"spec.color\"\n\
                 full.yaml:7: spec.used: Invalid value: failed rule: self.used <= self.size\n";
    assert_eq!((code, reported.as_str()), (Some(1), wrong));
    let (code, _, reported) = run(&["validate", "--crd", "wrong-definition.yaml", "shelf.yaml"]);
    assert_eq!(code, Some(1), "{reported}");
    assert!(
        reported.starts_with("wrong-definition.yaml:20: spec.validation.openAPIV3Schema.properties[spec]"),
        "{reported}"
    );
    assert!(reported.contains("undefined field 'siz'"), "{reported}");
    // The folder holds a definition that is right and one that is wrong.
    let (code, _, reported) = run(&["validate", "--crd", ".", "shelf.yaml"]);
    assert!(code == Some(1) && !reported.contains("no kind"), "{reported}");
    assert_eq!(run(&["validate", "--crd"]).0, Some(2));
    assert_eq!(run(&["validate", "--crd", "absent", "shelf.yaml"]).0, Some(2));
}

#[test]
fn rules_are_explained_and_linted() {
    let folder = Scratch::new();
    let run = |words: &[&str]| run(&folder, words, "");
    let (code, out, _) = run(&["rules", "replicationcontrollers"]);
    assert!(code == Some(0) && out.contains("replicas: ") && out.contains("minimum = 0"), "{out}");
    let (code, out, _) = run(&["rules"]);
    assert!(code == Some(0) && out.contains("## `minimum`") && out.contains("- `dns1123-label`: "), "{out}");
    for words in [["rules", "--help"], ["lint", "--help"], ["validate", "-h"]] {
        let (code, out, _) = run(&words);
        assert!(code == Some(0) && out.contains("Exit codes: 0 if no problem was found"), "{words:?}: {out}");
    }
    assert_eq!(run(&["rules", "nonsense"]).0, Some(2));
    assert_eq!(run(&["rules", "--nonsense"]).0, Some(2));
    let (code, out, errors) = run(&["lint"]);
    assert_eq!((code, out.as_str()), (Some(0), "no problems\n"), "{errors}");
}

fn signing_request() -> Value {
    let key = KeyPair::generate().expect("a key");
    let request = CertificateParams::default().serialize_request(&key).and_then(|request| request.pem());
    let request = pintle_schema::base64::encode(request.expect("a request").as_bytes());
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "twice"},
        "spec": {"request": request, "signerName": "example.com/signer", "usages": ["client auth"]},
    })
}

#[test]
fn mismatches_of_tags_and_functions_are_logged_and_counted() {
    let installation = Installation::new();
    let process = installation.start();
    let mut client = process.endpoint().client();
    let all = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let mut request = client.post(all, &signing_request()).expect_status(201);
    let count = |client: &mut crate::common::http::Client, what: &str| -> Vec<String> {
        let text = client.get("/metrics").answer().text();
        ["", "apiserver_validation_"]
            .map(|prefix| {
                let name = format!("{prefix}declarative_validation_{what}_total ");
                text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("none").to_owned()
            })
            .into()
    };
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "test"});
    let approval = format!("{all}/twice/approval");

    // Both find the same: the function answers, the tag is silent.
    request["status"] = json!({"conditions": [condition("Approved"), condition("Denied")]});
    let refused = client.put(&approval, &request).expect_status(422);
    assert_eq!(refused["details"]["causes"].as_array().expect("causes").len(), 1, "{refused}");
    assert_eq!([count(&mut client, "mismatch"), count(&mut client, "panic")], [["0"; 2], ["0"; 2]]);

    // The function tells it once for each condition too many, the tag once for the list.
    request["status"] = json!({"conditions": [condition("Approved"), condition("Denied"), condition("Approved")]});
    let refused = client.put(&approval, &request).expect_status(422);
    let causes = refused["details"]["causes"].as_array().expect("causes");
    assert!(causes.iter().all(|cause| !cause.to_string().contains("must specify at most one of")), "{refused}");
    let counts = count(&mut client, "mismatch");
    assert!(counts[0] == counts[1] && counts[0].parse::<u32>().is_ok_and(|count| count > 0), "{counts:?}");
    let log = process.errors();
    let line = log.lines().find(|line| line.contains("disagree")).expect("a line");
    for part in [
        "resource=\"certificatesigningrequests\"",
        "name=\"twice\"",
        "user=\"admin\"",
        "field=\"status.conditions\"",
        "type=\"FieldValueInvalid\"",
        "origin=\"zeroOrOneOf\"",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn rules_are_published_to_those_who_ask() {
    let server = crate::common::in_process::InProcess::start();
    let mut client = server.client();
    let mut get = |path: &str| client.get(path).expect_status(200);
    let index = get("/openapi/v3?rules=true");
    let path = index["paths"]["api/v1"]["serverRelativeURL"].as_str().expect("an address").to_owned();
    assert!(path.ends_with("&rules=true"), "{path}");
    let (with, without) = (get(&path), get("/openapi/v3/api/v1"));
    let replicas = "/components/schemas/io.k8s.api.core.v1.ReplicationControllerSpec/properties/replicas";
    assert_eq!(with.pointer(replicas).expect("the field")["minimum"], 0);
    assert_eq!(without.pointer(replicas).expect("the field").get("minimum"), None);
    let plain = get("/openapi/v3");
    let path = plain["paths"]["api/v1"]["serverRelativeURL"].as_str().expect("an address");
    assert!(!path.contains("rules"), "{path}");
}
