//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static ENDPOINT_SLICES: &[Unserved] = &[Unserved::converted::<types::discovery::v1beta1::EndpointSlice>(
    "discovery.k8s.io/v1beta1",
    super::endpoint_slice_from_v1beta1,
)];
