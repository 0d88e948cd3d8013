//! Requests of controllers to the registry, under their own user names, without a socket. Guarantees that admission and
//! field ownership see the controller. Must never make a request that a client could not make.

use crate::queue::Outcome;
use crate::resource_index::{Kind, ResourceIndex};
use pintle_auth::UserInfo;
use pintle_registry::options::Propagation;
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update};
use pintle_registry::{ApplyRequest, DeleteOptions, RequestContext, Result, Status, Target, WriteOptions};
use pintle_schema::{Value, ViewMut, canonicalize};
use pintle_types::meta::v1::ObjectMeta;
use std::sync::Arc;

/// Concurrent writes: enough to share a sync, few enough to leave room for clients.
pub const AT_A_TIME: usize = 32;

/// The user of a request.
#[derive(Clone, Copy)]
pub enum Who {
    /// A controller, with the name of its service account in `kube-system`.
    Account(&'static str),
    /// The server itself, with its field manager.
    Server(&'static str),
}

/// Makes requests as a user.
pub struct Requests<'a> {
    pub index: &'a ResourceIndex,
    pub who: Who,
}

impl Requests<'_> {
    fn context(&self) -> Arc<RequestContext> {
        let Who::Account(account) = self.who else { return RequestContext::of_server() };
        let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
        let name = format!("system:serviceaccount:kube-system:{account}");
        let user = UserInfo { name: name.into(), groups: groups.map(Into::into).into(), ..UserInfo::default() };
        Arc::new(RequestContext::default().acting_as(Arc::new(user)))
    }

    /// The user of the requests.
    pub fn user(&self) -> Arc<UserInfo> {
        self.context().user().clone()
    }

    pub fn write_options(&self) -> WriteOptions {
        let field_manager = match self.who {
            Who::Account(_) => "kube-controller-manager",
            Who::Server(manager) => manager,
        };
        WriteOptions { field_manager: field_manager.to_owned(), context: self.context(), ..WriteOptions::default() }
    }

    /// Delete options with a propagation policy.
    pub fn delete_options(&self, propagation: Propagation) -> DeleteOptions {
        DeleteOptions { propagation: Some(propagation), context: self.context(), ..DeleteOptions::default() }
    }

    /// Changes an object, or the part of it that a subresource writes. Succeeds if the object is gone.
    ///
    /// # Errors
    /// The change is rejected, or the object keeps changing.
    pub async fn change(
        &self,
        target: &Target,
        subresource: &str,
        change: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<()> {
        let change = |object: &mut Value| {
            change(object);
            Ok(())
        };
        self.try_change(target, subresource, change).await
    }

    /// The same with a change that can fail.
    ///
    /// # Errors
    /// Those of `change`, and those of the function.
    pub async fn try_change(
        &self,
        target: &Target,
        subresource: &str,
        change: impl Fn(&mut Value) -> Result<()> + Send + Sync,
    ) -> Result<()> {
        let change = |stored: Option<&Value>| {
            let mut object = stored.ok_or_else(|| target.not_found())?.clone();
            change(&mut object)?;
            Ok(object)
        };
        let update = Update {
            change: &change,
            part: SubresourcePart::of(&target.resource, subresource),
            create: false,
            from_stored: true,
            owners: ManagedFieldsUpdate::Compute,
        };
        gone_is_fine(self.index.registry.update(target, &update, &self.write_options()).await.map(drop))
    }

    /// Applies a configuration to the part of an existing object that a subresource writes, and takes over what others
    /// own of it. Succeeds if the object is gone.
    ///
    /// # Errors
    /// The result is rejected.
    pub async fn apply(&self, target: &Target, subresource: &str, manager: &str, config: &Value) -> Result<()> {
        let registry = &self.index.registry;
        let options = WriteOptions { field_manager: manager.to_owned(), ..self.write_options() };
        let applying = ApplyRequest { config, force: true, subresource };
        let change = |stored: Option<&Value>| {
            let mut live = stored.ok_or_else(|| target.not_found())?.clone();
            canonicalize(&target.resource.schema, &mut live);
            let merged = registry.apply(target, Some(&live), applying, &options).now();
            merged.unwrap_or_else(|_| Err(Status::internal("another version of the object has to be converted")))
        };
        let update = Update {
            change: &change,
            part: SubresourcePart::of(&target.resource, subresource),
            create: false,
            from_stored: true,
            owners: ManagedFieldsUpdate::Provided,
        };
        gone_is_fine(registry.update(target, &update, &options).await.map(drop))
    }

    /// Changes the metadata of the object with this uid.
    ///
    /// # Errors
    /// Those of `change`.
    pub async fn change_metadata(
        &self,
        target: &Target,
        uid: &str,
        change: impl Fn(ViewMut<'_, ObjectMeta>) + Send + Sync,
    ) -> Result<()> {
        let change = |object: &mut Value| {
            let metadata = ViewMut::<ObjectMeta>::new(object.map_entry("metadata"));
            if metadata.view().field(ObjectMeta::UID).as_str() == uid {
                change(metadata);
            }
        };
        self.change(target, "", change).await
    }

    /// Creates an object in a namespace. Succeeds if the object exists or the namespace is being deleted.
    pub async fn create(&self, kind: &Kind, namespace: &str, object: Value) -> Outcome {
        let target = Target { namespace: namespace.to_owned(), ..kind.target.clone() };
        match self.index.registry.create(&target, object, &self.write_options()).await {
            Err(status) if status.reason == "AlreadyExists" || status.code == 404 => Outcome::Done,
            Err(status) if is_of_ending_namespace(&status) => Outcome::Done,
            outcome => retry_on_failure(&outcome.map(drop)),
        }
    }

    /// Deletes an object. Succeeds if it is gone.
    ///
    /// # Errors
    /// The delete is rejected, or a precondition does not hold.
    pub async fn delete(&self, target: &Target, options: &DeleteOptions) -> Result<()> {
        gone_is_fine(self.index.registry.delete(target, options).await.map(drop))
    }
}

fn is_of_ending_namespace(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

fn gone_is_fine(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(Status { code: 404, .. }) => Ok(()),
        outcome => outcome,
    }
}

/// The outcome of processing a key by one request: done, or retry.
pub fn retry_on_failure(outcome: &Result<()>) -> Outcome {
    if outcome.is_ok() { Outcome::Done } else { Outcome::Retry }
}
