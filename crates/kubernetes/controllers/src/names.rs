//! The controllers' names, and which of them a list of names turns on. Guarantees kube-controller-manager's reading of
//! such lists; an unknown name is an error. Must never depend on what a controller does.

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Empties namespaces that are being deleted, then finalizes them.
    Namespace,
    /// Deletes objects whose owners are gone; carries out foreground deletion and orphaning.
    GarbageCollector,
    /// Deletes expired events.
    EventTtl,
    /// Maintains the status of resource quotas.
    ResourceQuota,
    /// Creates the service account `default` in every namespace.
    ServiceAccount,
    /// Publishes the server's certificate authority in every namespace.
    RootCaCertificatePublisher,
    /// Sets the rules of aggregated cluster roles.
    ClusterRoleAggregation,
    /// Deletes expired bootstrap tokens.
    TokenCleaner,
    /// Deletes finished jobs after their TTL.
    TtlAfterFinished,
    /// Deletes unused service account token secrets.
    LegacyServiceAccountTokenCleaner,
    /// Rewrites objects that are stored in an old version or encryption.
    StorageVersionMigrator,
    /// Checks the expressions of validating admission policies against types.
    ValidatingAdmissionPolicyStatus,
    /// Removes the storage versions that servers which are gone have reported.
    StorageVersionGarbageCollector,
}

/// The name of no controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not in the list of known controllers")]
pub struct UnknownController(pub String);

impl Controller {
    pub const ALL: [Controller; 13] = [
        Controller::Namespace,
        Controller::GarbageCollector,
        Controller::EventTtl,
        Controller::ResourceQuota,
        Controller::ServiceAccount,
        Controller::RootCaCertificatePublisher,
        Controller::ClusterRoleAggregation,
        Controller::TokenCleaner,
        Controller::TtlAfterFinished,
        Controller::LegacyServiceAccountTokenCleaner,
        Controller::StorageVersionMigrator,
        Controller::ValidatingAdmissionPolicyStatus,
        Controller::StorageVersionGarbageCollector,
    ];

    /// Whether it runs in a server that is a part of a control plane. Those that write to every namespace or to bootstrap objects
    /// do not: kube-controller-manager has them, and without it such a server contains only what its users write.
    const fn is_on_beside_others(self) -> bool {
        !matches!(
            self,
            Controller::ServiceAccount
                | Controller::RootCaCertificatePublisher
                | Controller::ClusterRoleAggregation
                | Controller::TokenCleaner
        )
    }

    /// The controllers that run by default in a server that is a part of a control plane.
    pub fn beside_others() -> Vec<Controller> {
        Controller::ALL.into_iter().filter(|controller| controller.is_on_beside_others()).collect()
    }

    /// The name and its short form.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Controller::Namespace => ("namespace-controller", "namespace"),
            Controller::GarbageCollector => ("garbage-collector-controller", "garbagecollector"),
            Controller::EventTtl => ("event-ttl-controller", "event-ttl"),
            Controller::ResourceQuota => ("resourcequota-controller", "resourcequota"),
            Controller::ServiceAccount => ("serviceaccount-controller", "serviceaccount"),
            Controller::RootCaCertificatePublisher => {
                ("root-ca-certificate-publisher-controller", "root-ca-cert-publisher")
            }
            Controller::ClusterRoleAggregation => ("clusterrole-aggregation-controller", "clusterrole-aggregation"),
            Controller::TokenCleaner => ("token-cleaner-controller", "tokencleaner"),
            Controller::TtlAfterFinished => ("ttl-after-finished-controller", "ttl-after-finished"),
            Controller::LegacyServiceAccountTokenCleaner => {
                ("legacy-serviceaccount-token-cleaner-controller", "legacy-service-account-token-cleaner")
            }
            Controller::StorageVersionMigrator => ("storage-version-migrator-controller", "storage-version-migrator"),
            // There is no short form.
            Controller::ValidatingAdmissionPolicyStatus => {
                ("validatingadmissionpolicy-status-controller", "validatingadmissionpolicy-status-controller")
            }
            Controller::StorageVersionGarbageCollector => {
                ("storageversion-garbage-collector-controller", "storage-version-gc")
            }
        }
    }

    /// The controllers that a list enables: `foo` enables one, `-foo` disables it, `*` enables all that are on by
    /// default and not named.
    ///
    /// # Errors
    /// An item names no controller.
    pub fn select<'a>(
        items: impl IntoIterator<Item = &'a str>,
        by_default: &[Controller],
    ) -> Result<Vec<Controller>, UnknownController> {
        let (mut named, mut all) = (Vec::new(), None);
        for item in items {
            let (name, on) = item.strip_prefix('-').map_or((item, true), |name| (name, false));
            if name == "*" {
                all = all.or(Some(on));
                continue;
            }
            let known = Controller::ALL.into_iter().find(|controller| {
                let (long, short) = controller.names();
                name == long || name == short
            });
            named.push((known.ok_or_else(|| UnknownController(name.to_owned()))?, on));
        }
        // The first item that names a controller counts.
        let is_on = |controller: &Controller| {
            let by_name = named.iter().find(|(named, _)| named == controller).map(|(_, on)| *on);
            by_name.or(all.map(|all| all && by_default.contains(controller))).unwrap_or(false)
        };
        Ok(Controller::ALL.into_iter().filter(is_on).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Controller::{EventTtl, GarbageCollector, Namespace, ServiceAccount};

    #[test]
    fn lists_turn_controllers_on_and_off() {
        let default = Controller::beside_others();
        let without =
            |controller| -> Vec<Controller> { default.iter().copied().filter(|other| *other != controller).collect() };
        let rows: [(&[&str], &[Controller]); 9] = [
            (&["*"], &default),
            (&[], &[]),
            (&["-*"], &[]),
            (&["namespace-controller"], &[Namespace]),
            (&["garbagecollector", "event-ttl"], &[GarbageCollector, EventTtl]),
            (&["*", "-namespace"], &without(Namespace)),
            (&["-namespace"], &[]),
            (&["-namespace", "namespace", "*"], &without(Namespace)),
            (&["namespace", "serviceaccount-controller"], &[Namespace, ServiceAccount]),
        ];
        for (items, expected) in rows {
            assert_eq!(Controller::select(items.iter().copied(), &default).as_deref(), Ok(expected), "{items:?}");
        }
        assert_eq!(Controller::select(["*"], &Controller::ALL).as_deref(), Ok(&Controller::ALL[..]));
        let error = Controller::select(["*", "-deployment"], &default).expect_err("unknown");
        assert_eq!(error.to_string(), "\"deployment\" is not in the list of known controllers");
    }
}
