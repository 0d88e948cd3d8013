//! The providers of all resources, from one configuration. Guarantees kube-apiserver's precedence: the resource by
//! name, then its group, then everything; else values stay plain. Must never change: another configuration is another
//! value.

use std::collections::HashMap;
use std::sync::Arc;

use crate::chain::{Chain, Link, Provider, Ring};
use crate::kms::{Changed, Kms, Pace};
use crate::names::GroupResource;
use crate::stats::Stats;

/// Some resources and their providers.
#[derive(Clone)]
pub struct Rule {
    /// By name, or with wildcards: `*.group` and `*.*`.
    pub resources: Vec<GroupResource>,
    /// The first one writes, all of them read.
    pub providers: Vec<Provider>,
}

/// Why rules are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The first resource is masked by the second, in an earlier rule.
    #[error("resource {0:?} is masked by earlier rule {1:?}")]
    Masked(String, String),
    /// The secret of the key of this name has a length that is invalid for the cipher.
    #[error("error while creating cipher for named key {0}: invalid key size {1}")]
    KeyLength(String, usize),
    /// A provider without keys.
    #[error("the provider of {0:?} has no valid keys")]
    NoKeys(&'static str),
    /// The thread that talks to a key service could not be started.
    #[error("the thread of a key service could not be started: {0}")]
    Thread(String),
}

/// An initialized configuration.
#[derive(Default)]
pub struct Transformers {
    chains: HashMap<GroupResource, Chain>,
    pub(crate) kms: Vec<Arc<Kms>>,
}

impl Transformers {
    /// Makes the ciphers, and requests the status of each key service once; a service that does not respond is no
    /// error.
    pub(crate) fn new(
        rules: &[Rule],
        pace: Pace,
        changed: &Changed,
        stats: &Arc<Stats>,
    ) -> Result<Transformers, RuleError> {
        let mut made = Transformers::default();
        for rule in rules {
            let mut links = Vec::with_capacity(rule.providers.len());
            for provider in &rule.providers {
                links.push(Arc::new(match provider {
                    Provider::Kms(config) => {
                        let kms = Kms::start(config, pace, changed.clone(), stats.clone())?;
                        made.kms.push(kms.clone());
                        Link::Kms(kms)
                    }
                    keyed => Ring::new(keyed)?.map_or(Link::Identity, Link::Ring),
                }));
            }
            for resource in &rule.resources {
                let wildcards = [GroupResource { resource: "*".to_owned(), ..resource.clone() }, everything()];
                if let Some(earlier) = wildcards.iter().find(|earlier| made.chains.contains_key(earlier)) {
                    return Err(RuleError::Masked(resource.to_string(), earlier.to_string()));
                }
                made.chains.entry(resource.clone()).or_default().0.extend_from_slice(&links);
            }
        }
        Ok(made)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }

    /// The providers of a resource; `None` if its values are stored in plain.
    pub(crate) fn chain(&self, resource: &GroupResource) -> Option<&Chain> {
        self.chains.get(resource).or_else(|| {
            let group = GroupResource { resource: "*".to_owned(), ..resource.clone() };
            self.chains.get(&group).or_else(|| self.chains.get(&everything()))
        })
    }

    /// The health of all key services together.
    pub fn health(&self) -> Result<(), String> {
        let fault = |(index, kms): (usize, &Arc<Kms>)| Some(format!("kms-provider-{index}: {}", kms.health().err()?));
        let faults: Vec<String> = self.kms.iter().enumerate().filter_map(fault).collect();
        match faults.as_slice() {
            [] => Ok(()),
            [fault] => Err(fault.clone()),
            faults => Err(format!("[{}]", faults.join(", "))),
        }
    }
}

fn everything() -> GroupResource {
    GroupResource::parse(GroupResource::ALL)
}
