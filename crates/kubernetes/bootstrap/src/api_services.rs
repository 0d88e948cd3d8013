//! An APIService for each group-version that the server serves itself.
//!
//! Their specs follow the server as long as their label says so; the caller determines the group-versions.

use crate::object::{BootstrapObject, Kind, metadata, type_meta};
use crate::reconcile::{API_SERVICE_AUTOMANAGED, Reconcile};
use crate::{LocalApiService, Settings};
use pintle_schema::Time;
use pintle_types::apiregistration::v1::{
    APIService, APIServiceCondition, APIServiceConditionType, APIServiceSpec, APIServiceStatus, ConditionStatus,
};

const API_SERVICE: Kind =
    Kind { group: "apiregistration.k8s.io", version: "v1", plural: "apiservices", kind: "APIService" };

pub(crate) fn objects(settings: &Settings, out: &mut Vec<BootstrapObject>) {
    for local in &settings.api_services {
        out.push(API_SERVICE.object("", Reconcile::ApiService, &api_service(local, settings.now)));
    }
}

fn api_service(local: &LocalApiService, now: Time) -> APIService {
    let name = format!("{}.{}", local.version, local.group);
    APIService {
        type_meta: type_meta(API_SERVICE),
        metadata: metadata(&name, "", &[(API_SERVICE_AUTOMANAGED, "onstart")], &[]),
        spec: APIServiceSpec {
            group: local.group.clone(),
            version: local.version.clone(),
            group_priority_minimum: local.group_priority,
            version_priority: local.version_priority,
            ..Default::default()
        },
        status: APIServiceStatus {
            conditions: vec![APIServiceCondition {
                r#type: APIServiceConditionType::AVAILABLE,
                status: ConditionStatus::TRUE,
                last_transition_time: now,
                reason: "Local".to_owned(),
                message: "Local APIServices are always available".to_owned(),
            }],
        },
    }
}
