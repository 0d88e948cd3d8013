//! Versions of this group that are registered and not served: objects may have been stored in them by an older
//! kube-apiserver. Each leads to the storage version, fields that nothing reads any more excepted.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static API_SERVICES: &[Unserved] =
    &[Unserved::same::<types::apiregistration::v1beta1::APIService>("apiregistration.k8s.io/v1beta1")];
