//! `Draw`: the allocation of addresses and node ports for one request or dry run.
//!
//! Allocated values are reserved until the request is done. A dry run reserves nothing and returns placeholders that no
//! service can have: the network address, a port above the usual range.

use super::range::AddressRange;
use super::stats::{Scope, Stats};
use super::taken::{Claim, State};
use pintle_registry::Environment;
use pintle_types::core::v1::IPFamily;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Instant;

const FULL: &str = "range is full";
const ALLOCATED_PORT: &str = "provided port is already allocated";

/// The first placeholder port of dry runs is one above this.
const BELOW_SHOWN_PORTS: i32 = 32_768;

/// The bounds of the lower part of the node ports, a thirty-second of the range, which is preferred for static
/// allocation. A range no larger than the first bound has none.
const LOWER_PORTS: (usize, usize) = (16, 128);
const LOWER_PORTS_SHARE: usize = 32;

/// The allocation state that one request sees.
pub struct Draw<'a> {
    pub ranges: &'a [AddressRange],
    pub node_ports: RangeInclusive<u16>,
    pub state: &'a mut State,
    /// Whether an IPAddress object exists for the address.
    pub is_registered: &'a dyn Fn(IpAddr) -> bool,
    /// Whether the port map has the node port, which another server may have allocated.
    pub is_given: &'a dyn Fn(u16) -> bool,
    pub environment: &'a dyn Environment,
    pub stats: &'a Stats,
    pub dry_run: bool,
    /// The reservations of this request.
    pub held: Vec<Claim>,
    /// The node ports of this request, static and dynamic.
    pub ports: BTreeSet<i32>,
}

impl Draw<'_> {
    /// Allocates a given address. It is not reserved: the store rejects a second IPAddress.
    ///
    /// # Errors
    /// It is not available; the text says why.
    pub fn address(&mut self, family: &IPFamily, address: IpAddr) -> Result<(), String> {
        let mut ranges = self.ranges.iter().filter(|range| range.family() == *family);
        if self.dry_run {
            return match ranges.next() {
                Some(range) if !range.contains(address) => Err(format!(
                    "the provided IP ({address}) is not in the valid range. The range of valid IPs is {}",
                    range.text()
                )),
                _ => Ok(()),
            };
        }
        let since = Instant::now();
        let Some(range) = ranges.find(|range| range.contains(address)) else {
            return Err("the provided network does not match the current range".to_owned());
        };
        // The IPAddress alone decides, as in kube-apiserver: without it, even a service's address is free to be asked for.
        let is_free = !(self.is_registered)(address);
        self.stats.address(range, Scope::Static, since, is_free);
        if is_free { Ok(()) } else { Err("provided IP is already allocated".to_owned()) }
    }

    /// Allocates any address of a family.
    ///
    /// # Errors
    /// None is free.
    pub fn any_address(&mut self, family: &IPFamily) -> Result<IpAddr, String> {
        let ranges = self.ranges.iter().filter(|range| range.family() == *family);
        let (random, now) = (self.random(), self.environment.now_unix());
        for range in ranges {
            if self.dry_run {
                return Ok(range.network());
            }
            let since = Instant::now();
            let is_free = |address: &IpAddr| {
                !self.state.is_taken(Claim::Address(*address), now) && !(self.is_registered)(*address)
            };
            let found = range.candidates(random).find(is_free);
            self.stats.address(range, Scope::Dynamic, since, found.is_some());
            if let Some(address) = found {
                self.hold(Claim::Address(address));
                return Ok(address);
            }
        }
        Err(FULL.to_owned())
    }

    /// Allocates a given node port.
    ///
    /// # Errors
    /// It is not available; the text says why.
    pub fn node_port(&mut self, wish: i32) -> Result<i32, String> {
        let outcome = self.certain_port(wish);
        if !self.dry_run {
            self.stats.ports.made(Scope::Static, outcome.is_ok());
        }
        outcome
    }

    fn certain_port(&mut self, wish: i32) -> Result<i32, String> {
        let port = u16::try_from(wish).ok().filter(|port| self.node_ports.contains(port));
        let Some(port) = port else {
            // Dry runs do not check the range: their placeholders are outside of it.
            if self.dry_run {
                return self.take_port(wish);
            }
            let (first, last) = (self.node_ports.start(), self.node_ports.end());
            return Err(format!("provided port is not in the valid range. The range of valid ports is {first}-{last}"));
        };
        if self.state.is_taken(Claim::NodePort(port), self.environment.now_unix()) || (self.is_given)(port) {
            return Err(ALLOCATED_PORT.to_owned());
        }
        self.take_port(wish)?;
        if !self.dry_run {
            self.hold(Claim::NodePort(port));
        }
        Ok(wish)
    }

    /// Allocates any node port: from the upper part, or from the lower one if the upper one is full.
    ///
    /// # Errors
    /// None is free.
    pub fn any_node_port(&mut self) -> Result<i32, String> {
        if self.dry_run {
            let shown = self.ports.last().copied().map_or(BELOW_SHOWN_PORTS, |port| port.max(0)).saturating_add(1);
            self.ports.insert(shown);
            return Ok(shown);
        }
        let (first, size) = (*self.node_ports.start(), self.node_ports.len());
        let (least, most) = LOWER_PORTS;
        let lower = if size <= least { 0 } else { (size / LOWER_PORTS_SHARE).clamp(least, most) };
        let offset = usize::try_from(self.random() % 65_536).unwrap_or(0);
        let turned = |from: usize, to: usize| {
            let size = to.saturating_sub(from);
            (0..size).map(move |at| from + (at + offset) % size)
        };
        let now = self.environment.now_unix();
        let ports = turned(lower, size).chain(turned(0, lower));
        let mut ports = ports.filter_map(|at| first.checked_add(u16::try_from(at).ok()?));
        let is_free = |port: &u16| !self.state.is_taken(Claim::NodePort(*port), now) && !(self.is_given)(*port);
        let found = ports.find(is_free);
        self.stats.ports.made(Scope::Dynamic, found.is_some());
        let Some(port) = found else { return Err(FULL.to_owned()) };
        self.hold(Claim::NodePort(port));
        self.ports.insert(port.into());
        Ok(port.into())
    }

    fn take_port(&mut self, wish: i32) -> Result<i32, String> {
        if self.ports.insert(wish) { Ok(wish) } else { Err(ALLOCATED_PORT.to_owned()) }
    }

    fn hold(&mut self, claim: Claim) {
        self.state.hold(claim);
        self.held.push(claim);
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        self.environment.random(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
