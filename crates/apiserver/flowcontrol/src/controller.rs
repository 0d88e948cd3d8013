//! `FlowController`: classifies requests and hands out seats, by the flow schemas and priority levels that there are.
//! Guarantees that a change of them takes effect for the next request, and that requests of a level that is gone are still
//! served. Must never read objects of the API: schemas and levels are given to it.

use crate::borrowing::{Borrower, adjust};
use crate::classify::{Configuration, FlowSchema};
use crate::clock::Clock;
use crate::described::Described;
use crate::estimate::most_seats;
use crate::level::{Arriving, Begun, FlowClass, PriorityLevel, Rejected};
use crate::limits::{Kind, Level, Seats};
use crate::shuffle::flow_hash;
use crate::stats::FlowStats;
use arc_swap::ArcSwap;
use bytes::Bytes;
use pintle_auth::Attributes;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// What requests are served by at a time.
#[derive(Debug)]
pub(crate) struct Snapshot<R: Described> {
    configuration: Configuration,
    /// In the order of the configuration's schemas.
    pub classes: Vec<Arc<FlowClass<R>>>,
    /// In the order of the configuration's levels.
    pub levels: Vec<Arc<PriorityLevel<R>>>,
}

/// By names of level and schema.
type Stats = HashMap<(String, String), Arc<FlowStats>>;

/// Priority and fairness of a server's requests.
#[derive(Debug)]
pub struct FlowController<R: Described> {
    /// The seats of the server.
    total: u64,
    pub(crate) clock: Clock,
    /// When the clock began.
    pub(crate) began: SystemTime,
    current: ArcSwap<Snapshot<R>>,
    /// Locked while the configuration or the seats change.
    stats: Mutex<Stats>,
    /// As bits of a float.
    fair_fraction: AtomicU64,
}

/// The flow of a request.
#[derive(Debug)]
pub struct Flow<R: Described> {
    pub class: Arc<FlowClass<R>>,
    hash: u64,
}

impl<R: Described> Clone for Flow<R> {
    fn clone(&self) -> Self {
        Flow { class: self.class.clone(), hash: self.hash }
    }
}

impl<R: Described> Flow<R> {
    /// Rejects a request of the flow that would find no room if it arrived now: asked before work is done that needs no seat.
    pub fn reject_early(&self) -> Option<Rejected> {
        if self.class.is_exempt { None } else { self.class.level.reject_early(&self.class, self.hash) }
    }

    /// A request of the flow arrives. One that has given back its seats to wait for something is not counted again.
    pub fn begin(&self, work: crate::WorkEstimate, request: R, is_first_time: bool) -> Begun<R> {
        let arriving = Arriving { class: self.class.clone(), hash: self.hash, work, request, is_first_time };
        self.class.level.begin(arriving)
    }
}

impl<R: Described> FlowController<R> {
    /// A server with so many seats. Until it is configured there are only the levels that are always there.
    pub fn new(total: u64) -> Self {
        let clock = Clock::start();
        let empty = Snapshot { configuration: Configuration::default(), classes: Vec::new(), levels: Vec::new() };
        let controller = FlowController {
            total,
            clock,
            began: SystemTime::now(),
            current: ArcSwap::from_pointee(empty),
            stats: Mutex::default(),
            fair_fraction: AtomicU64::new(0),
        };
        controller.configure(Vec::new(), Vec::new());
        controller
    }

    /// The seats of the server.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The flow of a request.
    pub fn classify(&self, request: &Attributes<'_>) -> Option<Flow<R>> {
        let current = self.current.load();
        let found = current.configuration.classify(request)?;
        let class = current.classes.get(found.index)?.clone();
        let hash = match class.is_exempt {
            true => 0,
            false => flow_hash(&class.schema.name, class.schema.distinguisher.of(request)),
        };
        Some(Flow { class, hash })
    }

    /// Serves requests by these schemas and levels from now on. Levels that are not among them are kept until their last request
    /// has gone.
    pub fn configure(&self, schemas: Vec<Arc<FlowSchema>>, levels: Vec<Level>) {
        self.configure_locked(&mut self.stats(), schemas, levels);
    }

    fn configure_locked(&self, stats: &mut Stats, mut schemas: Vec<Arc<FlowSchema>>, mut levels: Vec<Level>) {
        let before = self.current.load_full();
        let wanted: HashSet<String> = levels.iter().map(|level| level.name.clone()).collect();
        let is_wanted = |name: &str| wanted.contains(name) || Configuration::is_mandatory(name);
        schemas.retain(|schema| is_wanted(&schema.level));
        let existing: HashMap<&str, (&Level, &Arc<PriorityLevel<R>>)> = before
            .configuration
            .levels()
            .iter()
            .zip(&before.levels)
            .map(|(level, running)| (level.name.as_str(), (level, running)))
            .collect();
        let draining =
            existing.values().filter(|(level, running)| !is_wanted(&level.name) && !running.inner().is_idle());
        levels.extend(draining.map(|(level, _)| (*level).clone()));
        let configuration = Configuration::new(schemas, levels, self.total);
        let running = configuration.levels().iter().zip(configuration.seats());
        let levels: Vec<_> = running
            .map(|(level, seats)| {
                let running = match existing.get(level.name.as_str()) {
                    Some((_, running)) => (*running).clone(),
                    None => Arc::new(PriorityLevel::new(&level.name, level.kind.clone(), *seats, self.clock)),
                };
                running.configure(level.kind.clone(), *seats, !is_wanted(&level.name));
                running
            })
            .collect();
        let uids: Vec<Bytes> = configuration.levels().iter().map(|level| Bytes::from(level.uid.clone())).collect();
        let bounds = configuration.levels().iter().zip(configuration.seats()).map(|(level, seats)| match level.kind {
            Kind::Exempt { .. } => (true, most_seats(*seats, None)),
            Kind::Limited { queuing, .. } => (false, most_seats(*seats, queuing)),
        });
        let bounds: Vec<_> = bounds.collect();
        let mut kept = Stats::new();
        let mut class = |(schema, level): (&Arc<FlowSchema>, usize)| {
            let (running, (is_exempt, most_seats)) = (levels.get(level)?, *bounds.get(level)?);
            let key = (running.name.clone(), schema.name.clone());
            let stats = stats.remove(&key).unwrap_or_default();
            kept.insert(key, stats.clone());
            Some(Arc::new(FlowClass {
                schema: schema.clone(),
                level: running.clone(),
                stats,
                schema_uid: schema.uid.clone().into(),
                level_uid: uids.get(level)?.clone(),
                is_exempt,
                most_seats,
            }))
        };
        let classes = configuration.schemas().filter_map(&mut class).collect();
        *stats = kept;
        let snapshot = Arc::new(Snapshot { configuration, classes, levels });
        self.share_out(&snapshot);
        self.current.store(snapshot);
    }

    /// Ends a period of borrowing: levels get seats for the next one by what they wanted in the last ones.
    pub fn adjust(&self) {
        let mut stats = self.stats();
        let current = self.current.load_full();
        let now_ns = self.clock.now_ns();
        let mut has_drained = false;
        for level in &current.levels {
            let mut inner = level.inner();
            inner.end_period(now_ns);
            has_drained |= inner.is_quiescing && inner.is_idle();
        }
        self.share_out(&current);
        if has_drained {
            let levels = current.configuration.levels().iter().zip(&current.levels);
            let levels = levels.filter(|(_, running)| !running.inner().is_quiescing).map(|(level, _)| level.clone());
            let levels = levels.collect();
            // Those without an object are added again where they belong.
            let stored = current.configuration.schemas().filter(|(schema, _)| !schema.uid.is_empty());
            let schemas = stored.map(|(schema, _)| schema.clone()).collect();
            self.configure_locked(&mut stats, schemas, levels);
        }
    }

    fn share_out(&self, snapshot: &Snapshot<R>) {
        let (borrowers, limits): (Vec<_>, Vec<_>) = snapshot
            .levels
            .iter()
            .map(|level| {
                let inner = level.inner();
                let is_exempt = matches!(inner.kind, Kind::Exempt { .. });
                (Borrower { is_exempt, seats: inner.seats, stats: inner.demand }, inner.limit)
            })
            .unzip();
        let adjusted = adjust(&borrowers, &limits);
        self.fair_fraction.store(adjusted.fair_fraction.to_bits(), Ordering::Relaxed);
        // What ratios of a level without seats refer to, as in kube-apiserver.
        let least = (self.total as f64 / 10.0).round() as u64;
        for (level, (limit, target)) in snapshot.levels.iter().zip(adjusted.limits.iter().zip(&adjusted.targets)) {
            level.set_limit(*limit, *target, least);
        }
    }

    /// The fraction of what levels want that they get.
    pub fn fair_fraction(&self) -> f64 {
        f64::from_bits(self.fair_fraction.load(Ordering::Relaxed))
    }

    /// The levels at this moment, by name.
    pub fn levels(&self) -> Vec<LevelState<R>> {
        let now_ns = self.clock.now_ns();
        self.snapshot().levels.iter().map(|level| LevelState::of(level, now_ns)).collect()
    }

    /// The flow schemas, in the order in which they are asked, with their levels.
    pub fn classes(&self) -> Vec<Arc<FlowClass<R>>> {
        self.snapshot().classes.clone()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot<R>> {
        self.current.load_full()
    }

    fn stats(&self) -> MutexGuard<'_, Stats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a level is at a moment.
#[derive(Clone, Debug)]
pub struct LevelState<R: Described> {
    pub level: Arc<PriorityLevel<R>>,
    pub seats: Seats,
    pub limit: u64,
    pub demand: crate::DemandStats,
    pub target: f64,
    /// In seat-seconds.
    pub virtual_time: f64,
}

impl<R: Described> LevelState<R> {
    fn of(level: &Arc<PriorityLevel<R>>, now_ns: u64) -> Self {
        let inner = level.inner();
        // Histograms over time show what there has been until now.
        level.observe(&inner, now_ns);
        level.observe_waiting(&inner, now_ns);
        LevelState {
            seats: inner.seats,
            limit: inner.limit,
            demand: inner.demand,
            target: inner.target,
            virtual_time: inner.virtual_time(),
            level: level.clone(),
        }
    }
}
