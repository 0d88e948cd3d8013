//! The condition `Available` of APIServices: local ones always are, others if their service is reachable. Must never
//! report a service as available whose server has not responded.

use super::{DesiredCondition, Reference, Rule};
use crate::queue::Outcome;
use crate::resource_index::ResourceIndex;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_cache::Object;
use pintle_registry::Registry;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::apiregistration::v1::{APIService, APIServiceSpec, APIServiceStatus, ServiceReference};
use pintle_types::core::v1::{Service, ServicePort, ServiceSpec, ServiceType};
use pintle_types::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const SERVICES: (&str, &str) = ("", "services");
const SLICES: (&str, &str) = ("discovery.k8s.io", "endpointslices");

/// The label of slices that names their service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

const HTTPS: i32 = 443;

/// The reason if only the server's response is missing.
const UNASKED: &str = "FailedDiscoveryCheck";

/// The interval of checks: a server may fail without a change of an object.
const RECHECK: Duration = Duration::from_secs(30);

/// Checks whether the servers of API services respond.
pub trait ApiServiceCheck: Send + Sync + fmt::Debug {
    /// Sends a discovery request to the server of an API service.
    ///
    /// # Errors
    /// The check failed; the text is the condition's message.
    fn check<'a>(&'a self, registry: &'a Registry, object: &'a Value) -> BoxFuture<'a, Result<(), String>>;
}

/// The condition `Available`.
pub struct Available(pub Option<Arc<dyn ApiServiceCheck>>);

impl Rule for Available {
    const CONDITION: &'static str = "Available";
    const QUEUE: &'static str = "RemoteAvailabilityController";
    const MANAGER: &'static str = "kube-apiserver";
    const SUBJECT: (&'static str, &'static str) = ("apiregistration.k8s.io", "apiservices");
    const DEPENDS_ON: &'static [(&'static str, &'static str)] = &[SERVICES, SLICES];

    fn refers_to(object: &Value) -> Option<Reference> {
        let service = service(object)?;
        let [namespace, name] = [ServiceReference::NAMESPACE, ServiceReference::NAME].map(|field| service.field(field));
        Some(Reference { namespace: namespace.as_str().to_owned(), name: name.as_str().to_owned() })
    }

    fn concerns(reference: &Reference, changed: &Object) -> bool {
        let name = reference.name.as_str();
        reference.namespace == changed.namespace() && (changed.name() == name || is_of(changed, name))
    }

    // A server that does not respond must not delay the others.
    const WORKERS: usize = 8;

    fn evaluate(object: &Value, index: &ResourceIndex) -> DesiredCondition {
        let finding = service(object).and_then(|reference| missing(reference, index));
        let (holds, reason, message) = match (service(object), finding) {
            (None, _) => (true, "Local", "Local APIServices are always available".to_owned()),
            (_, Some((reason, message))) => (false, reason, message),
            (Some(_), None) => (false, UNASKED, "requests are not forwarded to services".to_owned()),
        };
        DesiredCondition { holds, reason, message }
    }

    fn ask<'a>(
        &'a self,
        object: &'a Value,
        found: &'a DesiredCondition,
        index: &'a ResourceIndex,
    ) -> BoxFuture<'a, Option<(DesiredCondition, Outcome)>> {
        async move {
            let check = self.0.as_ref().filter(|_| found.reason == UNASKED)?;
            Some(match check.check(&index.registry, object).await {
                Ok(()) => {
                    let message = "all checks passed".to_owned();
                    (DesiredCondition { holds: true, reason: "Passed", message }, Outcome::After(RECHECK))
                }
                Err(message) => {
                    (DesiredCondition { holds: false, reason: UNASKED, message }, Outcome::RetryWithin(RECHECK))
                }
            })
        }
        .boxed()
    }

    fn conditions(object: &mut Value) -> &mut Value {
        ViewMut::<APIService>::new(object).field(APIService::STATUS).field(APIServiceStatus::CONDITIONS).raw()
    }
}

fn service(object: &Value) -> Option<View<'_, ServiceReference>> {
    View::<APIService>::new(object).field(APIService::SPEC).field(APIServiceSpec::SERVICE).some()
}

fn is_of(slice: &Object, service: &str) -> bool {
    slice.encoded.label(SERVICE_NAME) == Some(service)
}

/// Why a service is not reachable.
fn missing(reference: View<'_, ServiceReference>, index: &ResourceIndex) -> Option<(&'static str, String)> {
    let namespace = reference.field(ServiceReference::NAMESPACE).as_str();
    let name = reference.field(ServiceReference::NAME).as_str();
    let port = reference.field(ServiceReference::PORT).get().unwrap_or(HTTPS);
    let called = format!("service/{name} in {namespace:?}");
    let Some(service) = index.decoded(SERVICES, namespace, name) else {
        return Some(("ServiceNotFound", format!("{called} is not present")));
    };
    let spec = View::<Service>::new(&service).field(Service::SPEC);
    if spec.field(ServiceSpec::TYPE).get() != ServiceType::CLUSTER_IP {
        return None;
    }
    let listens = |offered: &View<'_, ServicePort>| offered.field(ServicePort::PORT).get() == port;
    let Some(offered) = spec.field(ServiceSpec::PORTS).iter().find(listens) else {
        return Some(("ServicePortError", format!("{called} is not listening on port {port}")));
    };
    let port = offered.field(ServicePort::NAME).as_str();
    let slices = index.decoded_in(SLICES, namespace, |slice| is_of(slice, name));
    if slices.is_empty() {
        return Some(("EndpointsNotFound", format!("cannot find endpointslices for {called}")));
    }
    let none = || format!("endpointslices for {called} have no addresses with port name {port:?}");
    (!slices.iter().any(|slice| is_ready(View::new(slice), port))).then(|| ("MissingEndpoints", none()))
}

/// Whether a slice has a ready endpoint for a port. An endpoint without the condition is ready.
fn is_ready(slice: View<'_, EndpointSlice>, port: &str) -> bool {
    let named = |offered: View<'_, EndpointPort>| offered.field(EndpointPort::NAME).get().unwrap_or_default() == port;
    let ready = |endpoint: View<'_, Endpoint>| {
        endpoint.field(Endpoint::CONDITIONS).field(EndpointConditions::READY).get().unwrap_or(true)
    };
    slice.field(EndpointSlice::PORTS).iter().any(named) && slice.field(EndpointSlice::ENDPOINTS).iter().any(ready)
}
