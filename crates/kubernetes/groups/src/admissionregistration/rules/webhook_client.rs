//! Rules of how a webhook is reached: by a URL, or through a service.

use pintle_cel::library::url;
use pintle_types::admissionregistration::v1::{ServiceReference, WebhookClientConfig};
use pintle_validation::{At, ValidationContext, webhook_client};

/// One of the two ways.
pub fn config(config: At<'_, WebhookClientConfig>, cx: &mut ValidationContext<'_>) {
    type Config = WebhookClientConfig;
    let (web, service) = (config.new.field(Config::URL).some(), config.new.field(Config::SERVICE).is_set());
    match (web, service) {
        (Some(address), false) => {
            let address = address.as_str();
            webhook_client::url(address, url::check(address), &config.path.to(Config::URL), &mut cx.errors);
        }
        (None, true) => config.field(Config::SERVICE, |service| {
            if let Some(service) = service.some() {
                reference(service, cx);
            }
        }),
        _ => cx.errors.required(config.path, "exactly one of url or service is required"),
    }
}

fn reference(service: At<'_, ServiceReference>, cx: &mut ValidationContext<'_>) {
    let path = service.new.field(ServiceReference::PATH).some();
    let of = webhook_client::Service {
        namespace: service.new.field(ServiceReference::NAMESPACE).as_str(),
        name: service.new.field(ServiceReference::NAME).as_str(),
        port: service.new.field(ServiceReference::PORT).get().unwrap_or(443).into(),
        path: path.as_ref().map(|path| path.as_str()),
    };
    webhook_client::service(&of, service.path, &mut cx.errors);
}
