//! The group versions that the kinds of every group, `DeleteOptions` and `WatchEvent`, are listed for.
//!
//! These are facts of kube-apiserver's documents: it lists the versions that it knows, whether they are served or not.

/// Which group versions a document lists.
#[derive(Clone, Copy)]
pub(crate) enum CommonKinds<'a> {
    /// The document is about every group.
    All,
    /// It is about this version of a group.
    Of(&'a str, &'a str),
    /// It is about custom resources.
    OfCustom,
}

impl<'a> CommonKinds<'a> {
    /// Groups and versions in their order.
    pub fn group_versions(self) -> Vec<(&'a str, &'a str)> {
        match self {
            CommonKinds::All => KNOWN.to_vec(),
            CommonKinds::OfCustom => {
                KNOWN.iter().filter(|(group, _)| !NOT_OF_CUSTOM.contains(group)).copied().collect()
            }
            CommonKinds::Of("", "v1") => vec![CORE],
            CommonKinds::Of(group, version) => vec![CORE, (group, version)],
        }
    }
}

const CORE: (&str, &str) = ("", "v1");

/// Groups that clients of custom resources have no types of.
const NOT_OF_CUSTOM: [&str; 4] =
    ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

/// Sorted.
const KNOWN: &[(&str, &str)] = &[
    ("", "v1"),
    ("admission.k8s.io", "v1"),
    ("admission.k8s.io", "v1beta1"),
    ("admissionregistration.k8s.io", "v1"),
    ("admissionregistration.k8s.io", "v1alpha1"),
    ("admissionregistration.k8s.io", "v1beta1"),
    ("apiextensions.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1beta1"),
    ("apiregistration.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1beta1"),
    ("apps", "v1"),
    ("apps", "v1beta1"),
    ("apps", "v1beta2"),
    ("authentication.k8s.io", "v1"),
    ("authentication.k8s.io", "v1alpha1"),
    ("authentication.k8s.io", "v1beta1"),
    ("authorization.k8s.io", "v1"),
    ("authorization.k8s.io", "v1beta1"),
    ("autoscaling", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("batch", "v1beta1"),
    ("certificates.k8s.io", "v1"),
    ("certificates.k8s.io", "v1alpha1"),
    ("certificates.k8s.io", "v1beta1"),
    ("coordination.k8s.io", "v1"),
    ("coordination.k8s.io", "v1alpha2"),
    ("coordination.k8s.io", "v1beta1"),
    ("discovery.k8s.io", "v1"),
    ("discovery.k8s.io", "v1beta1"),
    ("events.k8s.io", "v1"),
    ("events.k8s.io", "v1beta1"),
    ("extensions", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1"),
    ("flowcontrol.apiserver.k8s.io", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1beta2"),
    ("flowcontrol.apiserver.k8s.io", "v1beta3"),
    ("imagepolicy.k8s.io", "v1alpha1"),
    ("internal.apiserver.k8s.io", "v1alpha1"),
    ("networking.k8s.io", "v1"),
    ("networking.k8s.io", "v1beta1"),
    ("node.k8s.io", "v1"),
    ("node.k8s.io", "v1alpha1"),
    ("node.k8s.io", "v1beta1"),
    ("policy", "v1"),
    ("policy", "v1beta1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("rbac.authorization.k8s.io", "v1alpha1"),
    ("rbac.authorization.k8s.io", "v1beta1"),
    ("resource.k8s.io", "v1"),
    ("resource.k8s.io", "v1alpha3"),
    ("resource.k8s.io", "v1beta1"),
    ("resource.k8s.io", "v1beta2"),
    ("scheduling.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1alpha2"),
    ("scheduling.k8s.io", "v1beta1"),
    ("storage.k8s.io", "v1"),
    ("storage.k8s.io", "v1alpha1"),
    ("storage.k8s.io", "v1beta1"),
    ("storagemigration.k8s.io", "v1beta1"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_lists_the_versions_that_it_is_about() {
        assert!(KNOWN.is_sorted());
        assert_eq!(CommonKinds::Of("", "v1").group_versions(), [CORE]);
        assert_eq!(CommonKinds::Of("apps", "v1").group_versions(), [CORE, ("apps", "v1")]);
        let all = CommonKinds::All.group_versions();
        assert!(all.contains(&("apps", "v1beta1")) && all.contains(&("apiextensions.k8s.io", "v1")));
        assert_eq!(CommonKinds::OfCustom.group_versions().len(), all.len() - 7);
    }
}
