//! A small API with every form of field.
#![allow(dead_code)]

use pintle_schema::{
    ApiType, Bytes, Duration, FieldsV1, IntOrString, Json, MicroTime, Quantity, RawExtension, Time, string_type,
};
use std::collections::BTreeMap;

string_type! {
    /// When to start again.
    pub Policy {
        /// Each time.
        ALWAYS = "Always",
    }
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypeMeta {
    pub kind: String,
    #[k8s(name = "apiVersion")]
    pub api_version: String,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Thing {
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    #[k8s(proto = 1)]
    pub metadata: Meta,
    #[k8s(proto = 2)]
    pub spec: ThingSpec,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Meta {
    #[k8s(proto = 1)]
    pub name: String,
    #[k8s(proto = 2)]
    pub labels: BTreeMap<String, String>,
    #[k8s(proto = 3)]
    pub generation: i64,
    #[k8s(proto = 4)]
    pub created: Option<Time>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ThingSpec {
    #[k8s(proto = 1)]
    pub replicas: Option<i32>,
    #[k8s(proto = 3)]
    pub policy: Policy,
    #[k8s(proto = 2, list_type = map, list_map_keys("name"))]
    pub parts: Vec<Part>,
    #[k8s(proto = 4, always)]
    pub enabled: bool,
    #[k8s(proto = 5)]
    pub ratio: Option<f64>,
    #[k8s(proto = 6, inline)]
    pub source: Source,
    #[k8s(proto = 7)]
    pub limits: BTreeMap<String, Quantity>,
    #[k8s(proto = 8)]
    pub inner: Option<Box<ThingSpec>>,
    #[k8s(proto = 9)]
    pub numbers: Vec<i64>,
    #[k8s(proto = 10)]
    pub data: BTreeMap<String, Bytes>,
    #[k8s(proto = 11)]
    pub port: Option<IntOrString>,
    #[k8s(proto = 12)]
    pub renewed: Option<MicroTime>,
    #[k8s(proto = 13)]
    pub timeout: Option<Duration>,
    #[k8s(proto = 14)]
    pub raw: Option<RawExtension>,
    #[k8s(proto = 15)]
    pub example: Option<Json>,
    #[k8s(proto = 16)]
    pub fields: Option<FieldsV1>,
    #[k8s(proto = 17)]
    pub extra: BTreeMap<String, ExtraValue>,
    #[k8s(proto = 18)]
    pub more: Option<SpecOrBool>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Part {
    #[k8s(proto = 1, always)]
    pub name: String,
    #[k8s(proto = 2)]
    pub command: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Source {
    #[k8s(proto = 1)]
    pub disk: Option<Part>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct ExtraValue {
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(json_union = "props_or_bool")]
pub struct SpecOrBool {
    #[k8s(proto = 1)]
    pub allows: bool,
    #[k8s(proto = 2)]
    pub schema: Option<Box<ThingSpec>>,
}
