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
mod reinvocation;
mod sent_options;

pub(crate) use attributes::DELETE_COLLECTION;
pub use attributes::kind_of;
pub use chain::{AdmissionChain, AdmissionObserver, Rights};
pub use charges::{Charge, Charges, Committed};
pub use function::{AdmittedRequest, FunctionPlugin, Refused, RequestSelector};
pub use matching::{RequestRules, RequestSelectors, read_selector};
pub use reinvocation::Reinvocation;

use crate::status::Result;
use crate::{DeleteOptions, Registry, Target, WriteOptions};
use pintle_cache::ResourceCache;
use pintle_resource::{MaybeReady, Resource, StoredVersions};
use pintle_schema::Value;
use pintle_validation::ValidationEnvironment;
use std::sync::Arc;

/// The operation of an admission request.
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
    /// After validation: plugins can only reject.
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
    /// The name that a new object was sent with; "" if it gets one, or if the path names it.
    pub sent_name: &'a str,
    /// The stored object, for updates and deletions.
    pub old: Option<&'a Value>,
    pub options: &'a WriteOptions,
    pub environment: &'a dyn ValidationEnvironment,
    /// The charges of the write, stored when it is committed. Deletions and actions are not charged.
    pub charges: &'a Charges,
    /// The options of a deletion.
    pub deletion: Option<&'a DeleteOptions>,
    /// The reinvocation state; `None` outside of the mutating phase.
    pub rounds: Option<&'a Reinvocation>,
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
            sent_name: "",
            old: None,
            options,
            environment: &(),
            charges,
            deletion: None,
            rounds: None,
        }
    }
}

/// The result of admission, ready or after waiting.
pub type Admitted<'a> = MaybeReady<'a, Result<()>>;

/// One admission plugin. Objects are of the storage version. A plugin that waits is dropped with its request.
pub trait AdmissionPlugin: Send + Sync {
    /// Its name, as flags, metrics and configuration files have it. One without a name is not measured.
    fn name(&self) -> &str;

    /// Whether it handles a request in a phase.
    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool;

    /// Whether a write of the server itself may have to wait for another process, as things are stored now. Such writes are made
    /// beside serving, never before.
    fn may_wait(&self, registry: &Registry) -> bool {
        let _ = registry;
        false
    }

    /// Changes an object before it is validated.
    ///
    /// # Errors
    /// The write is rejected.
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
    /// The write is rejected.
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
    /// The deletion is rejected.
    fn delete<'a>(&'a self, phase: Phase, request: &'a AdmissionRequest<'a>, old: &'a Value) -> Admitted<'a> {
        let _ = (phase, request, old);
        MaybeReady::Ready(Ok(()))
    }
}

/// What is checked of the namespace of a created object.
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
    /// Runs admission for the body of a request that acts and stores nothing. It is checked before plugins validate it.
    ///
    /// # Errors
    /// It is rejected.
    pub async fn admit_action(
        &self,
        target: &Target,
        subresource: &str,
        object: &mut Value,
        options: &WriteOptions,
        warnings: &mut Vec<String>,
        check: &(dyn Fn(&mut Value) -> Result<()> + Sync),
    ) -> Result<()> {
        self.provision_namespace(target, object, options).await?;
        let charges = Charges::default();
        let request = AdmissionRequest::new(self, target, subresource, Operation::Create, options, &charges);
        self.admission.mutate(&request, object, warnings).await?;
        check(object)?;
        self.admission.validate(&request, object, warnings).await
    }

    /// Runs admission for a stream or a proxied request, with the options of its query.
    ///
    /// # Errors
    /// It is rejected.
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

    /// The target of a POST to a resource that stores nothing. Look-ups in it find nothing, and plugins work on the object in the
    /// version that was sent.
    pub fn posted_target(&self, resource: &Arc<Resource>, namespace: &str) -> Option<Target> {
        let resource = Arc::new(Resource { storage: Some(resource.own_form()), ..Resource::clone(resource) });
        let stored = Arc::new(StoredVersions::new(vec![resource.clone()])?);
        Some(Target {
            resource,
            stored,
            cache: Arc::new(ResourceCache::new("", [])),
            namespace: namespace.to_owned(),
            name: String::new(),
            tells_unreadable: false,
        })
    }
}
