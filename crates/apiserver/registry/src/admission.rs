//! Where admission takes part in a write: between the request's object and the strategy.
//!
//! The registry calls one `Admission`; which plugins it has, and in which order they act, is the admission crate's
//! matter.

use crate::status::Result;
use crate::{DeleteOptions, Registry, Requester, Target, WriteOptions};
use pintle_schema::Value;
use pintle_validation::{Refusal, Right, ValidationEnvironment};

/// A write that wants to be admitted.
pub struct AdmissionRequest<'a> {
    pub registry: &'a Registry,
    pub target: &'a Target,
    /// "" for the object itself.
    pub subresource: &'a str,
    /// The stored object, for updates.
    pub old: Option<&'a Value>,
    pub options: &'a WriteOptions,
    pub around: &'a dyn ValidationEnvironment,
}

/// Changes objects before they are validated, or refuses them. Objects are of the storage version.
pub trait Admission: Send + Sync {
    /// Fills in and changes; runs before the strategy.
    ///
    /// # Errors
    /// The write is refused.
    fn mutate(&self, request: &AdmissionRequest<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()>;

    /// Judges the final object; runs after validation.
    ///
    /// # Errors
    /// The write is refused.
    fn validate(&self, request: &AdmissionRequest<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()>;

    /// Judges the deletion of a stored object.
    ///
    /// # Errors
    /// The deletion is refused.
    fn delete(&self, registry: &Registry, target: &Target, old: &Value, options: &DeleteOptions) -> Result<()>;

    /// What must hold for a namespace in which something is created.
    fn namespace_check(&self) -> NamespaceCheck {
        NamespaceCheck::Active
    }

    /// Whether a namespace that is not there is made for what is created in it.
    fn provisions_namespaces(&self) -> bool {
        false
    }

    /// Why a requester has no right to something besides a write; `None` when they have it.
    fn refusal(&self, target: &Target, requester: &Requester, right: &Right<'_>) -> Option<Refusal>;
}

/// What must hold for a namespace in which something is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceCheck {
    /// It exists and is not being deleted.
    Active,
    /// It exists.
    Exists,
    /// Nothing.
    None,
}

impl Registry {
    /// Asks admission about what is posted to a subresource that does something and stores nothing.
    ///
    /// # Errors
    /// It is refused.
    pub fn admit_action(
        &self,
        target: &Target,
        subresource: &str,
        object: &mut Value,
        options: &WriteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let request = AdmissionRequest { registry: self, target, subresource, old: None, options, around: &() };
        self.admission.mutate(&request, object, warnings)?;
        self.admission.validate(&request, object, warnings)
    }
}

/// Admits everything as it is.
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn mutate(&self, _: &AdmissionRequest<'_>, _: &mut Value, _: &mut Vec<String>) -> Result<()> {
        Ok(())
    }

    fn validate(&self, _: &AdmissionRequest<'_>, _: &Value, _: &mut Vec<String>) -> Result<()> {
        Ok(())
    }

    fn delete(&self, _: &Registry, _: &Target, _: &Value, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn refusal(&self, _: &Target, _: &Requester, _: &Right<'_>) -> Option<Refusal> {
        None
    }
}
