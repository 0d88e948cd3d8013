//! Repairs the allocations of services (addresses and node ports) while the server runs, and reports repairs as events.
//! Guarantees that no request waits for it, that only completed repairs are reported, and that an inconsistency that only a
//! user can fix is reported once.
//! Must never allocate addresses or ports.

use crate::clock::now;
use pintle_registry::environment::new_uid;
use pintle_registry::{Registry, Result, Status, WriteOptions};
use pintle_schema::{ApiValue, Time, names};
use pintle_services::{Allocators, Finding, InLine, Repair};
use pintle_storage::{CommitError, Transaction};
use pintle_types::core::v1::{Event, ObjectReference};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The namespace of events about cluster-scoped objects.
const NAMESPACE: &str = "default";

/// The reporting controllers for addresses and for node ports.
const OF_ADDRESSES: &str = "ipallocator-repair-controller";
const OF_PORTS: &str = "portallocator-repair-controller";

/// The repairs of one server, with their state between runs.
pub struct Repairs {
    registry: Arc<Registry>,
    allocators: Arc<Allocators>,
    host: String,
    in_line: Option<InLine>,
    /// Node ports that were allocated without an owner at the last check.
    suspects: BTreeSet<u16>,
    /// The inconsistencies that have been reported, by service and message.
    reported_addresses: Reported,
    reported_ports: Reported,
}

type Reported = HashSet<(String, String)>;

impl Repairs {
    pub fn new(registry: Arc<Registry>, allocators: Arc<Allocators>, host: String) -> Repairs {
        let reported = Reported::default;
        let suspects = BTreeSet::new();
        Repairs {
            registry,
            allocators,
            host,
            in_line: None,
            suspects,
            reported_addresses: reported(),
            reported_ports: reported(),
        }
    }

    /// Repairs addresses. A failure is retried the next time.
    pub async fn addresses(&mut self) {
        let in_line = self.in_line.take();
        if let Ok(in_line) = self.try_addresses(in_line).await {
            self.in_line = in_line;
        }
    }

    async fn try_addresses(&mut self, in_line: Option<InLine>) -> Result<Option<InLine>> {
        let (registry, allocators) = (self.registry.clone(), self.allocators.clone());
        let looked = tokio::task::spawn_blocking(move || allocators.of(&registry).address_repairs(in_line)).await;
        let (repairs, in_line) = looked.map_err(Status::internal)??;
        let mut reported = Reported::default();
        for repair in repairs {
            let is_done = carry_out(&self.registry, &repair).await?;
            let Some(finding) = repair.finding.filter(|_| is_done) else { continue };
            if !repair.writes.is_empty() || is_new(&finding, &self.reported_addresses, &mut reported) {
                // Events are best effort.
                let _ = self.report(OF_ADDRESSES, finding).await;
            }
        }
        self.reported_addresses = reported;
        Ok(in_line)
    }

    /// Repairs node ports.
    ///
    /// # Errors
    /// The store fails, or a service cannot be decoded.
    pub async fn node_ports(&mut self) -> Result<()> {
        let (registry, allocators) = (self.registry.clone(), self.allocators.clone());
        let findings = tokio::task::spawn_blocking(move || allocators.of(&registry).node_port_findings()).await;
        let mut reported = Reported::default();
        for finding in findings.map_err(Status::internal)?? {
            if is_new(&finding, &self.reported_ports, &mut reported) {
                let _ = self.report(OF_PORTS, finding).await;
            }
        }
        self.reported_ports = reported;
        let suspects = std::mem::take(&mut self.suspects);
        self.suspects = self.allocators.of(&self.registry).repair_node_ports(&suspects).await?;
        Ok(())
    }

    async fn report(&self, reporter: &'static str, finding: Finding) -> Result<()> {
        let registry = &self.registry;
        let of = |path: &[&str]| finding.regarding.str_at(path).to_owned();
        let regarding = ObjectReference {
            kind: of(&["kind"]),
            namespace: of(&["metadata", "namespace"]),
            name: of(&["metadata", "name"]),
            uid: of(&["metadata", "uid"]),
            api_version: of(&["apiVersion"]),
            resource_version: of(&["metadata", "resourceVersion"]),
            ..ObjectReference::default()
        };
        let time = now();
        let named = match names::dns1123_subdomain(&regarding.name).is_empty() {
            true => regarding.name.clone(),
            false => new_uid(registry.environment.as_ref()),
        };
        let nanos = time.seconds.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(time.nanos.into());
        let namespace = if regarding.namespace.is_empty() { NAMESPACE } else { &regarding.namespace }.to_owned();
        let name = format!("{named}.{nanos:x}");
        let events = pintle_groups::find("", "v1", "events");
        let Some(target) = events.and_then(|events| registry.target(events, &namespace, &name)) else { return Ok(()) };
        let mut event = Event {
            type_meta: TypeMeta { kind: "Event".to_owned(), api_version: "v1".to_owned() },
            metadata: ObjectMeta { name, namespace, ..ObjectMeta::default() },
            involved_object: regarding,
            reason: finding.reason.to_owned(),
            message: finding.note,
            r#type: "Warning".to_owned(),
            action: finding.action.to_owned(),
            reporting_component: reporter.to_owned(),
            ..Event::default()
        };
        // As in kube-apiserver, only events about addresses use the newer events API.
        if reporter == OF_ADDRESSES {
            event.event_time = time;
            event.reporting_instance = format!("{reporter}-{}", self.host);
        } else {
            let time = Time { seconds: time.seconds, nanos: 0 };
            (event.first_timestamp, event.last_timestamp, event.count) = (time, time, 1);
            event.source.component = reporter.to_owned();
        }
        registry.create(&target, event.to_value(), &WriteOptions::of_server("kube-apiserver")).await.map(drop)
    }
}

/// Writes a repair; returns whether all of it was written by this server.
async fn carry_out(registry: &Registry, repair: &Repair) -> Result<bool> {
    for write in &repair.writes {
        match registry.store.commit(Transaction::of(vec![write.clone()])).await {
            Ok(_) => {}
            Err(CommitError::Conflict { .. }) => return Ok(false),
            Err(error) => return Err(Status::internal(error)),
        }
    }
    Ok(true)
}

/// Whether a finding has not been reported before; adds it to `reported`.
fn is_new(finding: &Finding, before: &Reported, reported: &mut Reported) -> bool {
    let what = (finding.regarding.str_at(&["metadata", "uid"]).to_owned(), finding.note.clone());
    let is_new = !before.contains(&what);
    reported.insert(what) && is_new
}
