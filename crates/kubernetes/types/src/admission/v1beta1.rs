//! Types of `admission.k8s.io/v1beta1`: what is exchanged with admission webhooks.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{Bytes, RawExtension, same_as};

use crate::authentication::v1::UserInfo;
use crate::meta::v1::{GroupVersionKind, GroupVersionResource, Status, TypeMeta};

same_as! { super::v1::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation, PatchType} }
