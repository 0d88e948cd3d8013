//! Custom resources while the conversion webhook of their definition fails. Guarantees that what needs no conversion goes on, and that
//! what waits for one says so. Must never depend on when a server tries again: the webhook fails until the test lets it respond.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::{Client, MERGE_PATCH};
use crate::common::wait_for;
use bytes::Bytes;
use http::{Response, StatusCode};
use pintle_webhook::InProcess;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bolts.shop.example.com";
const APPLY: &str = "application/apply-patch+yaml";

/// A webhook that gives objects the version that is asked for, or fails.
#[derive(Clone, Default)]
struct Webhook {
    fails: Arc<AtomicBool>,
    failures: Arc<AtomicUsize>,
}

impl Webhook {
    fn serve(&self) -> InProcess {
        let webhook = self.clone();
        InProcess::new(move |request| {
            let mut answer = Response::new(converted(request.body()));
            if webhook.fails.load(Ordering::SeqCst) {
                webhook.failures.fetch_add(1, Ordering::SeqCst);
                // The same each time, as errors show it.
                answer = Response::new(Bytes::from_static(b"out of order"));
                *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            }
            async move { answer }
        })
    }

    fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }
}

fn converted(review: &[u8]) -> Bytes {
    let review: Value = serde_json::from_slice(review).unwrap_or_default();
    let request = &review["request"];
    let mut objects = request["objects"].as_array().cloned().unwrap_or_default();
    objects.iter_mut().for_each(|object| object["apiVersion"] = request["desiredAPIVersion"].clone());
    let response = json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects});
    let answer = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response});
    Bytes::from(answer.to_string())
}

fn versions(stored: &str) -> Value {
    let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}, "head": {"type": "string"}}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!(["v1", "v2"].map(|name| json!({"name": name, "served": true, "storage": name == stored, "schema": schema})))
}

fn bolts(version: &str) -> String {
    format!("/apis/shop.example.com/{version}/bolts")
}

/// A server with bolts, which are stored as v1.
fn serve(webhook: &Webhook) -> (Fixture, Client) {
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| url = builder.webhooks().register("converts", webhook.serve()));
    let conversion = json!({"strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "bolts.shop.example.com"},
        "spec": {"group": "shop.example.com", "scope": "Cluster", "names": {"plural": "bolts", "kind": "Bolt"},
            "versions": versions("v1"), "conversion": conversion}});
    let mut client = fixture.client();
    client.post(DEFINITIONS, &definition).expect_status(201);
    wait_for("the resource", || (client.get(&bolts("v1")).answer().status == 200).then_some(()));
    (fixture, client)
}

/// The managers of an object, with their versions and the names of their fields in `spec`.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let of = |entry: &Value| {
        let fields = entry["fieldsV1"]["f:spec"].as_object().into_iter().flatten();
        let fields: Vec<&str> =
            fields.map(|(name, _)| name.trim_start_matches("f:")).filter(|name| *name != ".").collect();
        let version = entry["apiVersion"].as_str().unwrap_or_default().trim_start_matches("shop.example.com/");
        format!("{} {version} {}", entry["manager"].as_str().unwrap_or_default(), fields.join(","))
    };
    entries.iter().map(of).collect()
}

#[test]
fn writes_of_the_stored_version_go_on_and_keep_the_managers_of_others() {
    let webhook = Webhook::default();
    let (_fixture, mut client) = serve(&webhook);
    let other = bolts("v2");
    let applied = json!({"apiVersion": "shop.example.com/v2", "kind": "Bolt", "metadata": {"name": "a"},
        "spec": {"size": 1}});
    let apply =
        |client: &mut Client, path: String| client.send("PATCH", &path, APPLY, applied.to_string().as_bytes()).answer();
    apply(&mut client, format!("{other}/a?fieldManager=two")).expect(201);
    let path = format!("{}/a", bolts("v1"));
    webhook.fail(true);
    let patch = |client: &mut Client, patch: Value| {
        let path = format!("{path}?fieldManager=one");
        client.send("PATCH", &path, MERGE_PATCH, patch.to_string().as_bytes()).answer()
    };
    let labeled = patch(&mut client, json!({"metadata": {"labels": {"a": "b"}}})).expect(200);
    assert_eq!(managers(&labeled), ["two v2 size", "one v1 "]);
    let mut sent = patch(&mut client, json!({"metadata": {"finalizers": ["example.com/hold"]}})).expect(200);
    sent["spec"]["head"] = json!("hex");
    let put = client.put(&format!("{path}?fieldManager=one"), &sent).expect_status(200);
    assert_eq!(
        (&put["spec"], managers(&put)),
        (&json!({"head": "hex", "size": 1}), vec!["two v2 size".to_owned(), "one v1 head".to_owned()])
    );
    // Nobody can tell conflicts.
    let refused = apply(&mut client, format!("{path}?fieldManager=three")).status;
    assert_eq!(refused, 400, "of another version");
    let of_stored = applied.to_string().replace("example.com/v2", "example.com/v1");
    let refused = client.send("PATCH", &format!("{path}?fieldManager=three"), APPLY, of_stored.as_bytes());
    let refused = refused.expect_status(500);
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("conversion webhook for shop.example.com/v1, Kind=Bolt failed: "), "{message}");
    // When it responds again, fields have one owner as before.
    webhook.fail(false);
    let changed = patch(&mut client, json!({"spec": {"size": 2}})).expect(200);
    assert_eq!(managers(&changed), ["one v1 head,size"]);
    webhook.fail(true);
    client.delete(&path).expect_status(200);
    patch(&mut client, json!({"metadata": {"finalizers": null}})).expect(200);
    client.get(&path).expect_status(404);
}

#[test]
fn a_definition_says_why_its_objects_cannot_be_deleted() {
    let webhook = Webhook::default();
    let (_fixture, mut client) = serve(&webhook);
    let object = json!({"apiVersion": "shop.example.com/v1", "kind": "Bolt", "metadata": {"name": "a"},
        "spec": {"size": 1}});
    client.post(&bolts("v1"), &object).expect_status(201);
    let moved = json!({"spec": {"versions": versions("v2")}}).to_string();
    client.send("PATCH", DEFINITION, MERGE_PATCH, moved.as_bytes()).expect_status(200);
    webhook.fail(true);
    client.delete(DEFINITION).expect_status(200);
    let terminating = |client: &mut Client| {
        let found = client.get(DEFINITION).expect_status(200);
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let condition = conditions.into_iter().find(|condition| condition["type"] == "Terminating");
        (condition.unwrap_or_default(), found["metadata"]["resourceVersion"].clone())
    };
    let (failed, _) = wait_for("the failure", || {
        Some(terminating(&mut client)).filter(|(condition, _)| condition["reason"] == "InstanceDeletionFailed")
    });
    assert_eq!(failed["status"], "True");
    let message = failed["message"].as_str().unwrap_or_default();
    let wanted = "could not list instances: conversion webhook for shop.example.com/v1, Kind=Bolt failed: ";
    assert!(message.starts_with(wanted), "{message}");
    // It is tried again, and the same failure is noted once.
    let (noted, tries) = (terminating(&mut client), webhook.failures.load(Ordering::SeqCst));
    wait_for("another try", || (webhook.failures.load(Ordering::SeqCst) > tries).then_some(()));
    assert_eq!(terminating(&mut client), noted);
    webhook.fail(false);
    wait_for("its end", || (client.get(DEFINITION).answer().status == 404).then_some(()));
}
