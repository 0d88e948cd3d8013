//! Types of `v1`: events.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, MicroTime, Time};

use super::ObjectReference;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Where an event was noticed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EventSource {
    /// Component that reported the event.
    #[k8s(proto = 1, optional)]
    pub component: String,
    /// Node on which the event happened.
    #[k8s(proto = 2, optional)]
    pub host: String,
}

/// Reports something that happened to an object. Events are kept for a limited time and serve as
/// information only.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "events", short_names("ev"), namespaced))]
pub struct Event {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, always)]
    pub metadata: ObjectMeta,
    /// Object that the event is about.
    #[k8s(proto = 2, always)]
    pub involved_object: ObjectReference,
    /// One-word, machine-readable cause, such as "FailedScheduling".
    #[k8s(proto = 3, optional)]
    pub reason: String,
    /// Explanation for people to read.
    #[k8s(proto = 4, optional)]
    pub message: String,
    /// Component that reported the event.
    #[k8s(proto = 5, optional)]
    pub source: EventSource,
    /// When the event was first noticed.
    #[k8s(proto = 6, optional)]
    pub first_timestamp: Time,
    /// When the event was most recently noticed.
    #[k8s(proto = 7, optional)]
    pub last_timestamp: Time,
    /// How many times the event has happened.
    #[k8s(proto = 8, optional)]
    pub count: i32,
    /// Kind of event: "Normal" or "Warning"; more kinds may be added.
    #[k8s(proto = 9, optional)]
    pub r#type: String,
    /// When the event was first noticed, to the microsecond; set by newer reporters.
    #[k8s(proto = 10, optional)]
    pub event_time: MicroTime,
    /// Repetition of the event; absent if it happened only once.
    #[k8s(proto = 11, optional)]
    pub series: Option<EventSeries>,
    /// What was attempted or done to the object, in one word.
    #[k8s(proto = 12, optional)]
    pub action: String,
    /// Second object involved, for events concerning two.
    #[k8s(proto = 13, optional)]
    pub related: Option<ObjectReference>,
    /// Controller that reported the event, such as "example.com/controller".
    #[k8s(proto = 14, optional, always)]
    pub reporting_component: String,
    /// Instance of the reporting controller, such as its pod name.
    #[k8s(proto = 15, optional, always)]
    pub reporting_instance: String,
}

/// Tells how often an event was repeated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 3, name = "state"))]
pub struct EventSeries {
    /// Number of occurrences so far.
    #[k8s(proto = 1)]
    pub count: i32,
    /// When the event was most recently noticed.
    #[k8s(proto = 2)]
    pub last_observed_time: MicroTime,
}

/// A list of Events.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EventList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Event objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Event>,
}
