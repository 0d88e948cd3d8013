//! The resource `frobbers` in its two versions: storage, conversion, strategy, rules and columns.

use crate::v6::{self, FrobberSpec, RestartPolicy};
use crate::{gates, hub, v7beta1};
use pintle_meta::autoscaling::v1::Scale;
use pintle_resource::{
    Column, Context, Group, Now, Printer, Resource, SPEC_PATHS, STATUS, ScalePaths, Storage, Strategy, Subresource,
    WITH_STATUS,
};
use pintle_schema::{ApiValue, Str, Value, View, ViewMut};
use pintle_validation::{At, CustomRule, Group as Rules, ValidationContext, Validator, at_field, at_type};
use std::sync::Arc;

/// The group of frobbers.
pub const GROUP: &str = "fun.example.com";

/// The group with all versions of its resource.
pub fn group() -> Group {
    let storage = || Storage::of::<v6::Frobber>().under("/registry/fun.example.com/frobbers/");
    let common = |resource: Resource| Resource {
        strategy: &STRATEGY,
        printer: Arc::new(FrobberPrinter),
        rules: Arc::new(Validator::new(&[&RULES])),
        ..resource
    };
    let v6 = Resource {
        storage: Some(storage()),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<v6::Frobber>(&STATUS),
        ],
        ..common(Resource::of::<v6::Frobber>())
    };
    let v7beta1 = Resource {
        storage: Some(
            storage().converting(convert::<v7beta1::Frobber, v6::Frobber>, convert::<v6::Frobber, v7beta1::Frobber>),
        ),
        subresources: vec![
            Subresource::scale::<Scale>(ScalePaths::default()),
            Subresource::status::<v7beta1::Frobber>(&STATUS),
        ],
        ..common(Resource::of::<v7beta1::Frobber>())
    };
    Group::new(GROUP, [v6, v7beta1])
}

/// Converts an object between two versions by way of the hub.
fn convert<From: ApiValue + Into<hub::Frobber>, To: ApiValue + std::convert::From<hub::Frobber>>(object: &mut Value) {
    if let Ok(from) = From::from_value(object) {
        *object = To::from(from.into()).to_value();
    }
}

static STRATEGY: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    prepare_create: Some(|frobber, _| fill_params(frobber)),
    prepare_update: Some(follow_change),
    decorate: Some(fill_params),
    ..WITH_STATUS
};

/// Clients that know only one parameter set that one: it becomes the list.
fn fill_params(frobber: &mut Value) {
    let (param, params) = parameters(frobber);
    if params.is_empty() && !param.is_empty() {
        set_params(frobber, &[param]);
    }
}

/// Applies a change of one of `param` and `params` to the other. A change of both, or of neither, is only validated.
fn follow_change(frobber: &mut Value, old: &Value, _: &mut Context<'_>) {
    let (param, params) = parameters(frobber);
    let (old_param, mut old_params) = parameters(old);
    if old_params.is_empty() && !old_param.is_empty() {
        old_params = vec![old_param.clone()];
    }
    match (param == old_param, params == old_params) {
        (false, true) if param.is_empty() => set_params(frobber, &[]),
        (false, true) => set_params(frobber, &[param]),
        (true, false) if params.is_empty() => set_params(frobber, &old_params),
        // Clearing both restores the list, so that validation rejects the empty `param`.
        (false, false) if param.is_empty() && params.is_empty() => set_params(frobber, &old_params),
        _ => {}
    }
}

fn parameters(frobber: &Value) -> (String, Vec<String>) {
    let spec = View::<v6::Frobber>::new(frobber).field(v6::Frobber::SPEC);
    (spec.field(FrobberSpec::PARAM).as_str().to_owned(), spec.field(FrobberSpec::PARAMS).get())
}

fn set_params(frobber: &mut Value, params: &[String]) {
    let mut frobber = ViewMut::<v6::Frobber>::new(frobber);
    frobber.by_ref().field(v6::Frobber::SPEC).field(FrobberSpec::PARAMS).set(params);
}

/// Rules that tags cannot express.
static RULES: Rules = Rules {
    kinds: &[],
    custom_rules: &[at_type!(FrobberSpec, agreeing), at_field!(FrobberSpec::RESTART_POLICY, on_tuesday)]
        as &[CustomRule],
    ..Rules::NONE
};

/// The singular is the first of the plural. Only an update may leave a frobber without any.
fn agreeing(spec: At<'_, FrobberSpec>, cx: &mut ValidationContext<'_>) {
    let param = spec.new.field(FrobberSpec::PARAM).as_str();
    let params: Vec<String> = spec.new.field(FrobberSpec::PARAMS).get();
    let path = spec.path.to(FrobberSpec::PARAM);
    match params.first() {
        None if param.is_empty() && spec.old.is_some() => {}
        _ if param.is_empty() => cx.errors.required(path, "must be the first of `params`"),
        Some(first) if first == param => {}
        _ => cx.errors.invalid(path, param, "must be the first of `params`"),
    }
}

/// A policy of an alpha feature needs its gate; objects that already have it keep it.
fn on_tuesday(policy: At<'_, RestartPolicy>, cx: &mut ValidationContext<'_>) {
    let gate = &gates::FROBBER_RESTART_POLICY_ON_TUESDAY;
    if policy.new.get() == RestartPolicy::ON_TUESDAY && !policy.unchanged() && !cx.enabled(gate) {
        let why = format!("only allowed if the feature gate {} is enabled", gate.name());
        cx.errors.invalid(policy.path, "OnTuesday", &why);
    }
}

/// The columns of `kubectl get frobbers`.
struct FrobberPrinter;

impl Printer for FrobberPrinter {
    fn columns(&self) -> Vec<Column> {
        let column = |name, ty, format, description| Column {
            name: Str::new_static(name),
            ty: Str::new_static(ty),
            format: Str::new_static(format),
            description: Str::new_static(description),
            priority: 0,
        };
        vec![
            column("Name", "string", "name", "Name of the frobber."),
            column("Height", "integer", "", "Height in inches."),
            column("Param", "string", "", "The first parameter."),
            column("Phase", "string", "", "Where it is in its life."),
        ]
    }

    fn cells(&self, object: &Value, _: &Now) -> Vec<Value> {
        let frobber = View::<v6::Frobber>::new(object);
        let spec = frobber.field(v6::Frobber::SPEC);
        let phase = frobber.field(v6::Frobber::STATUS).field(v6::FrobberStatus::PHASE);
        vec![
            object.str_at(&["metadata", "name"]).into(),
            i64::from(spec.field(FrobberSpec::HEIGHT).get()).into(),
            spec.field(FrobberSpec::PARAM).as_str().into(),
            phase.as_str().into(),
        ]
    }
}
