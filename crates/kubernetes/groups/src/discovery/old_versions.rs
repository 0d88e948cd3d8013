//! Versions of this group that are registered and not served: objects may have been stored in them by an older
//! kube-apiserver. Each leads to the storage version, fields that nothing reads any more excepted.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static ENDPOINT_SLICES: &[Unserved] = &[Unserved::converted::<types::discovery::v1beta1::EndpointSlice>(
    "discovery.k8s.io/v1beta1",
    super::endpoint_slice_from_v1beta1,
)];
