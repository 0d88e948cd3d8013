//! Node ports if several servers allocate them: a bitmap in the store that changes with the services, in the same
//! transaction. Its format is kube-apiserver's, so that its servers can share the store.
//!
//! If two servers allocate ports at the same time, one gets a conflict and retries. A port in the map that no service
//! has is released after a grace period, because a server may be about to write the service.

use super::addresses::Finding;
use super::taken::Claim;
use super::{Allocation, Result, Status, claims_of_stored, claims_of_value};
use pintle_cache::encoded_object;
use pintle_codec::json;
use pintle_schema::{ApiType, ApiValue, Value, canonicalize};
use pintle_storage::{CommitError, Expect, Revision, Transaction, Write};
use pintle_types::core::v1::RangeAllocation;
use pintle_types::meta::v1::TypeMeta;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

const PREFIX: &str = "/registry/ranges/";
const KEY: &str = "/registry/ranges/servicenodeports";

/// The ports in the map, and the revision of the map.
#[derive(Default)]
pub struct PortMap {
    ports: BTreeSet<u16>,
    revision: Option<Revision>,
}

impl PortMap {
    pub fn contains(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    pub fn len(&self) -> usize {
        self.ports.len()
    }
}

impl Allocation<'_> {
    /// The stored port map; `None` if only this server allocates ports.
    pub(super) fn port_map(&self) -> Option<PortMap> {
        if !self.registry.is_shared() {
            return None;
        }
        let stored = self.registry.cache.resource(PREFIX).and_then(|cache| cache.get(KEY));
        let Some(stored) = stored else { return Some(PortMap::default()) };
        let value = json::decode_trusted(RangeAllocation::schema(), stored.encoded.json()).unwrap_or(Value::Null);
        let map = RangeAllocation::from_value(&value).unwrap_or_default();
        // A map of another range is replaced as a whole by the next change.
        let is_ours = map.range == range_text(&self.allocators.node_ports);
        let ports = if is_ours { ports(&map.data.0, &self.allocators.node_ports) } else { BTreeSet::new() };
        Some(PortMap { ports, revision: Some(stored.revision) })
    }

    /// The write that accompanies a service's change from `old` to `new`.
    pub(super) fn port_write(&self, new: Option<&Value>, old: Option<&Value>) -> Option<Write> {
        let ports = |object: Option<&Value>| object.map(node_ports).unwrap_or_default();
        let (new, old) = (ports(new), ports(old));
        if new == old {
            return None;
        }
        let mut map = self.port_map()?;
        map.ports.retain(|port| !old.contains(port));
        map.ports.extend(&new);
        Some(self.map_write(&map))
    }

    fn map_write(&self, map: &PortMap) -> Write {
        let mut value = RangeAllocation {
            type_meta: TypeMeta { kind: "RangeAllocation".to_owned(), api_version: "v1".to_owned() },
            range: range_text(&self.allocators.node_ports),
            data: pintle_schema::Bytes(bits(&map.ports, &self.allocators.node_ports)),
            ..RangeAllocation::default()
        }
        .to_value();
        canonicalize(RangeAllocation::schema(), &mut value);
        let record = encoded_object::encode(&value, &[]);
        Write::put(KEY.into(), map.revision.map_or(Expect::Absent, Expect::At), record)
    }

    /// Node ports of services that are duplicate, out of range or not allocated.
    ///
    /// # Errors
    /// A stored service cannot be decoded.
    pub fn node_port_findings(&self) -> Result<Vec<Finding>> {
        let Some(services) = self.services() else { return Ok(Vec::new()) };
        // The services first: a port is in the map before a service has it.
        let claimed = self.allocators.taken.of(&services.cache, &|object| claims_of_stored(object)).claimed();
        let (map, range) = (self.port_map(), &self.allocators.node_ports);
        let mut findings = Vec::new();
        let mut before = None;
        for (port, key) in claimed.iter().filter_map(|(claim, key)| Some((node_port(claim)?, key))) {
            let is_first = before.replace(port) != Some(port);
            let (reason, what) = if !range.contains(&port) {
                let range = range_text(range);
                ("PortOutOfRange", format!("is not within the port range {range}; please recreate service"))
            } else if !is_first {
                ("PortAlreadyAllocated", "was assigned to multiple services; please recreate service".to_owned())
            } else if map.as_ref().is_some_and(|map| !map.contains(port)) {
                ("PortNotAllocated", "is not allocated; repairing".to_owned())
            } else {
                continue;
            };
            // Unless it released the port meanwhile.
            let service = services.cache.get(key).filter(|it| claims_of_stored(it).contains(&Claim::NodePort(port)));
            let Some(service) = service else { continue };
            let (regarding, note) = (self.registry.decode(&services, &service)?, format!("Port {port} {what}"));
            findings.push(Finding { regarding, reason, action: "", note });
        }
        Ok(findings)
    }

    /// Reconciles the map with the services: ports of services are allocated; a port that no service has is released if
    /// it is in `suspects`, which the previous call returned.
    ///
    /// # Errors
    /// The store fails.
    pub async fn repair_node_ports(&self, suspects: &BTreeSet<u16>) -> Result<BTreeSet<u16>> {
        let Some(mut map) = self.port_map() else { return Ok(BTreeSet::new()) };
        let Some(services) = self.services() else { return Ok(BTreeSet::new()) };
        let taken = |object: &_| claims_of_stored(object);
        let used: BTreeSet<u16> =
            self.allocators.taken.of(&services.cache, &taken).in_use().filter_map(node_port).collect();
        let unused: BTreeSet<u16> = map.ports.difference(&used).copied().collect();
        let free = |port: &u16| unused.contains(port) && suspects.contains(port);
        let wanted: BTreeSet<u16> = map.ports.iter().copied().filter(|port| !free(port)).chain(used).collect();
        if wanted != map.ports || map.revision.is_none() {
            map.ports = wanted;
            match self.registry.store.commit(Transaction::of(vec![self.map_write(&map)])).await {
                // Another server changes the map; the next repair continues.
                Ok(_) | Err(CommitError::Conflict { .. }) => {}
                Err(error) => return Err(Status::internal(error)),
            }
        }
        Ok(unused)
    }
}

fn node_ports(object: &Value) -> BTreeSet<u16> {
    claims_of_value(object).iter().filter_map(node_port).collect()
}

fn node_port(claim: &Claim) -> Option<u16> {
    match claim {
        Claim::NodePort(port) => Some(*port),
        Claim::Address(_) => None,
    }
}

fn range_text(range: &RangeInclusive<u16>) -> String {
    format!("{}-{}", range.start(), range.end())
}

/// Decodes a map: a big-endian number whose lowest bit is the first port.
fn ports(data: &[u8], range: &RangeInclusive<u16>) -> BTreeSet<u16> {
    let bits = data.iter().rev().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
    range.clone().zip(bits).filter(|(_, is_set)| *is_set).map(|(port, _)| port).collect()
}

fn bits(ports: &BTreeSet<u16>, range: &RangeInclusive<u16>) -> Vec<u8> {
    let offsets = ports.iter().filter(|port| range.contains(port)).map(|port| usize::from(port - range.start()));
    let mut bytes: Vec<u8> = Vec::new();
    for offset in offsets {
        if bytes.len() <= offset / 8 {
            bytes.resize(offset / 8 + 1, 0);
        }
        if let Some(byte) = bytes.get_mut(offset / 8) {
            *byte |= 1 << (offset % 8);
        }
    }
    bytes.reverse();
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_a_number_without_leading_zeros() {
        let range = 30_000..=30_100;
        for (set, data) in [
            (vec![], vec![]),
            (vec![30_000], vec![1]),
            (vec![30_000, 30_007], vec![0x81]),
            (vec![30_001, 30_008, 30_100], vec![0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]),
        ] {
            let set: BTreeSet<u16> = set.into_iter().collect();
            assert_eq!(bits(&set, &range), data);
            assert_eq!(ports(&data, &range), set);
        }
        assert_eq!(ports(&[0xff; 20], &(1..=3)), [1, 2, 3].into());
    }
}
