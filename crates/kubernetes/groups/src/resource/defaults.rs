//! Defaults of the resource group: the number of devices of a request, and the time at which a taint was added.
//!
//! The time of a taint is the only default that depends on the clock.

use crate::defaulting::fields::{is_zero, set_if_null, set_if_zero, text};
use crate::defaulting::{DatedRule, Rule};
use pintle_schema::time::Time;
use pintle_schema::{ApiType, ApiValue, FieldName, Value};
use pintle_types::resource::{v1, v1alpha3, v1beta1, v1beta2};

pub const RULES: &[Rule] = &[
    (v1::ExactDeviceRequest::schema, |request| {
        count(request, v1::ExactDeviceRequest::ALLOCATION_MODE, v1::ExactDeviceRequest::COUNT);
    }),
    (v1::DeviceSubRequest::schema, |request| {
        count(request, v1::DeviceSubRequest::ALLOCATION_MODE, v1::DeviceSubRequest::COUNT);
    }),
    (v1beta2::ExactDeviceRequest::schema, |request| {
        count(request, v1beta2::ExactDeviceRequest::ALLOCATION_MODE, v1beta2::ExactDeviceRequest::COUNT);
    }),
    (v1beta2::DeviceSubRequest::schema, |request| {
        count(request, v1beta2::DeviceSubRequest::ALLOCATION_MODE, v1beta2::DeviceSubRequest::COUNT);
    }),
    (v1beta1::DeviceRequest::schema, device_request),
    (v1beta1::DeviceSubRequest::schema, |request| {
        count(request, v1beta1::DeviceSubRequest::ALLOCATION_MODE, v1beta1::DeviceSubRequest::COUNT);
    }),
];

pub const DATED: &[DatedRule] = &[
    (v1::DeviceTaint::schema, |taint, now| added(taint, now, v1::DeviceTaint::TIME_ADDED)),
    (v1alpha3::DeviceTaint::schema, |taint, now| added(taint, now, v1alpha3::DeviceTaint::TIME_ADDED)),
    (v1beta1::DeviceTaint::schema, |taint, now| added(taint, now, v1beta1::DeviceTaint::TIME_ADDED)),
    (v1beta2::DeviceTaint::schema, |taint, now| added(taint, now, v1beta2::DeviceTaint::TIME_ADDED)),
];

/// The mode, alike in all versions.
const EXACT_COUNT: &str = "ExactCount";

/// An exact count is one unless it is given.
fn count<S, M: ApiValue>(request: &mut Value, mode: FieldName<S, M>, count: FieldName<S, i64>) {
    if matches!(text(request, mode), "" | EXACT_COUNT) {
        set_if_zero(request, count, 1);
    }
}

/// A v1beta1 request that names no device class is one of alternatives, which have modes and counts of their own.
fn device_request(request: &mut Value) {
    type Request = v1beta1::DeviceRequest;
    if !is_zero(request, Request::DEVICE_CLASS_NAME) {
        set_if_zero(request, Request::ALLOCATION_MODE, v1beta1::DeviceAllocationMode::EXACT_COUNT);
        count(request, Request::ALLOCATION_MODE, Request::COUNT);
    }
}

fn added<S>(taint: &mut Value, now: i64, field: FieldName<S, Option<Time>>) {
    set_if_null(taint, field, Time::from_seconds(now));
}
