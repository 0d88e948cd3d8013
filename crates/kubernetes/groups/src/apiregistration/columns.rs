//! Columns of the group `apiregistration.k8s.io`.
//!
//! Availability is that of the object's condition.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::{Value, View};
use pintle_types::apiregistration::v1::{
    APIService, APIServiceCondition, APIServiceConditionType, APIServiceSpec, APIServiceStatus, ServiceReference,
};

printers! {
    API_SERVICE: APIService |service, now| {
        NAME => name(service),
        string("Service", "The reference to the service that hosts this API endpoint.") => server(service),
        string("Available", "Whether this service is available.") => available(service),
        AGE => age(service, now),
    }
}

fn server(service: View<'_, APIService>) -> Value {
    match service.to(APIService::SPEC).to(APIServiceSpec::SERVICE).some() {
        Some(server) => {
            let namespace = str_of(server.to(ServiceReference::NAMESPACE));
            format!("{namespace}/{}", str_of(server.to(ServiceReference::NAME))).into()
        }
        None => "Local".into(),
    }
}

fn available(service: View<'_, APIService>) -> Value {
    let conditions = service.to(APIService::STATUS).to(APIServiceStatus::CONDITIONS);
    let available = APIServiceConditionType::AVAILABLE;
    let Some(condition) = find(conditions, APIServiceCondition::TYPE, available.as_str()) else {
        return "Unknown".into();
    };
    let status = str_of(condition.to(APIServiceCondition::STATUS));
    let reason = str_of(condition.to(APIServiceCondition::REASON));
    if status == "True" || reason.is_empty() { status.into() } else { format!("{status} ({reason})").into() }
}
