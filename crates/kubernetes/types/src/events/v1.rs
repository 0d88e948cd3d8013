//! Types of `events.k8s.io/v1`: reports about what happens in a cluster.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, MicroTime, Time};

use crate::core::v1::{EventSource, ObjectReference};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Report of something that happened to an object in the cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "events.k8s.io", plural = "events", short_names("ev"), namespaced))]
pub struct Event {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional, always)]
    pub metadata: ObjectMeta,
    /// Moment at which the event was first seen.
    #[k8s(proto = 2, always)]
    pub event_time: MicroTime,
    /// Repetition data when the same event occurs again and again.
    #[k8s(proto = 3, optional)]
    pub series: Option<EventSeries>,
    /// Controller that sent the event, such as kubernetes.io/kubelet.
    #[k8s(proto = 4)]
    pub reporting_controller: String,
    /// Particular instance of the controller, for example its host name.
    #[k8s(proto = 5)]
    pub reporting_instance: String,
    /// What the controller did or failed to do, as one short word.
    #[k8s(proto = 6)]
    pub action: String,
    /// Short CamelCase word telling why the action took place.
    #[k8s(proto = 7)]
    pub reason: String,
    /// Object this event is about.
    #[k8s(proto = 8, optional)]
    pub regarding: ObjectReference,
    /// Second object involved in the action, if any.
    #[k8s(proto = 9, optional)]
    pub related: Option<ObjectReference>,
    /// Explanation for people, up to 1 kB.
    #[k8s(proto = 10, optional)]
    pub note: String,
    /// Severity class, Normal or Warning; more may be added.
    #[k8s(proto = 11)]
    pub r#type: String,
    /// Sender as recorded by the old core event format.
    #[k8s(proto = 12, optional)]
    pub deprecated_source: EventSource,
    /// First occurrence as recorded by the old core event format.
    #[k8s(proto = 13, optional)]
    pub deprecated_first_timestamp: Time,
    /// Latest occurrence as recorded by the old core event format.
    #[k8s(proto = 14, optional)]
    pub deprecated_last_timestamp: Time,
    /// Number of occurrences as recorded by the old core event format.
    #[k8s(proto = 15, optional)]
    pub deprecated_count: i32,
}

/// Tracks repetitions of one ongoing event.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EventSeries {
    /// Occurrences seen so far, up to the last heartbeat.
    #[k8s(proto = 1, always)]
    pub count: i32,
    /// When the most recent occurrence was seen.
    #[k8s(proto = 2, always)]
    pub last_observed_time: MicroTime,
}

/// Collection of events.
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
