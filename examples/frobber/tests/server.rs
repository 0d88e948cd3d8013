//! The server of frobbers, asked over HTTP.
//! Guarantees that what the group promises holds for every version and every kind of write.
//! Must never let time decide: every request is answered before the next is sent.

use frobber::admission::Approval;
use frobber::{gates, resource};
use pintle_auth::authentication;
use pintle_schema::Gate;
use pintle_server::{AuthenticatedUsers, Builder, Serving};
use pintle_storage::{MemoryStore, Store};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const V6: &str = "apis/fun.example.com/v6/namespaces/default/frobbers";
const V7: &str = "apis/fun.example.com/v7beta1/namespaces/default/frobbers";

struct Frobbers {
    server: Serving,
    client: reqwest::Client,
}

impl Frobbers {
    async fn start(gates: &[&'static Gate]) -> Self {
        Frobbers::over(Arc::new(MemoryStore::new()), gates, None).await
    }

    async fn over(store: Arc<dyn Store>, gates: &[&'static Gate], approval: Option<&str>) -> Self {
        let mut builder = Builder::new(store);
        builder.add_group(resource::group());
        let anonymous = authentication::AnonymousAccess::everywhere(true);
        builder.set_anonymous(authentication::CurrentAnonymousAccess::new(anonymous));
        builder.add_authorizer(AuthenticatedUsers::named());
        builder.add_authenticator(Arc::new(users()));
        for gate in gates {
            builder.feature_gate(gate, true);
        }
        if let Some(url) = approval {
            builder.add_admission_plugin(Arc::new(Approval::new(url).expect("a URL")));
        }
        let socket = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        builder.listen(socket, None);
        Frobbers { server: builder.start().await.expect("a server"), client: reqwest::Client::new() }
    }

    async fn ask(&self, method: &str, path: &str, content_type: &str, body: Value) -> (u16, Value) {
        let url = format!("http://{}/{path}", self.server.addresses()[0]);
        let method = method.parse().expect("a method");
        let request = self.client.request(method, url).bearer_auth("token").header("content-type", content_type);
        let answer = request.body(body.to_string()).send().await.expect("an answer");
        let code = answer.status().as_u16();
        (code, serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON"))
    }

    async fn create(&self, path: &str, name: &str, spec: Value) -> (u16, Value) {
        self.ask("POST", path, "application/json", json!({"metadata": {"name": name}, "spec": spec})).await
    }

    async fn merge(&self, path: &str, spec: Value) -> (u16, Value) {
        self.ask("PATCH", path, "application/merge-patch+json", json!({"spec": spec})).await
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "", Value::Null).await.1
    }
}

fn users() -> authentication::TokenFile {
    authentication::TokenFile::parse("token,tester,1").expect("a token file")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_singular_and_the_plural_agree() {
    let server = Frobbers::start(&[]).await;
    let (code, made) = server.create(V6, "a", json!({"param": "x"})).await;
    assert_eq!((code, &made["spec"]["params"], &made["spec"]["height"]), (201, &json!(["x"]), &json!(1)), "{made}");
    for spec in [json!({"param": "x", "params": ["y"]}), json!({"params": ["y"]}), json!({})] {
        let (code, status) = server.create(V6, "b", spec.clone()).await;
        assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("spec.param")), "{spec}: {status}");
    }
    let both = |spec: &Value| (spec["param"].clone(), spec["params"].clone());
    // Each change, and what it makes of both fields.
    let rows = [
        (json!({"params": ["x", "y"]}), (json!("x"), json!(["x", "y"]))),
        (json!({"params": null}), (json!("x"), json!(["x", "y"]))),
        (json!({"param": "z"}), (json!("z"), json!(["z"]))),
        (json!({"param": "q", "params": ["q", "r"]}), (json!("q"), json!(["q", "r"]))),
        (json!({"param": null}), (Value::Null, Value::Null)),
        (json!({"height": 2}), (Value::Null, Value::Null)),
        (json!({"param": "s"}), (json!("s"), json!(["s"]))),
    ];
    for (change, wanted) in rows {
        let (code, changed) = server.merge(&format!("{V6}/a"), change.clone()).await;
        assert_eq!((code, both(&changed["spec"])), (200, wanted), "{change}: {changed}");
    }
    for change in [json!({"param": null, "params": null}), json!({"param": "t", "params": ["u"]})] {
        assert_eq!(server.merge(&format!("{V6}/a"), change.clone()).await.0, 422, "{change}");
    }
    server.server.stop().await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_convert_and_lose_nothing() {
    let server = Frobbers::start(&[]).await;
    let spec = json!({"heightInInches": 5, "params": ["x", "y"], "restartPolicy": "Never", "replicas": 2});
    let (code, made) = server.create(V7, "a", spec.clone()).await;
    assert_eq!((code, &made["spec"]), (201, &spec), "{made}");
    let stored = server.get(&format!("{V6}/a")).await;
    let of_v6 = json!({"height": 5, "param": "x", "params": ["x", "y"], "restartPolicy": "Never", "replicas": 2});
    assert_eq!(stored["spec"], of_v6);
    let owned = &made["metadata"]["managedFields"][0];
    assert_eq!(owned["apiVersion"], "fun.example.com/v7beta1");
    assert!(owned["fieldsV1"]["f:spec"]["f:heightInInches"].is_object(), "{owned}");
    let (code, scaled) = server.merge(&format!("{V7}/a/scale"), json!({"replicas": 4})).await;
    assert_eq!((code, &scaled["kind"], &scaled["spec"]["replicas"]), (200, &json!("Scale"), &json!(4)));
    assert_eq!(server.get(&format!("{V7}/a")).await["spec"]["replicas"], 4);
    let (code, dry) = server
        .ask("PATCH", &format!("{V7}/a?dryRun=All"), "application/merge-patch+json", json!({"spec": {"params": ["z"]}}))
        .await;
    assert_eq!((code, &dry["spec"]["params"]), (200, &json!(["z"])));
    assert_eq!(server.get(&format!("{V6}/a")).await["spec"]["param"], "x", "a dry run stores nothing");
    server.server.stop().await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_the_gates_off_keeps_what_it_does_not_know() {
    let directory = std::env::temp_dir().join(format!("frobber-{}", std::process::id()));
    let open = || {
        let store = pintle_storage::EmbeddedStore::open(&directory, pintle_storage::EmbeddedOptions::default());
        Arc::new(store.expect("a store"))
    };
    let server = Frobbers::over(open(), gates::ALL, None).await;
    let alpha = json!({"param": "x", "width": 3, "restartPolicy": "OnTuesday"});
    assert_eq!(server.create(V6, "a", alpha.clone()).await.1["spec"]["width"], 3);
    server.server.stop().await.expect("it stops");
    let server = Frobbers::over(open(), &[], None).await;
    let (code, refused) = server.create(V6, "b", alpha).await;
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(code == 422 && message.contains("only allowed if"), "{refused}");
    let (_, made) = server.create(V6, "c", json!({"param": "x", "width": 3})).await;
    assert_eq!(made["spec"]["width"], Value::Null, "{made}");
    let (code, kept) = server.merge(&format!("{V6}/a"), json!({"height": 7, "width": 4})).await;
    assert_eq!((code, &kept["spec"]["width"]), (200, &json!(4)), "it was in use: {kept}");
    assert_eq!(kept["spec"]["restartPolicy"], "OnTuesday");
    server.server.stop().await.expect("it stops");
    std::fs::remove_dir_all(directory).expect("the store is removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_approves_frobbers() {
    let service = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("http://{}/", service.local_addr().expect("an address"));
    let answering = tokio::spawn(async move {
        while let Ok((mut connection, _)) = service.accept().await {
            let mut request = vec![0; 4096];
            let read = connection.read(&mut request).await.unwrap_or(0);
            let refuses = String::from_utf8_lossy(&request[..read]).contains("param=bad");
            let (line, text) = if refuses { ("403 Forbidden", "bad is bad") } else { ("200 OK", "") };
            let answer =
                format!("HTTP/1.1 {line}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len());
            let _ = connection.write_all(answer.as_bytes()).await;
        }
    });
    let server = Frobbers::over(Arc::new(MemoryStore::new()), &[], Some(&url)).await;
    assert_eq!(server.create(V6, "a", json!({"param": "good"})).await.0, 201);
    let (code, refused) = server.create(V6, "b", json!({"param": "bad"})).await;
    assert_eq!((code, &refused["message"]), (403, &json!("frobbers.fun.example.com \"b\" is forbidden: bad is bad")));
    answering.abort();
    let _ = answering.await;
    let (code, refused) = server.create(V6, "c", json!({"param": "good"})).await;
    assert_eq!(code, 403, "a service that is gone approves nothing: {refused}");
    server.server.stop().await.expect("it stops");
}
