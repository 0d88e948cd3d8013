//! `FunctionPlugin`: an admission plugin made of asynchronous functions, for embedders. Guarantees that the functions get only
//! requests that the plugin selects, and that they own their arguments, so that they may wait. A request that is not selected
//! costs a comparison of names.

use super::{AdmissionPlugin, AdmissionRequest, Admitted, Operation, Phase};
use crate::status::{Result, Status};
use pintle_auth::UserInfo;
use pintle_resource::MaybeReady;
use pintle_schema::Value;
use pintle_schema::label_selector::LabelSelector;
use std::pin::Pin;
use std::sync::Arc;

/// Matches every group, resource or subresource.
const ANY: &str = "*";

/// Which requests a plugin is about.
#[derive(Clone, Debug)]
pub struct RequestSelector {
    pub operations: Vec<Operation>,
    /// "*" for all groups.
    pub group: String,
    /// The plural name of a resource; "*" for all.
    pub resource: String,
    /// "" for the object itself, "*" for it and all subresources.
    pub subresource: String,
    /// Selects by the labels of the object, or of the stored one.
    pub objects: LabelSelector,
}

impl RequestSelector {
    /// All operations on the objects of a resource.
    pub fn resource(group: &str, resource: &str) -> Self {
        RequestSelector {
            operations: vec![Operation::Create, Operation::Update, Operation::Delete],
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: String::new(),
            objects: LabelSelector::new(Vec::new()),
        }
    }

    /// The same for these operations only.
    #[must_use]
    pub fn on(self, operations: &[Operation]) -> Self {
        RequestSelector { operations: operations.to_vec(), ..self }
    }

    /// The same for a subresource.
    #[must_use]
    pub fn subresource(self, name: &str) -> Self {
        RequestSelector { subresource: name.to_owned(), ..self }
    }

    /// The same for objects with these labels.
    #[must_use]
    pub fn labelled(self, objects: LabelSelector) -> Self {
        RequestSelector { objects, ..self }
    }

    fn names(&self, request: &AdmissionRequest<'_>) -> bool {
        let is = |own: &str, asked: &str| own == asked || own == ANY;
        let resource = request.resource();
        self.operations.contains(&request.operation)
            && is(&self.group, &resource.group)
            && is(&self.resource, &resource.plural)
            && is(&self.subresource, request.subresource)
    }

    fn selects(&self, objects: [Option<&Value>; 2]) -> bool {
        let has = |object: &Value| {
            let labels = object.at(&["metadata", "labels"]);
            self.objects.matches(|label| labels?.get(label)?.as_str())
        };
        self.objects.is_everything() || objects.into_iter().flatten().any(has)
    }
}

/// A request that a function admits.
#[derive(Clone, Debug)]
pub struct AdmittedRequest {
    pub operation: Operation,
    pub group: String,
    /// The plural name of the resource.
    pub resource: String,
    /// "" for the object itself.
    pub subresource: String,
    pub namespace: String,
    /// Empty before a name is generated.
    pub name: String,
    /// The new object, in the storage version; `Null` for deletions.
    pub object: Value,
    /// The stored object; `Null` for creations.
    pub old: Value,
    pub user: Arc<UserInfo>,
    pub dry_run: bool,
}

impl AdmittedRequest {
    fn new(request: &AdmissionRequest<'_>, object: Option<&Value>) -> Self {
        AdmittedRequest {
            operation: request.operation,
            group: request.resource().group.to_string(),
            resource: request.resource().plural.to_string(),
            subresource: request.subresource.to_owned(),
            namespace: request.namespace().to_owned(),
            name: request.name(object).to_owned(),
            object: object.cloned().unwrap_or_default(),
            old: request.old.cloned().unwrap_or_default(),
            user: request.options.context.user().clone(),
            dry_run: request.options.dry_run,
        }
    }
}

type Answer<T> = Pin<Box<dyn Future<Output = std::result::Result<T, Refused>> + Send>>;
type Function<T> = Box<dyn Fn(AdmittedRequest) -> Answer<T> + Send + Sync>;

/// The rejection of a request by a function.
#[derive(Debug)]
pub enum Refused {
    /// 403 with this reason.
    Forbidden(String),
    /// Returned unchanged.
    Status(Box<Status>),
}

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        Refused::Status(Box::new(status))
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Self {
        Refused::Forbidden(why.to_owned())
    }
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Refused::Forbidden(why)
    }
}

/// An admission plugin made of functions. A function's future is dropped with its request.
pub struct FunctionPlugin {
    name: String,
    selector: RequestSelector,
    mutate: Option<Function<Value>>,
    validate: Option<Function<()>>,
}

impl FunctionPlugin {
    /// A plugin that sees the requests of a selector, and does nothing yet.
    pub fn new(name: &str, selector: RequestSelector) -> Self {
        FunctionPlugin { name: name.to_owned(), selector, mutate: None, validate: None }
    }

    /// The same with a function that returns the changed object, before validation. It is not called for deletions.
    #[must_use]
    pub fn mutating<F>(self, function: impl Fn(AdmittedRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = std::result::Result<Value, Refused>> + Send + 'static,
    {
        FunctionPlugin { mutate: Some(Box::new(move |request| Box::pin(function(request)))), ..self }
    }

    /// The same with a function that checks the object as it will be stored, or a deletion.
    #[must_use]
    pub fn validating<F>(self, function: impl Fn(AdmittedRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = std::result::Result<(), Refused>> + Send + 'static,
    {
        FunctionPlugin { validate: Some(Box::new(move |request| Box::pin(function(request)))), ..self }
    }
}

fn status(request: &AdmissionRequest<'_>, object: Option<&Value>, refused: Refused) -> Status {
    match refused {
        Refused::Forbidden(why) => Status::forbidden(request.resource(), request.refused_name(object), &why),
        Refused::Status(status) => *status,
    }
}

impl AdmissionPlugin for FunctionPlugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        let acts = match phase {
            Phase::Mutate => self.mutate.is_some() && request.operation != Operation::Delete,
            Phase::Validate => self.validate.is_some(),
        };
        acts && self.selector.names(request)
    }

    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Value,
        _: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let Some(mutate) = self.mutate.as_ref().filter(|_| self.selector.selects([Some(object), request.old])) else {
            return MaybeReady::Ready(Ok(()));
        };
        MaybeReady::wait(async move {
            let changed = mutate(AdmittedRequest::new(request, Some(object))).await;
            *object = changed.map_err(|refused| status(request, Some(object), refused))?;
            Ok(())
        })
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        _: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        self.check(request, Some(object))
    }

    fn delete<'a>(&'a self, _: Phase, request: &'a AdmissionRequest<'a>, _: &'a Value) -> Admitted<'a> {
        self.check(request, None)
    }
}

impl FunctionPlugin {
    fn check<'a>(&'a self, request: &'a AdmissionRequest<'a>, object: Option<&'a Value>) -> Admitted<'a> {
        let Some(validate) = self.validate.as_ref().filter(|_| self.selector.selects([object, request.old])) else {
            return MaybeReady::Ready(Ok(()));
        };
        MaybeReady::wait(async move {
            let outcome: Result<()> = validate(AdmittedRequest::new(request, object))
                .await
                .map_err(|refused| status(request, object, refused));
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{registry, wait};
    use crate::{DeleteOptions, Registry, Target, WriteOptions};
    use pintle_schema::value;

    async fn name(request: AdmittedRequest) -> std::result::Result<Value, Refused> {
        let mut object = request.object;
        object.set_at(&["data", "by"], "a function");
        Ok(object)
    }

    async fn keep(request: AdmittedRequest) -> std::result::Result<(), Refused> {
        match (request.operation, request.name.as_str()) {
            (Operation::Delete, "kept") => Err("it is kept".into()),
            (Operation::Create, "odd") => Err(Status::bad_request("odd").into()),
            _ => Ok(()),
        }
    }

    fn target(registry: &Registry, plural: &str, name: &str) -> Target {
        registry.target(pintle_groups::find("", "v1", plural).unwrap(), "default", name).unwrap()
    }

    #[test]
    fn functions_see_what_is_selected() {
        let mut registry = registry();
        let labelled = LabelSelector::parse("mine").unwrap();
        let mutating = RequestSelector::resource("", "configmaps").labelled(labelled);
        registry.admission.plugins = vec![
            Arc::new(FunctionPlugin::new("Names", mutating).mutating(name)),
            Arc::new(FunctionPlugin::new("Keeps", RequestSelector::resource("*", "configmaps")).validating(keep)),
        ];
        let create = |plural: &str, object: Value| {
            let (target, options) = (target(&registry, plural, ""), WriteOptions::default());
            wait(registry.create(&target, object, &options)).map(drop).map_err(|status| status.message)
        };
        let delete = |name: &str| {
            let target = target(&registry, "configmaps", name);
            wait(registry.delete(&target, &DeleteOptions::default())).map(drop).map_err(|status| status.message)
        };
        let by = |name: &str| {
            let target = target(&registry, "configmaps", name);
            registry.decode(&target, &target.get().unwrap()).unwrap().str_at(&["data", "by"]).to_owned()
        };
        assert_eq!(create("configmaps", value!({"metadata": {"name": "kept", "labels": {"mine": ""}}})), Ok(()));
        assert_eq!(create("configmaps", value!({"metadata": {"name": "free"}})), Ok(()));
        assert_eq!((by("kept"), by("free")), ("a function".to_owned(), String::new()));
        assert_eq!(create("configmaps", value!({"metadata": {"name": "odd"}})), Err("odd".to_owned()));
        assert_eq!(create("secrets", value!({"metadata": {"name": "odd"}})), Ok(()));
        assert_eq!(delete("kept"), Err("configmaps \"kept\" is forbidden: it is kept".to_owned()));
        assert_eq!(delete("free"), Ok(()));
    }
}
