//! The `apiregistration.k8s.io` group: API services.
//!
//! An API service without a service reference, which this server serves itself, is available from the start.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::push;
use pintle_resource::{
    Context, Group, NameRule, Part, Resource, STATUS_ALONE, Storage, Strategy, Subresource, Unserved, WITH_STATUS,
};
use pintle_schema::{Str, Time, Value, ViewMut};
use pintle_types::apiregistration::v1::{
    APIService, APIServiceCondition, APIServiceConditionType, APIServiceSpec, APIServiceStatus, ConditionStatus,
};
use pintle_types::apiregistration::v1beta1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("apiregistration.k8s.io"),
        priority: None,
        built_in: true,
        versions: vec![version("v1", 0)],
        resources: functions.complete(vec![api_services()]),
        internal: Vec::new(),
    }
}

fn api_services() -> Resource {
    Resource {
        storage: Some(Storage::of::<APIService>().under("/registry/apiregistration.k8s.io/apiservices/").as_json()),
        subresources: vec![Subresource::status::<APIService>(&API_SERVICE_STATUS)],
        strategy: &API_SERVICE,
        printer: printer(&columns::API_SERVICE),
        unserved: vec![Unserved::same::<v1beta1::APIService>()],
        ..Resource::of::<APIService>()
    }
}

static API_SERVICE: Strategy =
    Strategy { name: NameRule::None, unconditional_update: false, prepare_create: Some(prepare_create), ..WITH_STATUS };

static API_SERVICE_STATUS: Part = Part {
    keeps: &[
        &["spec"],
        &["metadata", "labels"],
        &["metadata", "annotations"],
        &["metadata", "finalizers"],
        &["metadata", "ownerReferences"],
    ],
    ..STATUS_ALONE
};

fn prepare_create(object: &mut Value, context: &mut Context) {
    let service = ViewMut::<APIService>::new(object);
    if service.view().field(APIService::SPEC).field(APIServiceSpec::SERVICE).is_set() {
        return;
    }
    let available = APIServiceCondition {
        r#type: APIServiceConditionType::AVAILABLE,
        status: ConditionStatus::TRUE,
        last_transition_time: Time::from_seconds(context.now_unix),
        reason: "Local".to_owned(),
        message: "Local APIServices are always available".to_owned(),
    };
    push(service.field(APIService::STATUS).field(APIServiceStatus::CONDITIONS), &available);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::value;

    #[test]
    fn a_local_group_is_available() {
        let local = created(&api_services(), value!({"spec": {"group": "apps"}}));
        let available = value!([{"type": "Available", "status": "True", "lastTransitionTime": "2001-09-09T01:46:40Z",
            "reason": "Local", "message": "Local APIServices are always available"}]);
        assert_eq!(local.at(&["status", "conditions"]), Some(&available));
        let remote =
            created(&api_services(), value!({"spec": {"service": {"name": "a"}}, "status": {"conditions": []}}));
        assert_eq!(remote.at(&["status", "conditions"]), None);
    }
}
