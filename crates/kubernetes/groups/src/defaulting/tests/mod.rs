//! Invariants of defaulting for objects of every kind, and helpers for the modules below.
//!
//! Objects are compared in their JSON form, so that fields that JSON always has need not be written out.

mod groups;
mod pods;

use crate::tests::resource_for;
use pintle_schema::{ApiType, Form, Presence, Ref, Struct, Type, Value, canonicalize, value, value as v};
use pintle_types::admissionregistration::v1beta1::ValidatingWebhookConfiguration as OldWebhooks;
use pintle_types::apiextensions::v1::CustomResourceDefinition;
use pintle_types::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use pintle_types::autoscaling::v2::HorizontalPodAutoscaler;
use pintle_types::batch::v1::{CronJob, Job};
use pintle_types::certificates::v1beta1::CertificateSigningRequest;
use pintle_types::core::v1::{
    LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate, ReplicationController,
    Secret, Service,
};
use pintle_types::discovery::v1::EndpointSlice;
use pintle_types::networking::v1::NetworkPolicy;
use pintle_types::rbac::v1::RoleBinding;
use pintle_types::resource::{v1 as resource_v1, v1alpha3 as resource_v1alpha3, v1beta1 as resource_v1beta1};
use pintle_types::storage::v1::{CSIDriver, VolumeAttachment};
use pintle_types::{admissionregistration, apiregistration, flowcontrol, networking, node, storage};

/// When objects are defaulted: 2001-09-09T01:46:40Z.
const NOW: i64 = 1_000_000_000;

fn apply(schema: &Struct, object: &mut Value, now: i64) {
    resource_for(schema).defaults.apply(schema, object, now);
}

/// Defaults `input` and compares it with `wanted`, both in the form of the wire; again changes nothing.
#[track_caller]
fn row<T: ApiType>(input: Value, mut wanted: Value) {
    let mut object = input;
    apply(T::schema(), &mut object, NOW);
    canonicalize(T::schema(), &mut object);
    canonicalize(T::schema(), &mut wanted);
    assert_eq!(object, wanted);
    let first = object.clone();
    apply(T::schema(), &mut object, NOW);
    canonicalize(T::schema(), &mut object);
    assert_eq!(object, first, "the second time changes something");
}

/// Defaults `input` and gives what is then at a path.
fn at<T: ApiType>(input: Value, path: &[&str]) -> Value {
    let mut object = input;
    apply(T::schema(), &mut object, NOW);
    object.at(path).cloned().unwrap_or_default()
}

/// An object in which everything that can be there is there, and empty.
fn skeleton(schema: &'static Struct, above: &mut Vec<&'static Struct>) -> Value {
    let mut object = Value::map();
    above.push(schema);
    for field in schema.fields.iter() {
        let value = skeleton_of(&field.ty, above);
        match (field.inline, value) {
            (true, Value::Map(inlined)) => inlined.into_iter().for_each(|(key, item)| object.set_at(&[&key], item)),
            (false, value) if !value.is_null() => object.set_at(&[&field.name], value),
            _ => {}
        }
    }
    above.pop();
    object
}

fn skeleton_of(ty: &'static Type, above: &mut Vec<&'static Struct>) -> Value {
    match ty {
        Type::Struct(Ref::Static(schema)) => {
            let schema = schema();
            let seen = above.iter().any(|other| std::ptr::eq(*other, schema));
            if seen || schema.form != Form::Plain { Value::Null } else { skeleton(schema, above) }
        }
        Type::List(Ref::Static(list)) => match skeleton_of(&list().elem, above) {
            Value::Null => Value::Null,
            item => Value::List(vec![item]),
        },
        Type::Map(Ref::Static(map)) => match skeleton_of(&map().elem, above) {
            Value::Null => Value::Null,
            item => value!({"key": item}),
        },
        _ => Value::Null,
    }
}

/// Complains of constants that are missing in a defaulted object.
fn check_constants(schema: &Struct, object: &Value, path: &str) {
    schema.each_field(&mut |field| {
        let path = format!("{path}.{}", field.name.as_str());
        let value = object.get(&field.name).cloned().unwrap_or_default();
        let zero = field
            .default
            .as_ref()
            .is_some_and(|default| default.to_value().is_zero() && default.to_value() != Value::map());
        if field.default.is_some() && !(zero && field.presence != Presence::Pointer) {
            assert!(!value.is_null(), "{path} is not set");
        }
        check_below(&field.ty, &value, &path);
    });
}

fn check_below(ty: &Type, value: &Value, path: &str) {
    match (ty, value) {
        (Type::Struct(schema), Value::Map(_)) => check_constants(schema, value, path),
        (Type::List(list), Value::List(items)) => items.iter().for_each(|item| check_below(&list.elem, item, path)),
        (Type::Map(map), Value::Map(items)) => items.values().for_each(|item| check_below(&map.elem, item, path)),
        _ => {}
    }
}

const KINDS: &[fn() -> &'static Struct] = &[
    admissionregistration::v1::MutatingAdmissionPolicy::schema,
    admissionregistration::v1::MutatingWebhookConfiguration::schema,
    admissionregistration::v1::ValidatingAdmissionPolicyBinding::schema,
    admissionregistration::v1alpha1::ValidatingAdmissionPolicyBinding::schema,
    apiregistration::v1::APIService::schema,
    flowcontrol::v1::FlowSchema::schema,
    flowcontrol::v1::PriorityLevelConfiguration::schema,
    flowcontrol::v1beta3::PriorityLevelConfiguration::schema,
    networking::v1beta1::Ingress::schema,
    storage::v1beta1::CSIDriver::schema,
    CSIDriver::schema,
    CertificateSigningRequest::schema,
    CronJob::schema,
    CustomResourceDefinition::schema,
    DaemonSet::schema,
    Deployment::schema,
    EndpointSlice::schema,
    HorizontalPodAutoscaler::schema,
    Job::schema,
    LimitRange::schema,
    Namespace::schema,
    NetworkPolicy::schema,
    Node::schema,
    OldWebhooks::schema,
    PersistentVolume::schema,
    PersistentVolumeClaim::schema,
    Pod::schema,
    PodTemplate::schema,
    ReplicaSet::schema,
    ReplicationController::schema,
    RoleBinding::schema,
    Secret::schema,
    Service::schema,
    StatefulSet::schema,
    VolumeAttachment::schema,
    resource_v1::ResourceClaim::schema,
    resource_v1::ResourceSlice::schema,
    resource_v1alpha3::DeviceTaintRule::schema,
    resource_v1beta1::ResourceClaim::schema,
    resource_v1beta1::ResourceSlice::schema,
];

#[test]
fn every_constant_is_set_and_twice_is_as_once() {
    for schema in KINDS {
        let schema = schema();
        let mut object = skeleton(schema, &mut Vec::new());
        apply(schema, &mut object, NOW);
        check_constants(schema, &object, &schema.name);
        canonicalize(schema, &mut object);
        let first = object.clone();
        apply(schema, &mut object, NOW);
        canonicalize(schema, &mut object);
        assert_eq!(object, first, "{}", schema.name.as_str());
    }
}

#[test]
fn objects_of_the_wrong_shape_are_left_alone() {
    for schema in KINDS {
        let mut object = v!([1]);
        apply(schema(), &mut object, NOW);
        let mut object = v!({"metadata": "x", "spec": [1], "status": 1});
        apply(schema(), &mut object, NOW);
    }
    let mut object = v!({"metadata": {"name": "a"}, "handler": "h", "overhead": {"podFixed": {"cpu": "1u"}}});
    let before = object.clone();
    apply(node::v1::RuntimeClass::schema(), &mut object, NOW);
    assert_eq!(object, before, "a group without defaults");
}
