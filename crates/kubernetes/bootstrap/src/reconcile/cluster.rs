//! The `kubernetes` service and its endpoints, published certificates and APIServices.
//!
//! Only the fields that the server owns are written; cluster addresses, labels and other keys are kept.

use super::{API_SERVICE_AUTOMANAGED, SINCE};
use crate::trust;
use pintle_schema::{ApiValue, FieldName, Time, Value, View, ViewMut};
use pintle_types::apiregistration::v1::APIService;
use pintle_types::core::v1::{ConfigMap, Endpoints, Service, ServicePort, ServiceSpec};
use pintle_types::discovery::v1::EndpointSlice;
use pintle_types::meta::v1::{Condition, ObjectMeta};
use pintle_types::networking::v1::{ServiceCIDR, ServiceCIDRStatus};

pub(super) fn service(existing: &Value, wanted: &Value) -> Option<Value> {
    let old = ServiceSpec::from_value(existing.get("spec")?).ok()?;
    let wanted = ServiceSpec::from_value(wanted.get("spec")?).ok()?;
    let is_same_port = |(old, wanted): (&ServicePort, &ServicePort)| {
        old.protocol == wanted.protocol && old.port == wanted.port && old.target_port == wanted.target_port
    };
    let is_same = old.r#type == wanted.r#type
        && old.ports.len() == wanted.ports.len()
        && old.ports.iter().zip(&wanted.ports).all(is_same_port);
    if is_same {
        return None;
    }
    let mut changed = existing.clone();
    let mut spec = ViewMut::<Service>::new(&mut changed).field(Service::SPEC);
    spec.by_ref().field(ServiceSpec::PORTS).set(wanted.ports);
    spec.field(ServiceSpec::TYPE).set(wanted.r#type);
    Some(changed)
}

pub(super) fn service_range(existing: &Value, wanted: &Value) -> Option<Value> {
    let conditions = View::<ServiceCIDR>::new(existing).field(ServiceCIDR::STATUS).field(ServiceCIDRStatus::CONDITIONS);
    let is_told = conditions.iter().any(|condition| condition.field(Condition::TYPE).as_str() == "Ready");
    let spec = |of| View::<ServiceCIDR>::new(of).field(ServiceCIDR::SPEC).get();
    if is_told || spec(existing) != spec(wanted) {
        return None;
    }
    let mut changed = existing.clone();
    replace(&mut changed, wanted, ServiceCIDR::STATUS)?.then_some(changed)
}

pub(super) fn endpoints(existing: &Value, wanted: &Value) -> Option<Value> {
    let mut changed = existing.clone();
    let mut is_changed = replace(&mut changed, wanted, Endpoints::SUBSETS)?;
    // Without its label another controller would mirror it into a second slice.
    for (key, value) in labels(wanted) {
        let mut all = labels(&changed);
        if all.get(&key) != Some(&value) {
            all.insert(key, value);
            ViewMut::<Endpoints>::new(&mut changed).field(Endpoints::METADATA).field(ObjectMeta::LABELS).set(all);
            is_changed = true;
        }
    }
    is_changed.then_some(changed)
}

pub(super) fn endpoint_slice(existing: &Value, wanted: &Value) -> Option<Value> {
    let mut changed = existing.clone();
    let is_moved = replace(&mut changed, wanted, EndpointSlice::ENDPOINTS)?;
    let has_other_ports = replace(&mut changed, wanted, EndpointSlice::PORTS)?;
    (is_moved || has_other_ports).then_some(changed)
}

/// Whether the addresses are of another family: a slice has one for good.
pub(super) fn is_of_another_type(existing: &Value, wanted: &Value) -> bool {
    let of = |slice| View::<EndpointSlice>::new(slice).field(EndpointSlice::ADDRESS_TYPE).get();
    of(existing) != of(wanted)
}

/// Several servers with different CAs write the same config map, so existing CAs are kept.
pub(super) fn trusted_certificates(existing: &Value, wanted: &Value, now: Time) -> Option<Value> {
    let data = |of| View::<ConfigMap>::new(of).field(ConfigMap::DATA).get();
    let old = data(existing);
    let all = trust::merged(&old, &data(wanted), now).filter(|all| *all != old)?;
    let mut changed = existing.clone();
    ViewMut::<ConfigMap>::new(&mut changed).field(ConfigMap::DATA).set(all);
    Some(changed)
}

pub(super) fn tracking_date(existing: &Value, wanted: &Value) -> Option<Value> {
    let data = |of| View::<ConfigMap>::new(of).field(ConfigMap::DATA).get();
    let mut all = data(existing);
    let is_day = |text: &String| text.len() == "2006-01-02".len() && Time::parse(&format!("{text}T00:00:00Z")).is_ok();
    if all.get(SINCE).is_some_and(is_day) {
        return None;
    }
    all.insert(SINCE.to_owned(), data(wanted).remove(SINCE)?);
    let mut changed = existing.clone();
    ViewMut::<ConfigMap>::new(&mut changed).field(ConfigMap::DATA).set(all);
    Some(changed)
}

pub(super) fn api_service(existing: &Value, wanted: &Value) -> Option<Value> {
    if !labels(existing).contains_key(API_SERVICE_AUTOMANAGED) {
        return None;
    }
    let mut changed = existing.clone();
    replace(&mut changed, wanted, APIService::SPEC)?.then_some(changed)
}

fn labels(object: &Value) -> std::collections::BTreeMap<String, String> {
    View::<Service>::new(object).field(Service::METADATA).field(ObjectMeta::LABELS).get()
}

/// Copies a field from the required object. Returns whether it differed; `None` when it cannot be decoded.
fn replace<S, F: ApiValue + PartialEq>(object: &mut Value, wanted: &Value, field: FieldName<S, F>) -> Option<bool> {
    let slot = object.as_map_mut()?.entry(field.name());
    let old = F::from_value(slot).ok()?;
    let wanted = F::from_value(wanted.get(field.name())?).ok()?;
    let is_changed = old != wanted;
    if is_changed {
        *slot = wanted.to_value();
    }
    Some(is_changed)
}
