//! Rules of ResourceClaim, ResourceClaimTemplate and DeviceClass.

use super::names as own;
use crate::rules::{Repeats, invalid_each, items, text_in};
use pintle_gates as gates;
use pintle_schema::{FieldName, Value, View, names};
use pintle_types::resource::v1::{
    DeviceAllocationMode, DeviceClaim, DeviceConstraint, DeviceRequest, DeviceSubRequest, DeviceToleration,
    ExactDeviceRequest, OpaqueDeviceConfiguration, ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashSet;

/// The limit on the size of a device configuration, in bytes.
const MAX_PARAMETERS: usize = 10 * 1024;

/// Of lists that are longer, nothing but that is reported.
const MAX_REFERENCES: usize = 32;

/// The spec of a claim is immutable.
pub fn keeps_spec(claim: At<'_, ResourceClaim>, cx: &mut ValidationContext<'_>) {
    claim.field(ResourceClaim::SPEC, |spec| crate::rules::immutable(spec, cx));
}

/// The spec of a template is immutable.
pub fn keeps_template(template: At<'_, ResourceClaimTemplate>, cx: &mut ValidationContext<'_>) {
    template.field(ResourceClaimTemplate::SPEC, |spec| crate::rules::immutable(spec, cx));
}

/// The spec of a claim or of a template's claims.
fn asked<'a>(cx: &ValidationContext<'a>, path: &FieldPath<'_>) -> View<'a, DeviceClaim> {
    let spec: View<'a, ResourceClaimSpec> = match path.to_string().starts_with("spec.spec.") {
        true => {
            cx.root::<ResourceClaimTemplate>().field(ResourceClaimTemplate::SPEC).field(ResourceClaimTemplateSpec::SPEC)
        }
        false => cx.root::<ResourceClaim>().field(ResourceClaim::SPEC),
    };
    spec.field(ResourceClaimSpec::DEVICES)
}

/// Requests have distinct names.
pub fn distinct_requests(requests: At<'_, Vec<DeviceRequest>>, cx: &mut ValidationContext<'_>) {
    distinct(requests, DeviceRequest::NAME, cx);
}

pub fn distinct_subrequests(requests: At<'_, Vec<DeviceSubRequest>>, cx: &mut ValidationContext<'_>) {
    distinct(requests, DeviceSubRequest::NAME, cx);
}

/// The items have each a name of their own. It is reported for the item.
pub fn distinct<T>(list: At<'_, Vec<T>>, name: FieldName<T, String>, cx: &mut ValidationContext<'_>) {
    let all = items(list.new);
    let mut names = Repeats::new(all.len(), |at| text_in(all, at, name));
    for at in 0..all.len() {
        if names.is_repeated(at) {
            cx.errors.duplicate(list.path.index(at), text_in(all, at, name));
        }
    }
}

/// A request has exactly one of `exactly` and `firstAvailable`.
pub fn one_way_of_asking(request: At<'_, DeviceRequest>, cx: &mut ValidationContext<'_>) {
    const ONE: &str = "exactly one of `exactly` or `firstAvailable` is required";
    let choice = items(request.new.field(DeviceRequest::FIRST_AVAILABLE)).len();
    match (request.new.field(DeviceRequest::EXACTLY).is_set(), choice) {
        (false, 0) => cx.errors.required(request.path, ONE),
        (true, 1..) => {
            let detail = format!("{ONE}, but multiple fields are set");
            cx.errors.invalid(request.path, Value::Null, detail);
        }
        _ => {}
    }
}

/// Whether a request has both.
pub fn asks_in_both_ways(request: At<'_, DeviceRequest>, _: &ValidationContext<'_>) -> bool {
    let choice = items(request.new.field(DeviceRequest::FIRST_AVAILABLE)).len();
    request.new.field(DeviceRequest::EXACTLY).is_set() && choice > 0
}

pub fn exact_count(request: At<'_, ExactDeviceRequest>, cx: &mut ValidationContext<'_>) {
    type Request = ExactDeviceRequest;
    let mode = request.new.field(Request::ALLOCATION_MODE).get();
    count(&mode, request.new.field(Request::COUNT).get(), &request.path.to(Request::COUNT), cx);
}

pub fn sub_count(request: At<'_, DeviceSubRequest>, cx: &mut ValidationContext<'_>) {
    type Request = DeviceSubRequest;
    let mode = request.new.field(Request::ALLOCATION_MODE).get();
    count(&mode, request.new.field(Request::COUNT).get(), &request.path.to(Request::COUNT), cx);
}

/// All devices, or so many.
fn count(mode: &DeviceAllocationMode, count: i64, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if *mode == DeviceAllocationMode::ALL && count != 0 {
        let detail = format!("must not be specified when allocationMode is '{}'", mode.as_str());
        cx.errors.invalid(path, count, detail);
    } else if *mode == DeviceAllocationMode::EXACT_COUNT && count <= 0 {
        cx.errors.invalid(path, count, "must be greater than zero");
    }
}

/// The names of requests of the claim, each once.
pub fn request_references(references: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    if items(references.new).len() > MAX_REFERENCES {
        return;
    }
    let mut seen = HashSet::new();
    for (at, name) in references.new.iter().enumerate() {
        let (name, path) = (name.as_str(), references.path.index(at));
        request_reference(name, &path, cx);
        if !seen.insert(name) {
            cx.errors.duplicate(path, name);
        }
    }
}

/// The name of a request of the claim, or of a request and one of its subrequests.
pub fn request_reference(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let detail =
        "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() > 2 {
        return cx.errors.invalid(path, name, detail);
    }
    for part in &parts {
        invalid_each(part, names::dns1123_label(part), path, cx);
    }
    let is_known = asked(cx, path).field(DeviceClaim::REQUESTS).iter().any(|request| {
        let own = request.field(DeviceRequest::NAME).as_str();
        let mut choices = request.field(DeviceRequest::FIRST_AVAILABLE).iter();
        match parts.as_slice() {
            [only] => *only == own,
            [first, second] => {
                *first == own && choices.any(|choice| choice.field(DeviceSubRequest::NAME).as_str() == *second)
            }
            _ => false,
        }
    });
    if !is_known {
        cx.errors.invalid(path, name, detail);
    }
}

/// Devices are alike in an attribute, or all differ in it.
pub fn constraint(constraint: At<'_, DeviceConstraint>, cx: &mut ValidationContext<'_>) {
    let [like, unlike] = [DeviceConstraint::MATCH_ATTRIBUTE, DeviceConstraint::DISTINCT_ATTRIBUTE];
    for field in [like, unlike] {
        if let Some(name) = constraint.new.field(field).some() {
            return own::fully_qualified(name.as_str(), &constraint.path.to(field), cx);
        }
    }
    if cx.enabled(&gates::DRA_CONSUMABLE_CAPACITY) {
        let detail =
            "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
        cx.errors.required(constraint.path, detail);
    } else {
        cx.errors.required(constraint.path.to(like), "");
    }
}

/// The configuration of a driver: any object.
pub fn opaque(config: At<'_, OpaqueDeviceConfiguration>, cx: &mut ValidationContext<'_>) {
    type Config = OpaqueDeviceConfiguration;
    own::driver(config.new.field(Config::DRIVER).as_str(), &config.path.to(Config::DRIVER), cx);
    object(config.new.field(Config::PARAMETERS).value(), &config.path.to(Config::PARAMETERS), cx);
}

/// An object of any shape, not too long.
pub fn object(value: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let is_too_long = match value {
        Value::Raw(text) => text.len() > MAX_PARAMETERS,
        value => pintle_codec::json::to_string(value).len() > MAX_PARAMETERS,
    };
    match value.json_kind() {
        "null" => cx.errors.required(path, ""),
        _ if is_too_long => cx.errors.too_long(path, MAX_PARAMETERS),
        "object" => {}
        _ => cx.errors.invalid(path, "<value omitted>", "must be a valid JSON object"),
    }
}

/// The value of a toleration fits its operator.
pub fn toleration(toleration: At<'_, DeviceToleration>, cx: &mut ValidationContext<'_>) {
    let value = toleration.new.field(DeviceToleration::VALUE).as_str();
    let path = toleration.path.to(DeviceToleration::VALUE);
    match toleration.new.field(DeviceToleration::OPERATOR).value().as_str().unwrap_or_default() {
        "Exists" if !value.is_empty() => cx.errors.invalid(path, value, "must be empty for operator `Exists`"),
        "Equal" => _ = invalid_each(value, names::label_value(value), &path, cx),
        _ => {}
    }
}

/// A resource that nodes do not have of their own.
pub fn extended_resource(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    let Some(text) = name.new.some() else { return };
    let text = text.as_str();
    let is_native = !text.contains('/') || text.contains("kubernetes.io/");
    let is_extended =
        !is_native && !text.starts_with("requests.") && names::label_key(&format!("requests.{text}")).is_empty();
    if !is_extended {
        cx.errors.invalid(name.path, text, "must be a valid extended resource name");
    }
}
