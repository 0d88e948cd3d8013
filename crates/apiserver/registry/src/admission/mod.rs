//! Where admission takes part in a write: between the request's object and the strategy.
//!
//! `AdmissionPlugin` is one plugin, `AdmissionChain` all of a server's in their order. Nothing here knows a plugin by name.

mod attributes;
mod chain;
mod charges;
mod function;
mod matching;
#[cfg(test)]
mod matching_tests;
mod rounds;
mod sent_options;

pub use attributes::{has_generated_name, kind_of};
pub use chain::{AdmissionChain, AdmissionObserver, Rights};
pub use charges::{Charge, Charges, Committed};
pub use function::{AdmittedRequest, FunctionPlugin, Refused, RequestSelector};
pub use matching::{RequestRules, RequestSelectors, read_selector};
pub use rounds::Rounds;

use crate::status::Result;
use crate::{DeleteOptions, Registry, Target, WriteOptions};
use pintle_cache::ResourceCache;
use pintle_resource::{MaybeReady, Resource, StoredVersions};
use pintle_schema::Value;
use pintle_validation::ValidationEnvironment;
use std::sync::Arc;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    /// A stream, or a request that is passed on. The object is its options.
    Connect,
}

impl Operation {
    /// As metrics and AdmissionReviews name it.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// The two halves of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before validation: objects may be changed.
    Mutate,
    /// After validation: they may only be refused.
    Validate,
}

impl Phase {
    /// As metrics name it.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Mutate => "admit",
            Phase::Validate => "validate",
        }
    }
}

/// A request that wants to be admitted.
#[derive(Clone, Copy)]
pub struct AdmissionRequest<'a> {
    pub registry: &'a Registry,
    pub target: &'a Target,
    /// "" for the object itself.
    pub subresource: &'a str,
    pub operation: Operation,
    /// The stored object, for updates and deletions.
    pub old: Option<&'a Value>,
    pub options: &'a WriteOptions,
    pub environment: &'a dyn ValidationEnvironment,
    /// What the write is charged with when it is committed. Deletions and actions are not charged.
    pub charges: &'a Charges,
    /// How the stored object is to be deleted, for deletions.
    pub deletion: Option<&'a DeleteOptions>,
    /// The rounds in which objects are changed; `None` outside of them.
    pub rounds: Option<&'a Rounds>,
}

impl<'a> AdmissionRequest<'a> {
    /// A request about no stored object.
    pub fn new(
        registry: &'a Registry,
        target: &'a Target,
        subresource: &'a str,
        operation: Operation,
        options: &'a WriteOptions,
        charges: &'a Charges,
    ) -> Self {
        AdmissionRequest {
            registry,
            target,
            subresource,
            operation,
            old: None,
            options,
            environment: &(),
            charges,
            deletion: None,
            rounds: None,
        }
    }
}

/// What admission answers, at once or after waiting.
pub type Admitted<'a> = MaybeReady<'a, Result<()>>;

/// One admission plugin. Objects are of the storage version. A plugin that waits is dropped with its request.
pub trait AdmissionPlugin: Send + Sync {
    /// Its name, as flags, metrics and configuration files have it. One without a name is not measured.
    fn name(&self) -> &str;

    /// Whether it has something to say about a request in a phase.
    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool;

    /// Changes an object before it is validated.
    ///
    /// # Errors
    /// The write is refused.
    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let _ = (request, object, warnings);
        MaybeReady::Ready(Ok(()))
    }

    /// Checks the object as it will be stored.
    ///
    /// # Errors
    /// The write is refused.
    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let _ = (request, object, warnings);
        MaybeReady::Ready(Ok(()))
    }

    /// Checks the deletion of `old`, the stored object, in either phase.
    ///
    /// # Errors
    /// The deletion is refused.
    fn delete<'a>(&'a self, phase: Phase, request: &'a AdmissionRequest<'a>, old: &'a Value) -> Admitted<'a> {
        let _ = (phase, request, old);
        MaybeReady::Ready(Ok(()))
    }
}

/// What must hold for a namespace in which something is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamespaceCheck {
    /// It exists and is not being deleted.
    Active,
    /// It exists.
    Exists,
    /// Nothing.
    #[default]
    None,
}

impl Registry {
    /// Asks admission about what is posted to a subresource that does something and stores nothing.
    ///
    /// # Errors
    /// It is refused.
    pub async fn admit_action(
        &self,
        target: &Target,
        subresource: &str,
        object: &mut Value,
        options: &WriteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let charges = Charges::default();
        let request = AdmissionRequest::new(self, target, subresource, Operation::Create, options, &charges);
        self.admission.mutate(&request, object, warnings).await?;
        self.admission.validate(&request, object, warnings).await
    }

    /// Asks admission about a stream, or a request that is passed on, by the options of its query.
    ///
    /// # Errors
    /// It is refused.
    pub async fn admit_connection(
        &self,
        target: &Target,
        subresource: &str,
        connection_options: &mut Value,
        options: &WriteOptions,
    ) -> Result<()> {
        let charges = Charges::default();
        let request = AdmissionRequest::new(self, target, subresource, Operation::Connect, options, &charges);
        let mut warnings = Vec::new();
        let outcome = self.admission.mutate(&request, connection_options, &mut warnings).await;
        let outcome = match outcome {
            Ok(()) => self.admission.validate(&request, connection_options, &mut warnings).await,
            refused => refused,
        };
        warnings.into_iter().for_each(|warning| options.context.warn(warning));
        outcome
    }

    /// The target of what is posted to a resource that stores nothing. Nothing can be found in it.
    pub fn posted_target(&self, resource: &Arc<Resource>, namespace: &str) -> Option<Target> {
        let stored = Arc::new(StoredVersions::new(vec![resource.clone()])?);
        Some(Target {
            resource: resource.clone(),
            stored,
            cache: Arc::new(ResourceCache::new("", [])),
            namespace: namespace.to_owned(),
            name: String::new(),
            tells_unreadable: false,
        })
    }
}
