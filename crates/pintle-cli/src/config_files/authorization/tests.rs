use super::*;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n";

fn faults(authorizers: &str) -> String {
    let text = format!("{HEAD}authorizers: {authorizers}\n");
    match config_files::decode(text.as_bytes(), &VERSIONS, "AuthorizationConfiguration") {
        Ok(configuration) => validate::configuration(&configuration).summary(),
        Err(error) => error,
    }
}

#[test]
fn faults_of_authorizers() {
    let webhook = |more: &str| format!("[{{type: Webhook, name: w, webhook: {{timeout: 3s, {more}}}}}]");
    let rest = "subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /dev/null}";
    let rows = [
        ("[]".to_owned(), "authorizers: Required value: at least one authorization mode must be defined"),
        ("[{type: RBAC, name: a}, {type: RBAC, name: b}]".to_owned(), "authorizers[1].type: Duplicate value: \"RBAC\""),
        ("[{type: RBAC, name: a}, {type: Node, name: a}]".to_owned(), "authorizers[1].name: Duplicate value: \"a\""),
        (
            "[{type: Roles, name: a}]".to_owned(),
            "authorizers[0].type: Unsupported value: \"Roles\": supported values: \"ABAC\", \"AlwaysAllow\", \"AlwaysDeny\", \
             \"Node\", \"RBAC\", \"Webhook\"",
        ),
        ("[{type: Webhook, name: a}]".to_owned(), "authorizers[0].webhook: Required value: required when type=Webhook"),
        (
            webhook(&rest.replace("/dev/null", "here")),
            "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"here\": must be an absolute path",
        ),
        (
            webhook(rest),
            "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/dev/null\": must be a regular file",
        ),
        (
            webhook(&rest.replace("/dev/null", "/dev/null-and-void")),
            "authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/dev/null-and-void\": error loading file: stat \
             /dev/null-and-void: no such file or directory",
        ),
        (
            webhook(&rest.replace("type: KubeConfigFile, kubeConfigFile: /dev/null", "type: x")),
            "authorizers[0].connectionInfo.type: Unsupported value: {\"Type\":\"x\",\"KubeConfigFile\":null}: supported values: \
             \"InClusterConfig\", \"KubeConfigFile\"",
        ),
        (
            "[{type: x, name: a}, {type: RBAC, name: a}]".to_owned(),
            "authorizers[0].type: Unsupported value: \"x\": supported values: \"ABAC\", \"AlwaysAllow\", \"AlwaysDeny\", \
             \"Node\", \"RBAC\", \"Webhook\"",
        ),
        (
            webhook(&format!(
                "{}, authorizedTTL: -1s, matchConditions: [{{expression: ' '}}]",
                rest.replace("type: KubeConfigFile, ", "")
            )),
            "[authorizers[0].authorizedTTL: Invalid value: \"-1s\": must be > 0s, \
             authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are \
             specified, authorizers[0].connectionInfo.type: Required value, \
             authorizers[0].matchConditions[0].expression: Required value]",
        ),
    ];
    for (authorizers, expected) in rows {
        assert_eq!(faults(&authorizers), expected, "{authorizers}");
    }
}
