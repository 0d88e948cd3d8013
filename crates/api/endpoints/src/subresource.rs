//! Subresources: a part of an object, its scale, or an action on it.

use crate::answer::Answer;
use crate::apply::Configuration;
use crate::connect;
use crate::context::Context;
use crate::decode::{self, Expected};
use crate::negotiation::{Offer, Shape, Wanted};
use crate::query::{patch_options, write_options};
use crate::read::{include_object, refuse_export};
use crate::represent::{self, IncludeObject, Presenter};
use crate::request::{Request, ResourcePath};
use crate::review::in_namespace;
use crate::write::{self, Patch, PatchType, read_body};
use pintle_kinds::columns;
use pintle_kinds::resource::{Action, Resource, ScalePaths, Subresource, Verbs};
use pintle_registry::scale::Scaling;
use pintle_registry::update::{Owners, SubresourcePart, Update, failed_precondition, precondition_failed};
use pintle_registry::{Details, Payload, Result, Status, Target, WriteOptions, metadata, status};
use pintle_schema::label_selector::{Expression, LabelSelector};
use pintle_schema::{ApiType, ApiValue, Str, Time, Value, View, ViewMut, canonicalize, names, value};
use pintle_types::autoscaling::v1::Scale;
use pintle_types::core::v1::{Binding, ConditionStatus, Pod, PodCondition, PodConditionType, PodSpec, PodStatus};
use pintle_types::meta::v1;
use pintle_validation::metadata as rules;
use std::sync::Mutex;

/// Answers a request for a subresource.
///
/// # Errors
/// There is no such subresource or verb, or what it does is refused.
pub async fn serve(
    context: &Context,
    resource: &'static Resource,
    path: &ResourcePath,
    request: Request,
) -> Result<Answer> {
    let subresource = resource.subresource(&path.subresource).ok_or_else(Status::no_such_path)?;
    let verb = match context.method.as_str() {
        "GET" => Verbs::GET,
        // A proxy passes on whatever comes.
        "HEAD" | "OPTIONS" if subresource.verbs == Verbs::PROXY => Verbs::GET,
        "PUT" => Verbs::UPDATE,
        "PATCH" => Verbs::PATCH,
        "POST" => Verbs::CREATE,
        "DELETE" => Verbs::DELETE,
        _ => return Err(Status::method_not_allowed()),
    };
    if !subresource.verbs.contains(verb) {
        return Err(Status::method_not_allowed());
    }
    if !path.rest.is_empty() && subresource.verbs != Verbs::PROXY {
        return Err(Status::no_such_path());
    }
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = context.api.registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    if let Action::Connect = subresource.action {
        return connect::serve(context, &target, subresource, path, request).await;
    }
    if verb == Verbs::PATCH {
        context.patch_type()?;
    }
    let wanted = context.negotiate(match subresource.action {
        Action::Binding | Action::Eviction | Action::Token => Offer::Actions,
        _ => Offer::Objects,
    })?;
    match subresource.action {
        Action::Part(part) => match verb {
            Verbs::GET => crate::read::get(context, &target, wanted).await,
            Verbs::UPDATE => {
                write::update(
                    context,
                    &target,
                    wanted,
                    request,
                    Some(SubresourcePart { name: subresource.name, rules: part }),
                )
                .await
            }
            _ => {
                write::patch(
                    context,
                    &target,
                    wanted,
                    request,
                    Some(SubresourcePart { name: subresource.name, rules: part }),
                )
                .await
            }
        },
        Action::Scale(paths) => scale(context, &target, subresource, paths, wanted, request, verb).await,
        Action::Binding => {
            let (mut object, options, warnings) = body(context, subresource, request).await?;
            in_namespace(&mut object, namespace)?;
            let name = metadata::text(&object, "name");
            if name != path.name {
                return Err(
                    Status::bad_request("name in URL does not match name in Binding object").with_warnings(warnings)
                );
            }
            let bound = bind(context, namespace, name, &object, wanted, options.dry_run).await;
            bound.map(|answer| answer.with_warnings(warnings))
        }
        Action::Eviction => crate::eviction::evict(context, &target, subresource, wanted, request).await,
        Action::Token => crate::token::create(context, &target, subresource, wanted, request).await,
        Action::Connect => Err(Status::method_not_allowed()),
    }
}

/// The body of an action, decoded under the subresource's schema.
pub(crate) async fn body(
    context: &Context,
    subresource: &Subresource,
    request: Request,
) -> Result<(Value, WriteOptions, Vec<String>)> {
    let query = write_options(&context.query, "CreateOptions", context.requester())?;
    let bytes = read_body(request.body).await?;
    let (group, version) = subresource.group_version.unwrap_or(("", "v1"));
    let schema = subresource.schema.ok_or_else(Status::method_not_allowed)?();
    // Evictions are taken in the version that older clients write, too.
    let also: &[&str] = if subresource.kind == "Eviction" { &["policy/v1beta1"] } else { &[] };
    let expected = Expected { group, version, kind: subresource.kind, schema, also, malformed: None };
    let mut warnings = Vec::new();
    let object = decode::body(&expected, context.body_format()?, &bytes, query.field_validation, &mut warnings)?;
    Ok((object, query.options, warnings))
}

/// What `Scale` shows of an object.
fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let number = |path| object.at(path).and_then(Value::as_i64).unwrap_or(0);
    let mut meta = Value::map();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.at(&["metadata", field]) {
            meta.set_at(&[field], value.clone());
        }
    }
    let selector = object.at(paths.selector).map(selector_text).unwrap_or_default();
    let mut scale = value!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
        "spec": {"replicas": (number(paths.spec_replicas))},
        "status": {"replicas": (number(paths.status_replicas)), "selector": selector}
    });
    canonicalize(Scale::schema(), &mut scale);
    scale
}

/// A LabelSelector, or a plain map of labels, as text.
fn selector_text(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let pairs = |value: Option<&Value>| -> Vec<(String, String)> {
        value
            .and_then(Value::as_map)
            .into_iter()
            .flat_map(|map| map.iter())
            .map(|(k, v)| (k.to_string(), text(v)))
            .collect()
    };
    let is_selector = selector.get("matchLabels").is_some_and(|labels| labels.as_map().is_some())
        || selector.get("matchExpressions").is_some_and(|list| list.as_list().is_some());
    if !is_selector {
        let labels = pairs(Some(selector));
        return LabelSelector::from_map(labels.iter().map(|(k, v)| (k.as_str(), v.as_str()))).to_string();
    }
    let parts = v1::LabelSelector::from_value(selector).unwrap_or_default();
    label_selector(&parts).map(|selector| selector.to_string()).unwrap_or_default()
}

/// The selector that an object's field says; `None` when it is not valid.
pub(crate) fn label_selector(field: &v1::LabelSelector) -> Option<LabelSelector> {
    let values: Vec<Vec<Str>> =
        field.match_expressions.iter().map(|expression| expression.values.iter().map(Str::new).collect()).collect();
    let expressions = field.match_expressions.iter().zip(&values).map(|(expression, values)| Expression {
        key: &expression.key,
        operator: expression.operator.as_str(),
        values,
    });
    let labels = field.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    LabelSelector::from_parts(labels, expressions).ok()
}

async fn scale(
    context: &Context,
    target: &Target,
    subresource: &Subresource,
    paths: &ScalePaths,
    wanted: Wanted,
    request: Request,
    verb: Verbs,
) -> Result<Answer> {
    let registry = &context.api.registry;
    let presenter = |payload: &Payload| -> Result<Value> {
        let presenter = Presenter { registry, target, wanted: Wanted::JSON, include_object: IncludeObject::None };
        Ok(scale_of(&presenter.served(payload)?, paths))
    };
    if verb == Verbs::GET {
        refuse_export(&context.query)?;
        let stored = target.get()?;
        return show(context, &presenter(&Payload::Stored(stored))?, wanted);
    }
    let patch_type = (verb == Verbs::PATCH).then(|| context.patch_type()).transpose()?;
    let query = match patch_type {
        None => write_options(&context.query, "UpdateOptions", context.requester())?,
        Some(kind) => patch_options(&context.query, kind.applies(), context.requester())?,
    };
    let bytes = read_body(request.body).await?;
    let warnings = Mutex::new(Vec::new());
    let sent = match patch_type {
        Some(PatchType::Apply(format)) => Sent::Configuration(Configuration::read(&bytes, format)?),
        Some(patch_type) => Sent::Patch(Patch::read(patch_type, &bytes, query.field_validation)?),
        None => {
            let schema = subresource.schema.ok_or_else(Status::method_not_allowed)?();
            let expected =
                Expected { group: "autoscaling", version: "v1", kind: "Scale", schema, also: &[], malformed: None };
            let mut found = Vec::new();
            let object = decode::body(&expected, context.body_format()?, &bytes, query.field_validation, &mut found)?;
            if let Ok(mut warnings) = warnings.lock() {
                *warnings = found;
            }
            Sent::Scale(object)
        }
    };
    let change = |stored: Option<&Value>| {
        let Some(stored) = stored else { return Err(target.not_found()) };
        let live = scale_of(stored, paths);
        let patched;
        let scaling = match &sent {
            Sent::Scale(scale) => Scaling::To(scale),
            Sent::Patch(patch) => {
                let mut found = Vec::new();
                patched = patch.apply(Scale::schema(), &live, &query, &mut found)?;
                if let Ok(mut warnings) = warnings.lock() {
                    *warnings = found;
                }
                Scaling::To(&patched)
            }
            Sent::Configuration(config) => Scaling::Apply(&config.value, query.force == Some(true)),
        };
        let (scale, managed) = registry.scaled(target, stored, paths.spec_replicas, &live, &scaling, &query.options)?;
        if let Sent::Configuration(config) = &sent {
            config.check(query.field_validation)?;
        }
        check_scale(target, &scale)?;
        let (uid, stored_uid) = (metadata::text(&scale, "uid"), metadata::text(stored, "uid"));
        // Of what is sent whole the uid is a precondition of the store, which tells it in its own words.
        if patch_type.is_some() && !uid.is_empty() && uid != stored_uid {
            return Err(another_scale(target, uid, stored_uid));
        }
        let mut object = stored.clone();
        metadata::clear(&mut object, "managedFields");
        if let Some(managed) = managed {
            metadata::set(&mut object, "managedFields", managed);
        }
        object.set_at(paths.spec_replicas, scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0));
        metadata::set(&mut object, "resourceVersion", metadata::text(&scale, "resourceVersion"));
        if !uid.is_empty() {
            metadata::set(&mut object, "uid", uid);
        }
        Ok(object)
    };
    let update = Update {
        change: &change,
        part: None,
        create: false,
        from_stored: patch_type.is_some(),
        owners: Owners::Settled,
    };
    let written = registry.update(target, &update, &query.options).await;
    let mut warnings = warnings.into_inner().unwrap_or_default();
    let written = written.map_err(|mut status| {
        warnings.append(&mut status.warnings);
        status.with_warnings(std::mem::take(&mut warnings))
    })?;
    if let Sent::Configuration(config) = &sent {
        warnings.extend(config.warnings(query.field_validation));
    }
    warnings.extend(written.warnings);
    Ok(show(context, &presenter(&written.payload)?, wanted)?.with_warnings(warnings))
}

enum Sent {
    Scale(Value),
    Patch(Patch),
    Configuration(Configuration),
}

fn check_scale(target: &Target, scale: &Value) -> Result<()> {
    write::check_namespace(target, scale)?;
    let name = metadata::text(scale, "name");
    if name != target.name {
        return Err(Status::bad_request(match name {
            "" => format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                target.name
            ),
            name => format!("the name of the object ({name}) does not match the name on the URL ({})", target.name),
        }));
    }
    let mut errors = pintle_validation::ErrorList::default();
    let mut meta = scale.get("metadata").cloned().unwrap_or_default();
    meta.set_at(&["namespace"], target.namespace.as_str());
    // The name is that of an object that exists.
    rules::validate_create(&meta, target.resource.namespaced, &|_, _| Vec::new(), &mut errors);
    rules::validate_kube_finalizers(&meta, &mut errors);
    let replicas = scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 {
        errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0");
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("autoscaling", "Scale", name, &errors)) }
}

/// The 409 for the scale of another object, by its uid.
fn another_scale(target: &Target, uid: &str, stored_uid: &str) -> Status {
    let kind = format!("{}/scale", target.resource.plural);
    let subject = Details { kind, ..status::named(target.resource, &target.name) };
    Status::conflict_of(subject, &precondition_failed("UID", uid, stored_uid))
}

fn show(context: &Context, scale: &Value, wanted: Wanted) -> Result<Answer> {
    let body = match wanted.shape {
        Shape::Table => {
            let include = include_object(&context.query, wanted)?;
            let printer = columns::printer("autoscaling", "Scale");
            let now = context.api.registry.environment.now_unix();
            let rows = represent::made_rows(printer, std::slice::from_ref(scale), include, now, wanted);
            let meta = value!({"resourceVersion": (metadata::text(scale, "resourceVersion"))});
            represent::encode(&represent::table(printer, meta, true, rows, wanted), v1::Table::schema(), wanted)
        }
        _ => represent::made(scale, "autoscaling", "Scale", Scale::schema(), wanted)?,
    };
    Ok(Answer::new(200, wanted.format.content_type(), body))
}

/// Binds a pod to a node, once.
///
/// # Errors
/// The pod is bound, gated or going away.
pub async fn bind(
    context: &Context,
    namespace: &str,
    name: &str,
    binding: &Value,
    wanted: Wanted,
    dry_run: bool,
) -> Result<Answer> {
    let pods = pintle_kinds::find("", "v1", "pods").ok_or_else(Status::no_such_path)?;
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let faults = names::path_segment_name(name);
    if !faults.is_empty() {
        return Err(Status::bad_request(format!("Name parameter invalid: {name:?}: {}", faults.join(";"))));
    }
    let target = context.api.registry.target(pods, namespace, name).ok_or_else(Status::no_such_path)?;
    let [kind, node] = ["kind", "name"].map(|field| binding.str_at(&[Binding::TARGET.name(), field]));
    let mut errors = pintle_validation::ErrorList::default();
    if !matches!(kind, "" | "Node") {
        errors.not_supported("target.kind", kind, &["Node", "<empty>"]);
    }
    if node.is_empty() {
        errors.required("target.name", "");
    }
    if !errors.is_empty() {
        // The reference does not make a refusal of it.
        return Err(Status::unexplained(errors.summary()));
    }
    let environment = context.api.registry.environment.as_ref();
    let change = |stored: Option<&Value>| {
        let Some(stored) = stored else { return Err(target.not_found()) };
        for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
            let [asked, found] = [binding, stored].map(|object| metadata::text(object, field));
            if !asked.is_empty() && asked != found {
                return Err(failed_precondition(&target, what, asked, found, dry_run));
            }
        }
        let spec = View::<Pod>::new(stored).field(Pod::SPEC);
        let bound = spec.field(PodSpec::NODE_NAME).as_str();
        if metadata::is_terminating(stored) {
            return Err(unbound(name, &format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if !bound.is_empty() {
            return Err(unbound(name, &format!("pod {name} is already assigned to node {bound:?}")));
        }
        if spec.field(PodSpec::SCHEDULING_GATES).iter().len() > 0 {
            return Err(unbound(name, &format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        let mut pod = stored.clone();
        pod.set_at(&[Pod::SPEC.name(), PodSpec::NODE_NAME.name()], node);
        let labels = environment.feature_enabled("PodTopologyLabelsAdmission").then_some("labels");
        for field in ["annotations"].into_iter().chain(labels) {
            let told = binding.at(&["metadata", field]).and_then(Value::as_map);
            for (key, value) in told.into_iter().flat_map(|map| map.iter()) {
                pod.set_at(&["metadata", field, key], value.clone());
            }
        }
        if environment.feature_enabled("ClearingNominatedNodeNameAfterBinding") {
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
        // A binding is nobody's write to the pod.
        owners: Owners::Settled,
    };
    let options = WriteOptions { dry_run, requester: context.requester(), ..WriteOptions::default() };
    context.api.registry.update(&target, &update, &options).await?;
    Ok(created(wanted))
}

/// What is answered where something was made to happen.
pub(crate) fn created(wanted: Wanted) -> Answer {
    let wanted = Wanted { shape: Shape::Object, ..wanted };
    let mut success = status::success(None);
    success.set_at(&["code"], 201);
    Answer::new(201, wanted.format.content_type(), represent::encode(&success, v1::Status::schema(), wanted))
}

/// The 409 of a pod that cannot be bound; it names the subresource.
fn unbound(name: &str, why: &str) -> Status {
    let subject = Details { name: name.into(), kind: "pods/binding".into(), ..Details::default() };
    Status::conflict_of(subject, why)
}

/// Says in the pod's conditions that it has a node, where it was said that it has none.
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

/// A binding writes spec and status at once, which neither the pod itself nor its status may. The binding alone is judged.
const BIND: pintle_kinds::strategy::Part =
    pintle_kinds::strategy::Part { keeps: &[], keeps_metadata: false, reset_fields: &[], prepare: None, judged: false };
