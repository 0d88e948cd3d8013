//! ServiceAccounts.
//!
//! Their secrets are references. The registry issues tokens.

use crate::printing::printer;
use pintle_resource::{Action, Context, GENERAL, Resource, Storage, Strategy, Subresource};
use pintle_schema::{Value, ViewMut};
use pintle_types::authentication;
use pintle_types::core::v1;

pub(super) fn service_accounts() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ServiceAccount>()),
        subresources: vec![
            Subresource::create::<authentication::v1::TokenRequest>("token", Action::Handler)
                .of_group("authentication.k8s.io", "v1"),
        ],
        strategy: &SERVICE_ACCOUNT,
        printer: printer(&super::columns::SERVICE_ACCOUNT),
        warn: Some(super::rules::cluster_warnings::service_account),
        ..Resource::of::<v1::ServiceAccount>()
    }
}

static SERVICE_ACCOUNT: Strategy = Strategy {
    delete_answers_object: true,
    prepare_create: Some(|object, _| name_secrets(object)),
    prepare_update: Some(|object: &mut Value, _: &Value, _: &mut Context| name_secrets(object)),
    ..GENERAL
};

/// Leaves of the references to secrets their names.
fn name_secrets(object: &mut Value) {
    let secrets = ViewMut::<v1::ServiceAccount>::new(object).field(v1::ServiceAccount::SECRETS);
    for secret in secrets.iter_mut() {
        let name = secret.view().field(v1::ObjectReference::NAME).get();
        secret.set(v1::ObjectReference { name, ..Default::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::value;

    #[test]
    fn secrets_are_names() {
        let given = value!({"secrets": [{"kind": "Secret", "name": "a", "namespace": "b", "uid": "c"}]});
        assert_eq!(created(&service_accounts(), given).get("secrets"), Some(&value!([{"name": "a"}])));
    }
}
