//! A group of one's own in a server with the built-in groups.
//! Guarantees that both are served by one discovery, one authorization and one store, with every version and subresource.
//! Must never depend on the store: it runs on etcd, too.

use crate::common::http::Answered;
use crate::common::http::Endpoint;
use crate::common::stores;
use pintle::{Builder, Mode};
use pintle_auth::authentication::TokenFile;
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;

const USERS: &str = "admin-token,admin,1,system:masters\njane-token,jane,2";
const FROBBERS: &str = "/apis/fun.example.com/v6/namespaces/default/frobbers";

#[test]
fn a_group_of_ones_own_is_served_beside_the_built_in_ones() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let (server, _etcd) = runtime.block_on(async {
        let (store, etcd) = stores::store().expect("a store");
        let mut builder = Builder::new(store);
        builder.generic().add_group(frobber::resource::group());
        builder.generic().add_authenticator(Arc::new(TokenFile::parse(USERS).expect("users")));
        builder.authorize_by(&[Mode::Rbac]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        (builder.start(listener).await.expect("a server"), etcd)
    });
    let of = |token: &str| Endpoint { address: server.address(), tls: None, token: Some(token.to_owned()) }.client();
    let (mut admin, mut jane) = (of("admin-token"), of("jane-token"));

    let groups = admin.get("/apis").expect_status(200);
    let names: Vec<_> = groups["groups"].as_array().into_iter().flatten().map(|group| &group["name"]).collect();
    assert!(names.contains(&&json!("apps")) && names.contains(&&json!("fun.example.com")), "{names:?}");

    let frobber = json!({"metadata": {"name": "a"}, "spec": {"param": "x"}});
    jane.post(FROBBERS, &frobber).expect_status(403);
    let role = json!({
        "metadata": {"name": "frobs"},
        "rules": [{"apiGroups": ["fun.example.com"], "resources": ["frobbers"], "verbs": ["create", "get"]}],
    });
    let binding = json!({
        "metadata": {"name": "frobs"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "frobs"},
        "subjects": [{"kind": "User", "name": "jane"}],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    admin.post(&format!("{rbac}/roles"), &role).expect_status(201);
    admin.post(&format!("{rbac}/rolebindings"), &binding).expect_status(201);
    crate::common::wait_for("the role", || jane.post(FROBBERS, &frobber).ok().filter(|answer| answer.status == 201));

    let read = jane.get("/apis/fun.example.com/v7beta1/namespaces/default/frobbers/a").expect_status(200);
    assert_eq!((&read["spec"]["heightInInches"], &read["spec"]["params"]), (&json!(1), &json!(["x"])), "{read}");
    let scale = admin.get(&format!("{FROBBERS}/a/scale")).expect_status(200);
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)), "{scale}");
    runtime.block_on(server.stop()).expect("a good end");
}
