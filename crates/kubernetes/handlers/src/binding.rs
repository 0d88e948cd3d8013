//! Binding a pod to a node.
//! Guarantees that a pod is bound once, and not while it is gated or going away.
//! Must never choose the node.

use crate::PODS;
use crate::in_namespace;
use futures_util::future::{BoxFuture, FutureExt};
use pintle_endpoints::context::Context;
use pintle_endpoints::encoding::{AllowedMediaTypes, MediaTypeOptions};
use pintle_endpoints::handler::{Call, Handler};
use pintle_endpoints::query::write_options;
use pintle_endpoints::request::Request;
use pintle_endpoints::response::{ApiResponse, attach_warnings};
use pintle_endpoints::subresource::{body, created};
use pintle_endpoints::write::{decode_object, read_body};
use pintle_gates as gates;
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update, failed_precondition};
use pintle_registry::{AdmissionMode, Details, Result, Status, Target, WriteOptions, metadata, track_posted};
use pintle_resource::Part;
use pintle_schema::{ApiType, Time, Value, View, ViewMut, names};
use pintle_types::core::v1::{Binding, ConditionStatus, Pod, PodCondition, PodConditionType, PodSpec, PodStatus};
use pintle_validation::ErrorList;

/// A binding writes spec and status together, which neither the pod itself nor its status subresource can. Only the
/// binding is validated.
const BIND: Part = Part { keeps: &[], keeps_metadata: false, reset_fields: &[], prepare: None, validated: false };

/// Handles a POST of a binding to a pod.
pub struct PodBinding;

impl Handler for PodBinding {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        let Call { context, path, .. } = call;
        async move {
            let wanted = context.negotiate(AllowedMediaTypes::Actions)?;
            let (mut object, options, mut warnings) = body(context, call.subresource()?, &[], request).await?;
            let bound = async {
                let target = call.target()?;
                in_namespace(&mut object, &path.namespace)?;
                let environment = context.api.registry.environment.as_ref();
                track_posted(Binding::schema(), "v1", "binding", &mut object, &options, environment);
                let (registry, check) = (&context.api.registry, |binding: &mut Value| check(binding, Some(&path.name)));
                registry.admit_action(&target, &path.subresource, &mut object, &options, &mut warnings, &check).await?;
                bind(context, &path.namespace, object, wanted, options.dry_run).await
            };
            let bound = bound.await;
            attach_warnings(bound, warnings)
        }
        .boxed()
    }
}

/// Handles a POST of a binding to its namespace.
pub struct Bindings;

impl Handler for Bindings {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        let Call { context, resource, path, .. } = call;
        async move {
            let wanted = context.negotiate(AllowedMediaTypes::Actions)?;
            let query = write_options(&context.query, "CreateOptions", context.request.clone())?;
            let bytes = read_body(context, request.body).await?;
            let mut warnings = Vec::new();
            let mut object = decode_object(context, resource, &bytes, query.field_validation, &mut warnings)?;
            // In the pod's subresource the uid is that of the pod; here it has no meaning.
            object.remove_at(&["metadata", "uid"]);
            let options = &query.options;
            let bound = async {
                in_namespace(&mut object, &path.namespace)?;
                let environment = context.api.registry.environment.as_ref();
                track_posted(Binding::schema(), "v1", "", &mut object, options, environment);
                let (registry, check) = (&context.api.registry, |binding: &mut Value| check(binding, None));
                if let Some(target) = registry.posted_target(resource, &path.namespace) {
                    registry.admit_action(&target, "", &mut object, options, &mut warnings, &check).await?;
                }
                bind(context, &path.namespace, object, wanted, options.dry_run).await
            };
            let bound = bound.await;
            attach_warnings(bound, warnings)
        }
        .boxed()
    }
}

/// Checks a binding before admission validates it. If the path names a pod it must be the same.
fn check(binding: &Value, pod: Option<&str>) -> Result<()> {
    if pod.is_some_and(|pod| pod != metadata::text(binding, "name")) {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    node_of(binding).map(drop)
}

/// Binds the pod that a binding names to a node, once.
///
/// # Errors
/// The pod is another one, bound, gated or being deleted.
async fn bind(
    context: &Context,
    namespace: &str,
    mut binding: Value,
    wanted: MediaTypeOptions,
    dry_run: bool,
) -> Result<ApiResponse> {
    in_namespace(&mut binding, namespace)?;
    let (name, binding) = (metadata::text(&binding, "name"), &binding);
    // kube-apiserver misses the name when it looks for the pod.
    let node = node_of(binding)?;
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let faults = names::path_segment_name(name);
    if !faults.is_empty() {
        return Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {}", faults.join(";"))));
    }
    let target = context.api.registry.target_of(PODS, namespace, name).ok_or_else(Status::no_such_path)?;
    let environment = context.api.registry.environment.as_ref();
    let change = |stored: Option<&Value>| {
        let Some(stored) = stored else { return Err(target.not_found()) };
        check_bindable(&target, binding, stored, dry_run)?;
        let mut pod = stored.clone();
        pod.set_at(&[Pod::SPEC.name(), PodSpec::NODE_NAME.name()], node);
        let labels = environment.gates().is_on(&gates::POD_TOPOLOGY_LABELS_ADMISSION).then_some("labels");
        for field in ["annotations"].into_iter().chain(labels) {
            let given = binding.at(&["metadata", field]).and_then(Value::as_map);
            for (key, value) in given.into_iter().flat_map(|map| map.iter()) {
                pod.set_at(&["metadata", field, key], value.clone());
            }
        }
        if environment.gates().is_on(&gates::CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING) {
            pod.remove_at(&[Pod::STATUS.name(), PodStatus::NOMINATED_NODE_NAME.name()]);
        }
        mark_scheduled(&mut pod, environment.now_unix());
        Ok(pod)
    };
    let update = Update {
        change: &change,
        part: Some(SubresourcePart { name: "binding", rules: &BIND }),
        create: false,
        from_stored: true,
        // A binding does not change the field managers of the pod.
        owners: ManagedFieldsUpdate::Provided,
    };
    let (context_of, admission) = (context.request.clone(), AdmissionMode::Skip);
    let options = WriteOptions { dry_run, admission, context: context_of, ..WriteOptions::default() };
    context.api.registry.update(&target, &update, &options).await?;
    Ok(created(wanted))
}

/// The name of the node that a binding names.
fn node_of(binding: &Value) -> Result<&str> {
    let [kind, node] = ["kind", "name"].map(|field| binding.str_at(&[Binding::TARGET.name(), field]));
    let mut errors = ErrorList::default();
    if !matches!(kind, "" | "Node") {
        errors.not_supported("target.kind", kind, &["Node", "<empty>"]);
    }
    if node.is_empty() {
        errors.required("target.name", "");
    }
    // kube-apiserver returns this as an error without a reason.
    if errors.is_empty() { Ok(node) } else { Err(Status::unexplained(errors.summary())) }
}

/// Checks that the stored pod is the intended one, and can be bound.
fn check_bindable(target: &Target, binding: &Value, stored: &Value, dry_run: bool) -> Result<()> {
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let [asked, found] = [binding, stored].map(|object| metadata::text(object, field));
        if !asked.is_empty() && asked != found {
            return Err(failed_precondition(target, what, asked, found, dry_run));
        }
    }
    let (name, spec) = (&target.name, View::<Pod>::new(stored).field(Pod::SPEC));
    let bound = spec.field(PodSpec::NODE_NAME).as_str();
    let why = if metadata::is_terminating(stored) {
        format!("pod {name} is being deleted, cannot be assigned to a host")
    } else if !bound.is_empty() {
        format!("pod {name} is already assigned to node {bound:?}")
    } else if spec.field(PodSpec::SCHEDULING_GATES).iter().len() > 0 {
        format!("pod {name} has non-empty .spec.schedulingGates")
    } else {
        return Ok(());
    };
    // It names the subresource.
    let subject = Details { name: name.as_str().into(), kind: "pods/binding".into(), ..Details::default() };
    Err(Status::conflict_of(subject, &why))
}

/// Sets the pod's condition `PodScheduled` if it was false.
fn mark_scheduled(pod: &mut Value, now_unix: i64) {
    let status = ViewMut::<Pod>::new(pod).field(Pod::STATUS);
    let mut conditions = status.view().field(PodStatus::CONDITIONS).get();
    let scheduled = PodCondition {
        r#type: PodConditionType::POD_SCHEDULED,
        status: ConditionStatus::TRUE,
        last_transition_time: Time::from_seconds(now_unix),
        ..PodCondition::default()
    };
    match conditions.iter_mut().find(|condition| condition.r#type == scheduled.r#type) {
        Some(condition) if condition.status == scheduled.status => {
            let last_transition_time = condition.last_transition_time;
            *condition = PodCondition { last_transition_time, ..scheduled };
        }
        Some(condition) => *condition = scheduled,
        None => conditions.push(scheduled),
    }
    status.field(PodStatus::CONDITIONS).set(conditions);
}
