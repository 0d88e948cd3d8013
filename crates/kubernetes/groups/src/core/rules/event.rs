//! Rules of events, which depend on the version of the request.
//!
//! In old versions metadata is not validated, and an update may change every field.

use crate::rules::internal_form::in_full;
use crate::rules::{immutable, invalid_each};
use pintle_schema::{FieldName, Value, View, names};
use pintle_types::core::v1::{Event, EventSeries, EventSource, ObjectReference};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext, metadata as general};

const MAX_MESSAGE: usize = 1024;
const MAX_OTHER_TEXT: usize = 128;

fn is_old_version(cx: &ValidationContext<'_>) -> bool {
    matches!(cx.request.api_version, "v1" | "events.k8s.io/v1beta1")
}

fn metadata<'a>(event: View<'a, Event>) -> &'a Value {
    event.field(Event::METADATA).value()
}

/// A new event.
pub fn create(event: At<'_, Event>, cx: &mut ValidationContext<'_>) {
    by_old_rules(event, cx);
    if is_old_version(cx) {
        return;
    }
    let request = cx.request;
    general::validate_create(metadata(event.new), request.namespaced, request.name_check, &mut cx.errors);
    general::validate_kube_finalizers(metadata(event.new), &mut cx.errors);
    series(event, cx);
    if !is_timed(event.new) {
        cx.errors.required(event.path.to(Event::EVENT_TIME), "");
    }
    let kind = event.new.field(Event::TYPE).as_str();
    if !matches!(kind, "Normal" | "Warning") {
        cx.errors.invalid(event.path.to(Event::TYPE), "", format!("has invalid value: {kind}"));
    }
    unset(event, Event::FIRST_TIMESTAMP, cx);
    unset(event, Event::LAST_TIMESTAMP, cx);
    unset(event, Event::COUNT, cx);
    event.field(Event::SOURCE, |source| {
        let texts = [source.new.field(EventSource::COMPONENT), source.new.field(EventSource::HOST)];
        if texts.iter().any(|text| !text.as_str().is_empty()) {
            cx.errors.invalid(source.path, "", "needs to be unset");
        }
    });
}

/// An event that replaces another: only its series goes on.
pub fn update(event: At<'_, Event>, cx: &mut ValidationContext<'_>) {
    by_old_rules(event, cx);
    let Some(old) = event.old.filter(|_| !is_old_version(cx)) else { return };
    general::validate_update(metadata(event.new), metadata(old), &mut cx.errors);
    general::validate_kube_finalizers(metadata(event.new), &mut cx.errors);
    if event.field(Event::SERIES, has_changed) {
        series(event, cx);
    }
    event.field(Event::INVOLVED_OBJECT, |field| immutable(field, cx));
    event.field(Event::REASON, |field| immutable_text(field, cx));
    event.field(Event::MESSAGE, |field| immutable_text(field, cx));
    event.field(Event::SOURCE, |field| immutable(field, cx));
    event.field(Event::FIRST_TIMESTAMP, |field| immutable(field, cx));
    event.field(Event::LAST_TIMESTAMP, |field| immutable(field, cx));
    event.field(Event::COUNT, |field| immutable(field, cx));
    // kube-apiserver validates it twice.
    event.field(Event::REASON, |field| immutable_text(field, cx));
    event.field(Event::TYPE, |field| immutable_text(field, cx));
    event.field(Event::EVENT_TIME, |field| immutable(field, cx));
    event.field(Event::ACTION, |field| immutable_text(field, cx));
    event.field(Event::RELATED, |field| {
        if has_changed(field) {
            cx.errors.immutable(field.path, in_full(field.new));
        }
    });
    event.field(Event::REPORTING_COMPONENT, |field| {
        immutable_text(At { path: &event.path.child("reportingController"), ..field }, cx);
    });
    event.field(Event::REPORTING_INSTANCE, |field| immutable_text(field, cx));
}

/// Whether an update makes another of it. Empty is another than none.
fn has_changed<T>(field: At<'_, Option<T>>) -> bool {
    !field.unchanged() || field.old.is_some_and(|old| old.is_set() != field.new.is_set())
}

fn immutable_text(field: At<'_, String>, cx: &mut ValidationContext<'_>) {
    if field.old.is_some_and(|old| old.as_str() != field.new.as_str()) {
        cx.errors.immutable(field.path, field.new.as_str());
    }
}

fn unset<F>(event: At<'_, Event>, field: FieldName<Event, F>, cx: &mut ValidationContext<'_>) {
    if !event.new.field(field).value().is_zero() {
        cx.errors.invalid(event.path.to(field), "", "needs to be unset");
    }
}

fn is_timed(event: View<'_, Event>) -> bool {
    !event.field(Event::EVENT_TIME).value().is_zero()
}

/// A series has a second event, and a time of the last one.
fn series(event: At<'_, Event>, cx: &mut ValidationContext<'_>) {
    event.field(Event::SERIES, |series| {
        let Some(series) = series.some() else { return };
        if series.new.field(EventSeries::COUNT).get() < 2 {
            cx.errors.invalid(series.path.to(EventSeries::COUNT), "", "should be at least 2");
        }
        if series.new.field(EventSeries::LAST_OBSERVED_TIME).value().is_zero() {
            cx.errors.required(series.path.to(EventSeries::LAST_OBSERVED_TIME), "");
        }
    });
}

/// Rules of all versions: an event is in the namespace of its object, and with an event time it names the reporter.
fn by_old_rules(event: At<'_, Event>, cx: &mut ValidationContext<'_>) {
    let namespace = event.new.field(Event::METADATA).field(ObjectMeta::NAMESPACE).as_str();
    let object = event.new.field(Event::INVOLVED_OBJECT).field(ObjectReference::NAMESPACE).as_str();
    let is_timed = is_timed(event.new);
    // Events about objects without a namespace are kept in one that every cluster has.
    let is_remote = match (is_timed, object.is_empty()) {
        (false, true) => !matches!(namespace, "" | "default"),
        (false, false) => namespace != object,
        (true, true) => !matches!(namespace, "default" | "kube-system"),
        (true, false) => false,
    };
    if is_remote {
        let path = event.path.to(Event::INVOLVED_OBJECT);
        cx.errors.invalid(path.to(ObjectReference::NAMESPACE), object, "does not match event.namespace");
    }
    if is_timed {
        reporter(event, cx);
    }
    invalid_each(namespace, names::dns1123_subdomain(namespace), &event.path.child("namespace"), cx);
}

fn reporter(event: At<'_, Event>, cx: &mut ValidationContext<'_>) {
    let name = if cx.request.api_version == "v1" { "reportingComponent" } else { "reportingController" };
    let reporter = event.new.field(Event::REPORTING_COMPONENT).as_str();
    let path = event.path.child(name);
    if reporter.is_empty() {
        cx.errors.required(path, "");
    }
    invalid_each(reporter, names::label_key(reporter), &path, cx);
    for field in [Event::REPORTING_INSTANCE, Event::ACTION, Event::REASON] {
        let text = event.new.field(field).as_str();
        if text.is_empty() {
            cx.errors.required(event.path.to(field), "");
        }
        bounded(text, MAX_OTHER_TEXT, event, field, cx);
    }
    bounded(event.new.field(Event::MESSAGE).as_str(), MAX_MESSAGE, event, Event::MESSAGE, cx);
}

fn bounded(
    text: &str,
    most: usize,
    event: At<'_, Event>,
    field: FieldName<Event, String>,
    cx: &mut ValidationContext<'_>,
) {
    if text.len() > most {
        cx.errors.invalid(event.path.to(field), "", format!("can have at most {most} characters"));
    }
}
