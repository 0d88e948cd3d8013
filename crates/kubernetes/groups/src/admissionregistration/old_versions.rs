//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static MUTATING_WEBHOOK_CONFIGURATIONS: &[Unserved] = &[Unserved::same::<
    types::admissionregistration::v1beta1::MutatingWebhookConfiguration,
>("admissionregistration.k8s.io/v1beta1")];

pub(crate) static VALIDATING_ADMISSION_POLICIES: &[Unserved] = &[Unserved::same::<
    types::admissionregistration::v1alpha1::ValidatingAdmissionPolicy,
>("admissionregistration.k8s.io/v1alpha1")];

pub(crate) static VALIDATING_ADMISSION_POLICY_BINDINGS: &[Unserved] = &[Unserved::same::<
    types::admissionregistration::v1alpha1::ValidatingAdmissionPolicyBinding,
>("admissionregistration.k8s.io/v1alpha1")];

pub(crate) static VALIDATING_WEBHOOK_CONFIGURATIONS: &[Unserved] = &[Unserved::same::<
    types::admissionregistration::v1beta1::ValidatingWebhookConfiguration,
>("admissionregistration.k8s.io/v1beta1")];
