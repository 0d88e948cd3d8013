//! Which files are applied, and why others are not.

use super::*;
use pintle_schema::gates::ALL_GATES;
use std::sync::atomic::AtomicU32;

/// A directory of a test, removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn with(files: &[(&str, &str)]) -> Directory {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pintle-manifests-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        files.iter().for_each(|(name, text)| std::fs::write(path.join(name), text).expect("written"));
        Directory(path)
    }

    /// What is loaded, with a short name for the directory in errors.
    fn load(&self, contents: &Contents) -> Result<Manifests, String> {
        load(&self.0, contents, &ALL_GATES).map_err(|error| error.replace(&*self.0.to_string_lossy(), "DIR"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const HEAD: &str = "apiVersion: admissionregistration.k8s.io/v1\n";

fn policy(name: &str, more: &str) -> String {
    format!(
        "{HEAD}kind: ValidatingAdmissionPolicy\nmetadata: {{name: {name}}}\nspec:\n  matchConstraints: {{resourceRules: \
         [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{expression: \
         \"true\"}}]\n{more}"
    )
}

fn binding(name: &str, policy: &str, more: &str) -> String {
    format!(
        "{HEAD}kind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: {name}}}\nspec:\n  policyName: {policy}\n  \
         validationActions: [Deny]\n{more}"
    )
}

fn webhook(name: &str, client: &str) -> String {
    format!(
        "{HEAD}kind: ValidatingWebhookConfiguration\nmetadata: {{name: {name}}}\nwebhooks:\n- name: w.example.com\n  clientConfig: \
         {{{client}}}\n  rules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]\n  sideEffects: \
         None\n  admissionReviewVersions: [v1]\n"
    )
}

fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object.str_at(&["metadata", "name"])).collect()
}

#[test]
fn objects_of_all_files_are_complete_and_in_the_order_of_their_names() {
    let [b, a] = ["b.static.k8s.io", "a.static.k8s.io"];
    let both = format!("# a comment\n---\n{}---\n{}", policy(b, ""), binding(b, b, ""));
    let list = format!(
        "{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{{\"apiVersion\": \"admissionregistration.k8s.io/v1\", \"kind\": \
         \"ValidatingAdmissionPolicyBindingList\", \"items\": [{{\"apiVersion\": \"admissionregistration.k8s.io/v1\", \"kind\": \
         \"ValidatingAdmissionPolicyBinding\", \"metadata\": {{\"name\": \"{a}\"}}, \"spec\": {{\"policyName\": \"{a}\", \
         \"validationActions\": [\"Warn\"]}}}}]}}]}}"
    );
    let files =
        [("1.yaml", &*both), ("2.YML", &policy(a, "")), ("3.json", &list), ("4.txt", "no: manifest"), ("5.yaml", "")];
    let directory = Directory::with(&files);
    std::fs::create_dir(directory.0.join("folder.yaml")).expect("a folder");
    let loaded = directory.load(&VALIDATING_POLICIES).expect("manifests");
    assert_eq!((names(&loaded.configurations), names(&loaded.bindings)), (vec![a, b], vec![a, b]));
    let spec = |field: &str| loaded.configurations[0].str_at(&["spec", field]).to_owned();
    assert_eq!((spec("failurePolicy").as_str(), loaded.hash.len()), ("Fail", "sha256:".len() + 64));
    assert_eq!(loaded.configurations[0].str_at(&["spec", "matchConstraints", "matchPolicy"]), "Equivalent");
    // Other files change nothing, another text does.
    std::fs::write(directory.0.join("4.txt"), "other").expect("written");
    assert_eq!(directory.load(&VALIDATING_POLICIES).expect("manifests"), loaded);
    std::fs::write(directory.0.join("2.YML"), policy(a, "# changed\n")).expect("written");
    assert_ne!(directory.load(&VALIDATING_POLICIES).expect("manifests").hash, loaded.hash);
    assert_eq!(Directory::with(&[]).load(&VALIDATING_POLICIES).expect("none"), Manifests::default());
    let hooks = Directory::with(&[("h.yaml", &webhook(a, "url: \"https://h/p\""))]);
    assert_eq!(names(&hooks.load(&VALIDATING_WEBHOOKS).expect("a webhook").configurations), [a]);
    let spec = "  reinvocationPolicy: Never\n  mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"[JSONPatch{op: 'remove', \
                path: '/a'}]\"}}]\n";
    let mutating =
        policy(b, spec).replace("Validating", "Mutating").replace("  validations: [{expression: \"true\"}]\n", "");
    let mutating = Directory::with(&[("m.yaml", &mutating)]);
    assert_eq!(names(&mutating.load(&MUTATING_POLICIES).expect("a policy").configurations), [b]);
}

#[test]
fn invalid_files_are_named_with_the_reason() {
    let a = "a.static.k8s.io";
    let file = |why: &str| format!("error loading DIR/f.yaml: {why}");
    let service = webhook(a, "service: {namespace: ns, name: s}");
    let nested = (0..9).fold("{}".to_owned(), |inner, _| {
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{inner}]}}")
    });
    for (contents, text, expected) in [
        (&VALIDATING_POLICIES, policy("a", ""), file("\"a\" in file \"DIR/f.yaml\" must have a name ending with \".static.k8s.io\"")),
        (
            &VALIDATING_POLICIES,
            format!("{}---\n{}", policy(a, ""), policy(a, "")),
            file("duplicate name \"a.static.k8s.io\" found in file \"DIR/f.yaml\" (previously seen in \"DIR/f.yaml\")"),
        ),
        (&VALIDATING_POLICIES, policy(a, "  other: 1\n"), file("strict decoding error: unknown field \"spec.other\"")),
        (
            &VALIDATING_POLICIES,
            policy(a, "  failurePolicy: Fail\n  failurePolicy: Fail\n"),
            file(
                "strict decoding error: yaml: unmarshal errors:\n  line 8: key \"failurePolicy\" already set in map",
            ),
        ),
        (
            &VALIDATING_POLICIES,
            policy(a, "  failurePolicy: Odd\n"),
            file("spec.failurePolicy: Unsupported value: \"Odd\": supported values: \"Fail\", \"Ignore\""),
        ),
        (
            &VALIDATING_POLICIES,
            policy(a, "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"),
            file("ValidatingAdmissionPolicy \"a.static.k8s.io\": spec.paramKind is not supported for static manifests"),
        ),
        (
            &VALIDATING_POLICIES,
            binding(a, "other", ""),
            file("binding \"a.static.k8s.io\": spec.policyName \"other\" must end with \".static.k8s.io\""),
        ),
        (
            &VALIDATING_POLICIES,
            binding(a, a, "  paramRef: {name: p, parameterNotFoundAction: Deny}\n"),
            file("binding \"a.static.k8s.io\": spec.paramRef is not supported for static manifests"),
        ),
        (
            &VALIDATING_POLICIES,
            binding(a, "b.static.k8s.io", ""),
            "binding \"a.static.k8s.io\" references policy \"b.static.k8s.io\" which does not exist in the manifest directory"
                .to_owned(),
        ),
        (
            &VALIDATING_WEBHOOKS,
            service,
            file(
                "webhook \"w.example.com\" in \"a.static.k8s.io\" (file \"DIR/f.yaml\"): clientConfig.service is not supported for \
                 static manifests; use clientConfig.url instead",
            ),
        ),
        (
            &VALIDATING_WEBHOOKS,
            policy(a, ""),
            file("unsupported resource type admissionregistration.k8s.io/v1, Kind=ValidatingAdmissionPolicy"),
        ),
        (
            &MUTATING_WEBHOOKS,
            webhook(a, "url: \"https://h\"").replace("/v1\n", "/v1beta1\n"),
            file("unsupported resource type admissionregistration.k8s.io/v1beta1, Kind=ValidatingWebhookConfiguration"),
        ),
        (&MUTATING_POLICIES, "a: b\n".to_owned(), file("Object 'Kind' is missing")),
        (
            &MUTATING_POLICIES,
            "apiVersion: v1\nkind: List\nother: 1\n".to_owned(),
            file("strict decoding error: unknown field \"other\""),
        ),
    ] {
        let refused = Directory::with(&[("f.yaml", &text)]).load(contents).expect_err(&expected);
        assert_eq!(refused, expected);
    }
    let refused = Directory::with(&[("f.yaml", &nested)]).load(&MUTATING_POLICIES).expect_err("too deep");
    assert!(refused.ends_with("more than 8 lists are within each other"), "{refused}");
    let large = " ".repeat(usize::try_from(MAX_DIRECTORY_BYTES).expect("it fits") + 1);
    let refused = Directory::with(&[("f.yaml", &large)]).load(&MUTATING_POLICIES).expect_err("too large");
    assert!(refused.ends_with("the files of the directory have more than 16777216 bytes"), "{refused}");
}

#[test]
fn documents_end_at_separators() {
    for (text, expected) in [
        ("", vec![]),
        ("# only a comment\n---\n\n---\n", vec![]),
        ("a: 1", vec!["a: 1"]),
        ("a: 1\n---  \nb: '---'\n", vec!["a: 1\n", "b: '---'\n"]),
    ] {
        assert_eq!(documents(text), expected, "{text:?}");
    }
}
