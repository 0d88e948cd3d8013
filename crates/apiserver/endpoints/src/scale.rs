//! The scale of an object: its actual and desired number of replicas, whatever its kind. Guarantees that a write changes the
//! number of replicas and its ownership, and nothing else of the object. Must never know where a kind keeps its replicas: its
//! resource does.

use crate::apply::Configuration;
use crate::audit;
use crate::context::Context;
use crate::decode::{self, Expected};
use crate::encoding::{self, Converted, IncludeObject, MediaTypeOptions, ObjectEncoder, PatchType, ResponseKind};
use crate::patch::Patch;
use crate::query::{FieldValidation, patch_options, write_options};
use crate::read::{include_object, reject_export};
use crate::request::{Request, Verb};
use crate::response::ApiResponse;
use crate::selectors::label_selector;
use crate::write::{check_name, check_namespace, read_body, with_more_warnings};
use pintle_meta::autoscaling::v1::Scale;
use pintle_meta::meta::v1;
use pintle_registry::scale::{Scaling, managers_of_scale, settle_managers};
use pintle_registry::update::{ManagedFieldsUpdate, Update, check_names_version, precondition_failed};
use pintle_registry::{
    AdmissionMode, Details, Payload, Phase, Result, Status, SubresourceView, Target, metadata, prepare, set_type,
    status,
};
use pintle_resource::{
    Action, CREATION_DESCRIPTION, Column, NAME_DESCRIPTION, NameRule, Now, Printer, ScalePaths, Subresource,
};
use pintle_schema::Str;
use pintle_schema::gates::NO_GATES;
use pintle_schema::label_selector::LabelSelector;
use pintle_schema::{ApiType, ApiValue, Time, Value, canonicalize, value};
use pintle_validation::ErrorList;
use pintle_validation::metadata as rules;
use std::sync::{Arc, Mutex};

/// A request for the scale of an object.
#[derive(Clone, Copy)]
pub(crate) struct ScaleCall<'a> {
    pub context: &'a Context,
    pub target: &'a Target,
    pub subresource: &'a Subresource,
    pub wanted: MediaTypeOptions,
}

/// Gets or sets the scale of an object.
///
/// # Errors
/// The body is rejected, or the object that results from it.
pub(crate) async fn serve(
    call: ScaleCall<'_>,
    paths: &ScalePaths,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse> {
    let ScaleCall { context, target, .. } = call;
    let registry = &context.api.registry;
    let encoder = async |payload: &Payload| -> Result<Value> {
        let (wanted, include_object) = (MediaTypeOptions::JSON, IncludeObject::None);
        let converted = &Converted::of(registry, target, std::slice::from_ref(payload)).await?;
        let encoder = ObjectEncoder { registry, target, wanted, include_object, converted };
        encoder.served(payload)
    };
    if verb == Verb::Get {
        reject_export(&context.query)?;
        let stored = target.get()?;
        let object = encoder(&Payload::Stored(stored)).await?;
        let problem = target.resource.custom.as_ref().and_then(|custom| custom.scale_problem(&object));
        return match problem {
            Some(why) => Err(Status::internal(why)),
            None => show(call, &scale_of(&object, paths)),
        };
    }
    let patch_type = (verb == Verb::Patch).then(|| context.patch_type(&target.resource)).transpose()?;
    let mut query = match patch_type {
        None => write_options(&context.query, "UpdateOptions", context.request.clone())?,
        Some(kind) => patch_options(&context.query, kind.applies(), context.request.clone())?,
    };
    let bytes = read_body(context, request.body).await?;
    let mut found = Vec::new();
    if let Some(kind) = patch_type {
        audit::request_patch(context, &bytes, kind.format());
        if !kind.applies() {
            // A missing object is reported before errors of the patch.
            target.get()?;
        }
    }
    let sent = SentScale::read(call, patch_type, &bytes, query.field_validation, &mut found)?;
    let sent_scale = match &sent {
        SentScale::Scale(scale) => {
            audit::request_body(context, Scale::schema(), "autoscaling/v1", "Scale", scale);
            // Before the object is looked for.
            check_namespace(target, scale)
                .and_then(|()| check_name(target, scale))
                .map_err(|status| status.with_warnings(found.clone()))?;
            Some(Arc::new(scale.clone()))
        }
        _ => None,
    };
    query.options.admission = AdmissionMode::Subresource(as_scale(sent_scale));
    let query = query;
    let warnings = Mutex::new(found);
    let change = |stored: Option<&Value>| {
        let Some(stored) = stored else { return Err(target.not_found()) };
        let live = scale_of(stored, paths);
        let patched;
        let scaling = match &sent {
            SentScale::Scale(scale) => Scaling::To(scale),
            SentScale::Patch(patch) => {
                let mut found = Vec::new();
                let mut apply =
                    |live: &Value| patch.apply(Scale::schema(), live, &query, &context.api.scheme, &mut found);
                patched = apply(&live).map_err(|error| {
                    // kube-apiserver's message shows the scale with the managers of its replicas.
                    let Some(managers) = managers_of_scale(target, stored, &paths.spec_replicas) else { return error };
                    let mut managed = live.clone();
                    metadata::set(&mut managed, "managedFields", managers);
                    apply(&managed).err().unwrap_or(error)
                })?;
                if let Ok(mut warnings) = warnings.lock() {
                    *warnings = found;
                }
                Scaling::To(&patched)
            }
            SentScale::Configuration(config) => Scaling::Apply(&config.value, query.force == Some(true)),
        };
        let scaled_now = registry.scaled(target, stored, &paths.spec_replicas, &live, &scaling, &query.options);
        if let (Some(_), SentScale::Configuration(_)) = (&target.resource.custom, &sent)
            && scaled_now.as_ref().err().is_none_or(|status| status.code != 400)
            && managers_of_scale(target, stored, &paths.spec_replicas).is_none()
        {
            return Err(not_tracked());
        }
        let (scale, managed) = scaled_now?;
        if let SentScale::Configuration(config) = &sent {
            config.check(query.field_validation)?;
        }
        match (&target.resource.custom, &sent) {
            (None, _) => check(target, &scale)?,
            (Some(_), SentScale::Configuration(_)) if scale != live => return Err(not_converted(target)),
            // The object that the scale makes is validated, not the scale.
            (Some(_), _) => {
                check_namespace(target, &scale)?;
                check_name(target, &scale)?;
            }
        }
        let (uid, stored_uid) = (metadata::text(&scale, "uid"), metadata::text(stored, "uid"));
        // For updates the uid is a precondition of the store, which has its own message.
        let is_other = patch_type.is_some() && !uid.is_empty() && uid != stored_uid;
        if is_other && target.resource.custom.is_none() {
            return Err(another_scale(target, uid, stored_uid));
        }
        let mut object = scaled(stored, &scale, managed, paths);
        if is_other {
            // kube-apiserver does not look at the uid in the scale of a custom resource.
            metadata::set(&mut object, "uid", stored_uid);
        }
        if target.resource.custom.is_some() && metadata::text(&scale, "resourceVersion").is_empty() {
            // Such a kind is not updated without a resourceVersion: it is that of the scaled object.
            metadata::set(&mut object, "resourceVersion", metadata::text(stored, "resourceVersion"));
        }
        if patch_type.is_some() {
            check_names_version(target, &object)?;
        }
        Ok(object)
    };
    let update = Update {
        change: &change,
        part: None,
        create: false,
        from_stored: patch_type.is_some(),
        owners: ManagedFieldsUpdate::Provided,
    };
    let written = registry.update(target, &update, &query.options).await;
    let mut written = with_more_warnings(written, warnings.into_inner().unwrap_or_default())?;
    if let SentScale::Configuration(config) = &sent {
        written.warnings.splice(0..0, config.warnings(query.field_validation));
    }
    let object = encoder(&written.payload).await?;
    Ok(show(call, &scale_of(&object, paths))?.with_warnings(written.warnings))
}

/// The error for a configuration applied to the scale of a custom resource whose number of replicas has no manager.
fn not_tracked() -> Status {
    let version = "autoscaling/v1";
    Status::unexplained(format!(
        "failed to create manager for existing fields: failed to convert live object (/; {version}, Kind=Scale) to proper \
         version: request to convert CR to an invalid group/version: {version}"
    ))
}

/// The error for a body that is no scale, sent for a custom resource: kube-apiserver cannot name the type that it expects.
fn not_decoded(error: Status) -> Status {
    const SCHEME: &str = "k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781";
    match error.code {
        400 => Status::bad_request(format!("no kind is registered for the type v1.Scale in scheme \"{SCHEME}\"")),
        _ => error,
    }
}

/// The error for a configuration applied to the scale of a custom resource, whose versions do not include `Scale`.
fn not_converted(target: &Target) -> Status {
    let (name, version) = (&target.name, "autoscaling/v1");
    Status::unexplained(format!(
        "failed to convert new object (/{name}; {version}, Kind=Scale) to proper version: request to convert CR to an invalid \
         group/version: {version}"
    ))
}

/// How admission sees a write of a scale.
fn as_scale(sent: Option<Arc<Value>>) -> SubresourceView {
    SubresourceView {
        subresource: "scale",
        sent,
        show: shown_scale,
        take_over: take_over_scale,
        settle: settle_managers,
    }
}

/// Where an object of the storage version has its replicas.
fn stored_paths(target: &Target) -> Option<&ScalePaths> {
    let scale = target.stored.hub.subresource("scale").or_else(|| target.resource.subresource("scale"))?;
    match &scale.action {
        Action::Scale(paths) => Some(paths),
        _ => None,
    }
}

fn shown_scale(target: &Target, object: &Value, sent: Option<&Value>, phase: Phase) -> Value {
    let Some(paths) = stored_paths(target) else { return Value::map() };
    let mut scale = match sent {
        Some(sent) => sent_scale(target, sent),
        None => scale_of(object, paths),
    };
    if phase == Phase::Mutate
        && let Some(managers) = managers_of_scale(target, object, &paths.spec_replicas)
    {
        metadata::set(&mut scale, "managedFields", managers);
    }
    scale
}

/// A scale as it was sent, in the namespace of the request.
fn sent_scale(target: &Target, sent: &Value) -> Value {
    let mut scale = sent.clone();
    set_type(&mut scale, "autoscaling/v1", "Scale");
    metadata::clear(&mut scale, "managedFields");
    if target.resource.namespaced {
        metadata::set(&mut scale, "namespace", target.namespace.as_str());
    }
    canonicalize(Scale::schema(), &mut scale);
    scale
}

fn take_over_scale(target: &Target, scale: &Value, object: &mut Value) -> Result<()> {
    if target.resource.custom.is_none() {
        let mut errors = ErrorList::default();
        check_replicas(scale, &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid("autoscaling", "Scale", &target.name, &errors));
        }
    }
    if let Some(paths) = stored_paths(target) {
        object.set_at(&paths.spec_replicas, replicas(scale));
    }
    Ok(())
}

fn check_replicas(scale: &Value, errors: &mut ErrorList) {
    if replicas(scale) < 0 {
        errors.invalid("spec.replicas", replicas(scale), "must be greater than or equal to 0");
    }
}

/// The body of a request to set a scale.
enum SentScale {
    Scale(Value),
    Patch(Patch),
    Configuration(Configuration),
}

impl SentScale {
    fn read(
        call: ScaleCall<'_>,
        patch_type: Option<PatchType>,
        bytes: &[u8],
        validation: FieldValidation,
        warnings: &mut Vec<String>,
    ) -> Result<SentScale> {
        Ok(match patch_type {
            Some(PatchType::Apply(format)) => SentScale::Configuration(Configuration::read(bytes, format)?),
            Some(patch_type) => SentScale::Patch(Patch::read(patch_type, bytes, validation)?),
            None => {
                let schema = call.subresource.schema.as_ref().ok_or_else(Status::method_not_allowed)?;
                let scheme = &call.context.api.scheme;
                let (group, version, kind) = ("autoscaling", "v1", "Scale");
                let expected =
                    Expected { group, version, kind, schema, also: &[], malformed: None, custom: None, scheme };
                let scale = decode::body(&expected, call.context.body_format()?, bytes, validation, warnings);
                let is_custom = call.target.resource.custom.is_some();
                SentScale::Scale(scale.map_err(|error| if is_custom { not_decoded(error) } else { error })?)
            }
        })
    }
}

/// The `Scale` of an object.
fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let number = |path: &[Str]| object.at(path).and_then(Value::as_i64).unwrap_or(0);
    let mut meta = Value::map();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.at(&["metadata", field]) {
            meta.set_at(&[field], value.clone());
        }
    }
    let selector = object.at(&paths.selector).map(selector_text).unwrap_or_default();
    let mut scale = value!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
        "spec": {"replicas": (number(&paths.spec_replicas))},
        "status": {"replicas": (number(&paths.status_replicas)), "selector": selector}
    });
    canonicalize(Scale::schema(), &mut scale);
    scale
}

/// A LabelSelector, or a plain map of labels, as text.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
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

/// The object with the values of its scale.
fn scaled(stored: &Value, scale: &Value, managed: Option<Value>, paths: &ScalePaths) -> Value {
    let mut object = stored.clone();
    metadata::clear(&mut object, "managedFields");
    if let Some(managed) = managed {
        metadata::set(&mut object, "managedFields", managed);
    }
    object.set_at(&paths.spec_replicas, replicas(scale));
    metadata::set(&mut object, "resourceVersion", metadata::text(scale, "resourceVersion"));
    let uid = metadata::text(scale, "uid");
    if !uid.is_empty() {
        metadata::set(&mut object, "uid", uid);
    }
    object
}

fn replicas(scale: &Value) -> i64 {
    scale.at(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0)
}

fn check(target: &Target, scale: &Value) -> Result<()> {
    check_namespace(target, scale)?;
    check_name(target, scale)?;
    let mut errors = ErrorList::default();
    let mut meta = scale.get("metadata").cloned().unwrap_or_default();
    meta.set_at(&["namespace"], target.namespace.as_str());
    // The name is that of an object that exists.
    let check_prefix = |text: &str, is_prefix: bool| match is_prefix {
        true => prepare::check_name(&NameRule::Subdomain, text, true, &NO_GATES),
        false => Vec::new(),
    };
    rules::validate_create(&meta, target.resource.namespaced, &check_prefix, &mut errors);
    rules::validate_kube_finalizers(&meta, &mut errors);
    check_replicas(scale, &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("autoscaling", "Scale", &target.name, &errors)) }
}

/// The 409 for the scale of another object, by its uid.
fn another_scale(target: &Target, uid: &str, stored_uid: &str) -> Status {
    let kind = format!("{}/scale", target.resource.plural);
    let subject = Details { kind, ..status::named(&target.resource, &target.name) };
    Status::conflict_of(subject, &precondition_failed("UID", uid, stored_uid))
}

fn show(call: ScaleCall<'_>, scale: &Value) -> Result<ApiResponse> {
    let ScaleCall { context, target, wanted, .. } = call;
    let body = match wanted.shape {
        ResponseKind::Table => {
            let include = include_object(&context.query, wanted)?;
            let printer = &ScalePrinter { is_custom: target.resource.custom.is_some() };
            let now = context.api.registry.environment.now_unix();
            let rows = encoding::made_rows(printer, std::slice::from_ref(scale), include, now, wanted);
            let meta = value!({"resourceVersion": (metadata::text(scale, "resourceVersion"))});
            encoding::encode(&encoding::table(printer, meta, true, rows, wanted), v1::Table::schema(), wanted)
        }
        // kube-apiserver has no internal type for the scale of a custom resource.
        ResponseKind::PartialList if target.resource.custom.is_some() => {
            return Err(encoding::type_is_no_list("v1.Scale"));
        }
        _ => encoding::made(scale, "Scale", Scale::schema(), wanted)?,
    };
    Ok(ApiResponse::new(200, wanted.format.content_type(), body))
}

/// The columns of a scale.
struct ScalePrinter {
    /// The kind was defined at run time, and its columns are such a kind's.
    is_custom: bool,
}

impl Printer for ScalePrinter {
    fn columns(&self) -> Vec<Column> {
        let text = Str::new_static;
        let column = |name, ty, description| Column {
            name: text(name),
            ty: text(ty),
            format: text(""),
            description: text(description),
            priority: 0,
        };
        if self.is_custom {
            return vec![
                Column { format: text("name"), ..column("Name", "string", NAME_DESCRIPTION) },
                column("Desired", "integer", "Number of desired replicas"),
                column("Available", "integer", "Number of actual replicas"),
                column("Age", "date", CREATION_DESCRIPTION),
            ];
        }
        vec![
            column("Name", "string", NAME_DESCRIPTION),
            column("Desired", "integer", "How many pods there should be."),
            column("Available", "integer", "How many pods there are."),
            column("Age", "string", CREATION_DESCRIPTION),
        ]
    }

    fn cells(&self, scale: &Value, now: &Now) -> Vec<Value> {
        let number = |path: &[&str]| scale.at(path).and_then(Value::as_i64).unwrap_or(0).into();
        let created = Time::parse(scale.str_at(&["metadata", "creationTimestamp"]));
        vec![
            scale.str_at(&["metadata", "name"]).into(),
            number(&["spec", "replicas"]),
            number(&["status", "replicas"]),
            created.map_or_else(|_| "<unknown>".to_owned(), |created| now.since(created.seconds)).into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_shown_as_it_was_sent() {
        let resource = pintle_groups::find("apps", "v1", "deployments").expect("a known resource");
        let stored = pintle_resource::StoredVersions::new(vec![resource.clone()]).expect("a stored resource");
        let target = Target {
            resource: resource.clone(),
            stored: Arc::new(stored),
            cache: Arc::new(pintle_cache::ResourceCache::new("", [])),
            namespace: "n".to_owned(),
            name: "d".to_owned(),
            tells_unreadable: false,
        };
        let sent = value!({"metadata": {"name": "d"}, "spec": {"replicas": 3}});
        let stored = value!({"metadata": {"name": "d", "uid": "u"}, "spec": {"replicas": 1}});
        let shown = shown_scale(&target, &stored, Some(&sent), Phase::Mutate);
        assert_eq!(["name", "namespace", "uid"].map(|field| metadata::text(&shown, field)), ["d", "n", ""]);
        assert_eq!(replicas(&shown), 3);
        let derived = shown_scale(&target, &stored, None, Phase::Validate);
        assert_eq!((derived.str_at(&["metadata", "uid"]), replicas(&derived)), ("u", 1));
    }

    #[test]
    fn replicas_are_not_negative() {
        for (replicas, is_valid) in [(-1_i64, false), (0, true), (3, true)] {
            let mut errors = ErrorList::default();
            check_replicas(&value!({"spec": {"replicas": replicas}}), &mut errors);
            assert_eq!(errors.is_empty(), is_valid, "{replicas}");
        }
    }
}
