//! The feature gates of Kubernetes 1.36, as each release that can be emulated has them, and the values that a command
//! line gives them. Guarantees that only known gates are set, locked ones keep their value, and the gates that a gate
//! requires are enabled with it. Must never implement a feature: the guarded code looks a gate up by name.

use super::gate_effects::unfollowed;
use pintle_discovery::version::EffectiveVersion;
use pintle_endpoints::metrics::{Exposition, Family};
use std::fmt;

use Stage::{Alpha, Beta, Deprecated, Ga};

/// How mature a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Disabled by default.
    Alpha,
    /// Usually enabled by default.
    Beta,
    /// Enabled; the gate will be removed.
    Ga,
    /// The feature will be removed.
    Deprecated,
}

/// What a gate is from a minor release of Kubernetes on, until the next of its specifications.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The release.
    since: u32,
    /// How mature the feature is.
    stage: Stage,
    /// Whether it is enabled by default.
    default: bool,
    /// Whether it can be set at all.
    locked: bool,
}

/// A feature gate.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Its name.
    pub name: &'static str,
    /// The gates that must be enabled with it.
    requires: &'static [&'static str],
    /// By release. Those that ended before the oldest release that can be emulated are left out.
    specs: &'static [Spec],
}

impl Gate {
    /// What the gate is in a release; `None` if the release does not have the feature.
    fn spec(&self, minor: u32) -> Option<&Spec> {
        self.specs.iter().rev().find(|spec| spec.since <= minor)
    }

    fn default(&self, minor: u32) -> bool {
        self.spec(minor).is_some_and(|spec| spec.default)
    }
}

const fn gate(name: &'static str, requires: &'static [&'static str], specs: &'static [Spec]) -> Gate {
    Gate { name, requires, specs }
}

const fn since(minor: u32, stage: Stage, default: bool) -> Spec {
    Spec { since: minor, stage, default, locked: false }
}

const fn locked(minor: u32, stage: Stage, default: bool) -> Spec {
    Spec { since: minor, stage, default, locked: true }
}

/// The values of all gates.
#[derive(Clone, PartialEq, Eq)]
pub struct FeatureGates {
    version: EffectiveVersion,
    /// In the order of `GATES`.
    enabled: Vec<bool>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        FeatureGates::of(EffectiveVersion::default())
    }
}

impl fmt::Debug for FeatureGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.changed()).finish()
    }
}

impl FeatureGates {
    /// The defaults of a version.
    pub fn of(version: EffectiveVersion) -> FeatureGates {
        let enabled = GATES.iter().map(|gate| gate.default(version.emulated_minor)).collect();
        FeatureGates { version, enabled }
    }

    /// Parses the items of `--feature-gates`: `Name=true` in any order; the last value for a name counts.
    pub fn from_settings<'a>(
        settings: impl IntoIterator<Item = &'a str>,
        version: EffectiveVersion,
    ) -> Result<FeatureGates, String> {
        let mut chosen: Vec<(usize, bool)> = Vec::new();
        for setting in settings {
            let (name, value) =
                setting.split_once('=').ok_or_else(|| format!("missing bool value for feature gate {setting}"))?;
            let value = super::values::boolean(value)
                .map_err(|_| format!("invalid value of {name}={value}, it must be true or false"))?;
            // An item may name the component, of which this program has one.
            let name = name.strip_prefix("kube:").unwrap_or(name);
            let at = position(name).ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
            match GATES[at].spec(version.emulated_minor) {
                Some(Spec { locked: true, default, .. }) if *default != value => {
                    return Err(format!("cannot set feature gate {name} to {value}, feature is locked to {default}"));
                }
                Some(_) if unfollowed(name, value) => {
                    return Err(format!(
                        "cannot set feature gate {name} to {value}, this server cannot be without what it does otherwise"
                    ));
                }
                Some(_) => {}
                None => {
                    let EffectiveVersion { emulated_minor, compatibility_minor } = version;
                    return Err(format!(
                        "cannot set feature gate {name} to {value}, feature is PreAlpha at emulated version \
                         1.{emulated_minor}, min compatibility version 1.{compatibility_minor}"
                    ));
                }
            }
            chosen.retain(|(other, _)| *other != at);
            chosen.push((at, value));
        }
        let mut gates = FeatureGates::of(version);
        for (all, stage) in [("AllAlpha", Alpha), ("AllBeta", Beta)] {
            let value = chosen.iter().find(|(at, _)| GATES[*at].name == all);
            if let Some((_, value)) = value {
                gates.set_stage(stage, *value);
            }
        }
        for (at, value) in chosen {
            gates.enabled[at] = value;
        }
        gates.check_requirements()?;
        Ok(gates)
    }

    /// Whether a gate is enabled; false for an unknown name.
    pub fn enabled(&self, name: &str) -> bool {
        position(name).is_some_and(|at| self.enabled[at])
    }

    /// The gates whose value differs from their default, with the value.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, bool)> {
        let changed = |gate: &Gate, value: bool| value != gate.default(self.version.emulated_minor);
        let values = GATES.iter().zip(&self.enabled);
        values.filter_map(move |(gate, value)| changed(gate, *value).then_some((gate.name, *value)))
    }

    /// The gates of features that are alpha in the emulated version and enabled.
    pub fn alpha(&self) -> impl Iterator<Item = &'static str> {
        let is_alpha = |gate: &Gate| gate.spec(self.version.emulated_minor).is_some_and(|spec| spec.stage == Alpha);
        let values = GATES.iter().zip(&self.enabled);
        values.filter_map(move |(gate, value)| (*value && is_alpha(gate)).then_some(gate.name))
    }

    /// Writes the metric of enabled gates.
    pub fn render(&self, out: &mut Exposition) {
        const ENABLED: Family =
            Family::gauge("kubernetes_feature_enabled", "1 for each feature gate that is on.").beta();
        out.family(&ENABLED);
        for (gate, enabled) in GATES.iter().zip(&self.enabled) {
            let Some(spec) = gate.spec(self.version.emulated_minor) else { continue };
            let stage = match spec.stage {
                Alpha => "ALPHA",
                Beta => "BETA",
                Ga => "",
                Deprecated => "DEPRECATED",
            };
            out.sample(ENABLED.name, &[("name", gate.name), ("stage", stage)], u8::from(*enabled));
        }
    }

    fn set_stage(&mut self, stage: Stage, value: bool) {
        for (gate, enabled) in GATES.iter().zip(&mut self.enabled) {
            let spec = gate.spec(self.version.emulated_minor);
            if spec.is_some_and(|spec| spec.stage == stage && !spec.locked) {
                *enabled = value;
            }
        }
    }

    fn check_requirements(&self) -> Result<(), String> {
        for (gate, enabled) in GATES.iter().zip(&self.enabled) {
            let missing: Vec<_> = match enabled {
                true => gate.requires.iter().filter(|name| !self.enabled(name)).copied().collect(),
                false => Vec::new(),
            };
            if !missing.is_empty() {
                let (name, missing) = (gate.name, missing.join(" "));
                return Err(format!("{name} is enabled, but depends on features that are disabled: [{missing}]"));
            }
        }
        Ok(())
    }
}

/// The place of a gate in the table.
pub(super) fn position(name: &str) -> Option<usize> {
    GATES.binary_search_by(|gate| gate.name.cmp(name)).ok()
}

/// All gates, sorted by name.
#[rustfmt::skip]
pub static GATES: &[Gate] = &[
    gate("APIResponseCompression", &[], &[since(16, Beta, true)]),
    gate("APIServerIdentity", &[], &[since(26, Beta, true)]),
    gate("APIServerTracing", &[], &[since(27, Beta, true), locked(34, Ga, true)]),
    gate("APIServingWithRoutine", &[], &[since(30, Alpha, false)]),
    gate("AggregatedDiscoveryRemoveBetaType", &[], &[since(0, Ga, false), since(33, Deprecated, true), locked(35, Deprecated, true)]),
    gate("AllAlpha", &[], &[since(0, Alpha, false)]),
    gate("AllBeta", &[], &[since(0, Beta, false)]),
    gate("AllowDNSOnlyNodeCSR", &[], &[since(31, Deprecated, false)]),
    gate("AllowInsecureKubeletCertificateSigningRequests", &[], &[since(31, Deprecated, false)]),
    gate("AllowOverwriteTerminationGracePeriodSeconds", &[], &[since(0, Ga, true), since(32, Deprecated, false), locked(35, Deprecated, false)]),
    gate("AllowParsingUserUIDFromCertAuth", &[], &[since(33, Beta, true)]),
    gate("AllowServiceExternalIPs", &[], &[since(0, Ga, true)]),
    gate("AllowUnsafeMalformedObjectDeletion", &[], &[since(32, Alpha, false)]),
    gate("AnonymousAuthConfigurableEndpoints", &[], &[since(31, Alpha, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("AnyVolumeDataSource", &[], &[since(24, Beta, true), locked(33, Ga, true)]),
    gate("AtomicFIFO", &[], &[since(36, Beta, true)]),
    gate("AuthorizeNodeWithSelectors", &["AuthorizeWithSelectors"], &[since(31, Alpha, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("AuthorizePodWebsocketUpgradeCreatePermission", &[], &[since(35, Beta, true)]),
    gate("AuthorizeWithSelectors", &[], &[since(31, Alpha, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("BtreeWatchCache", &[], &[since(32, Beta, true), locked(33, Ga, true)]),
    gate("CBORServingAndStorage", &[], &[since(32, Alpha, false)]),
    gate("CPUManagerPolicyAlphaOptions", &[], &[since(23, Alpha, false)]),
    gate("CPUManagerPolicyBetaOptions", &[], &[since(23, Beta, true)]),
    gate("CPUManagerPolicyOptions", &[], &[since(23, Beta, true), locked(33, Ga, true)]),
    gate("CRDObservedGenerationTracking", &[], &[since(35, Beta, false), since(36, Beta, true)]),
    gate("CRDValidationRatcheting", &[], &[since(30, Beta, true), locked(33, Ga, true)]),
    gate("CRIListStreaming", &[], &[since(36, Alpha, false)]),
    gate("CSIServiceAccountTokenSecrets", &[], &[since(35, Beta, true), locked(36, Ga, true)]),
    gate("CSIVolumeHealth", &[], &[since(21, Alpha, false)]),
    gate("ChangeContainerStatusOnKubeletRestart", &[], &[since(0, Ga, true), since(35, Deprecated, false)]),
    gate("ClearingNominatedNodeNameAfterBinding", &[], &[since(34, Alpha, false), since(35, Beta, true)]),
    gate("ClientsAllowCARotation", &[], &[since(36, Beta, true)]),
    gate("ClientsAllowCBOR", &[], &[since(32, Alpha, false)]),
    gate("ClientsAllowTLSCacheGC", &[], &[since(36, Beta, true)]),
    gate("ClientsPreferCBOR", &[], &[since(32, Alpha, false)]),
    gate("CloudControllerManagerWatchBasedRoutesReconciliation", &[], &[since(35, Alpha, false)]),
    gate("CloudControllerManagerWebhook", &[], &[since(27, Alpha, false)]),
    gate("ClusterTrustBundle", &[], &[since(27, Alpha, false), since(33, Beta, false)]),
    gate("ClusterTrustBundleProjection", &["ClusterTrustBundle"], &[since(29, Alpha, false), since(33, Beta, false)]),
    gate("ComponentFlagz", &[], &[since(32, Alpha, false), since(36, Beta, true)]),
    gate("ComponentStatusz", &[], &[since(32, Alpha, false), since(36, Beta, true)]),
    gate("ConcurrentWatchObjectDecode", &[], &[since(31, Beta, false)]),
    gate("ConsistentListFromCache", &[], &[since(31, Beta, true), locked(34, Ga, true)]),
    gate("ConstrainedImpersonation", &[], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("ContainerCheckpoint", &[], &[since(30, Beta, true)]),
    gate("ContainerRestartRules", &[], &[since(34, Alpha, false), since(35, Beta, true)]),
    gate("ContainerStopSignals", &[], &[since(33, Alpha, false)]),
    gate("ContextualLogging", &[], &[since(30, Beta, true)]),
    gate("ControllerManagerReleaseLeaderElectionLockOnExit", &[], &[since(36, Alpha, false)]),
    gate("CoordinatedLeaderElection", &[], &[since(31, Alpha, false), since(33, Beta, false)]),
    gate("CrossNamespaceVolumeDataSource", &[], &[since(26, Alpha, false)]),
    gate("CustomCPUCFSQuotaPeriod", &[], &[since(12, Alpha, false), since(36, Ga, true)]),
    gate("CustomResourceFieldSelectors", &[], &[since(31, Beta, true), locked(32, Ga, true)]),
    gate("DRAAdminAccess", &["DynamicResourceAllocation"], &[since(32, Alpha, false), since(34, Beta, true), locked(36, Ga, true)]),
    gate("DRAConsumableCapacity", &["DynamicResourceAllocation"], &[since(34, Alpha, false), since(36, Beta, true)]),
    gate("DRADeviceBindingConditions", &["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"], &[since(34, Alpha, false), since(36, Beta, true)]),
    gate("DRADeviceTaintRules", &["DRADeviceTaints"], &[since(35, Alpha, false), since(36, Beta, false)]),
    gate("DRADeviceTaints", &["DynamicResourceAllocation"], &[since(33, Alpha, false), since(36, Beta, true)]),
    gate("DRAExtendedResource", &["DynamicResourceAllocation"], &[since(34, Alpha, false), since(36, Beta, true)]),
    gate("DRAListTypeAttributes", &["DynamicResourceAllocation"], &[since(36, Alpha, false)]),
    gate("DRANodeAllocatableResources", &["DynamicResourceAllocation"], &[since(36, Alpha, false)]),
    gate("DRAPartitionableDevices", &["DynamicResourceAllocation"], &[since(33, Alpha, false), since(36, Beta, true)]),
    gate("DRAPrioritizedList", &["DynamicResourceAllocation"], &[since(33, Alpha, false), since(34, Beta, true), since(36, Ga, true)]),
    gate("DRAResourceClaimDeviceStatus", &[], &[since(32, Alpha, false), since(33, Beta, true)]),
    gate("DRAResourceClaimGranularStatusAuthorization", &["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"], &[since(36, Beta, true)]),
    gate("DRAResourcePoolStatus", &["DynamicResourceAllocation"], &[since(36, Alpha, false)]),
    gate("DRASchedulerFilterTimeout", &["DynamicResourceAllocation"], &[since(34, Beta, true)]),
    gate("DRAWorkloadResourceClaims", &["DynamicResourceAllocation", "GenericWorkload"], &[since(36, Alpha, false)]),
    gate("DeclarativeValidation", &[], &[since(33, Beta, true), locked(36, Ga, true)]),
    gate("DeclarativeValidationBeta", &["DeclarativeValidation"], &[since(36, Beta, true)]),
    gate("DeclarativeValidationTakeover", &["DeclarativeValidation"], &[since(33, Beta, false), since(36, Deprecated, false)]),
    gate("DeploymentReplicaSetTerminatingReplicas", &[], &[since(33, Alpha, false), since(35, Beta, true)]),
    gate("DetectCacheInconsistency", &[], &[since(34, Beta, true)]),
    gate("DisableAllocatorDualWrite", &["MultiCIDRServiceAllocator"], &[since(31, Alpha, false), since(33, Beta, false), since(34, Ga, true), locked(35, Ga, true)]),
    gate("DisableCPUQuotaWithExclusiveCPUs", &[], &[since(33, Beta, true), since(36, Deprecated, true)]),
    gate("DisableNodeKubeProxyVersion", &[], &[since(31, Deprecated, false), since(33, Deprecated, true), locked(36, Deprecated, true)]),
    gate("DynamicResourceAllocation", &[], &[since(26, Alpha, false), since(32, Beta, false), since(34, Ga, true), locked(35, Ga, true)]),
    gate("EnvFiles", &[], &[since(34, Alpha, false), since(35, Beta, true)]),
    gate("EventedPLEG", &[], &[since(26, Alpha, false)]),
    gate("ExecProbeTimeout", &[], &[since(20, Ga, true), locked(35, Ga, true)]),
    gate("ExtendWebSocketsToKubelet", &["NodeDeclaredFeatures"], &[since(36, Beta, true)]),
    gate("ExternalServiceAccountTokenSigner", &[], &[since(32, Alpha, false), since(34, Beta, true), locked(36, Ga, true)]),
    gate("GangScheduling", &["GenericWorkload"], &[since(35, Alpha, false)]),
    gate("GenericWorkload", &[], &[since(35, Alpha, false)]),
    gate("GitRepoVolumeDriver", &[], &[since(0, Ga, true), since(33, Deprecated, false), locked(36, Deprecated, false)]),
    gate("GracefulNodeShutdown", &[], &[since(21, Beta, true)]),
    gate("GracefulNodeShutdownBasedOnPodPriority", &["GracefulNodeShutdown"], &[since(24, Beta, true)]),
    gate("HPAConfigurableTolerance", &[], &[since(33, Alpha, false), since(35, Beta, true)]),
    gate("HPAScaleToZero", &[], &[since(16, Alpha, false)]),
    gate("HostnameOverride", &[], &[since(34, Alpha, false), since(35, Beta, true)]),
    gate("ImageMaximumGCAge", &[], &[since(30, Beta, true), locked(35, Ga, true)]),
    gate("ImageVolume", &[], &[since(31, Alpha, false), since(33, Beta, false), since(35, Beta, true), locked(36, Ga, true)]),
    gate("ImageVolumeWithDigest", &["ImageVolume"], &[since(35, Alpha, false)]),
    gate("InOrderInformers", &[], &[since(33, Beta, true), locked(36, Ga, true)]),
    gate("InOrderInformersBatchProcess", &[], &[since(35, Beta, true)]),
    gate("InPlacePodLevelResourcesVerticalScaling", &["InPlacePodVerticalScaling", "NodeDeclaredFeatures", "PodLevelResources"], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("InPlacePodVerticalScaling", &[], &[since(27, Alpha, false), since(33, Beta, true), locked(35, Ga, true)]),
    gate("InPlacePodVerticalScalingExclusiveCPUs", &["InPlacePodVerticalScaling"], &[since(32, Alpha, false)]),
    gate("InPlacePodVerticalScalingExclusiveMemory", &["InPlacePodVerticalScaling"], &[since(34, Alpha, false)]),
    gate("InPlacePodVerticalScalingInitContainers", &["InPlacePodVerticalScaling", "NodeDeclaredFeatures"], &[since(36, Beta, true)]),
    gate("InformerResourceVersion", &[], &[since(30, Alpha, false), since(35, Ga, true)]),
    gate("JobBackoffLimitPerIndex", &[], &[since(29, Beta, true), locked(33, Ga, true)]),
    gate("JobManagedBy", &[], &[since(30, Alpha, false), since(32, Beta, true), locked(35, Ga, true)]),
    gate("JobPodReplacementPolicy", &[], &[since(29, Beta, true), locked(34, Ga, true)]),
    gate("JobSuccessPolicy", &[], &[since(31, Beta, true), locked(33, Ga, true)]),
    gate("KMSv1", &[], &[since(29, Deprecated, false)]),
    gate("KubeletCgroupDriverFromCRI", &[], &[since(31, Beta, true), locked(34, Ga, true)]),
    gate("KubeletCrashLoopBackOffMax", &[], &[since(32, Alpha, false), since(35, Beta, true)]),
    gate("KubeletEnsureSecretPulledImages", &[], &[since(33, Alpha, false), since(35, Beta, true)]),
    gate("KubeletFineGrainedAuthz", &[], &[since(32, Alpha, false), since(33, Beta, true), locked(36, Ga, true)]),
    gate("KubeletInUserNamespace", &[], &[since(22, Alpha, false)]),
    gate("KubeletPSI", &[], &[since(33, Alpha, false), since(34, Beta, true), locked(36, Ga, true)]),
    gate("KubeletPodResourcesDynamicResources", &[], &[since(27, Alpha, false), since(34, Beta, true), locked(36, Ga, true)]),
    gate("KubeletPodResourcesGet", &[], &[since(27, Alpha, false), since(34, Beta, true), locked(36, Ga, true)]),
    gate("KubeletPodResourcesListUseActivePods", &[], &[since(0, Ga, false), since(34, Deprecated, true)]),
    gate("KubeletRegistrationGetOnExistsOnly", &[], &[since(0, Ga, true), since(32, Deprecated, false)]),
    gate("KubeletSeparateDiskGC", &[], &[since(31, Beta, true)]),
    gate("KubeletServiceAccountTokenForCredentialProviders", &[], &[since(33, Alpha, false), since(34, Beta, true)]),
    gate("KubeletTracing", &[], &[since(27, Beta, true), locked(34, Ga, true)]),
    gate("ListFromCacheSnapshot", &[], &[since(33, Alpha, false), since(34, Beta, true)]),
    gate("LocalStorageCapacityIsolationFSQuotaMonitoring", &[], &[since(31, Beta, false)]),
    gate("LogarithmicScaleDown", &[], &[locked(31, Ga, true)]),
    gate("LoggingAlphaOptions", &[], &[since(24, Alpha, false)]),
    gate("LoggingBetaOptions", &[], &[since(24, Beta, true)]),
    gate("ManifestBasedAdmissionControlConfig", &[], &[since(36, Alpha, false)]),
    gate("MatchLabelKeysInPodAffinity", &[], &[since(31, Beta, true), locked(33, Ga, true)]),
    gate("MatchLabelKeysInPodTopologySpread", &[], &[since(27, Beta, true)]),
    gate("MatchLabelKeysInPodTopologySpreadSelectorMerge", &["MatchLabelKeysInPodTopologySpread"], &[since(34, Beta, true)]),
    gate("MaxUnavailableStatefulSet", &[], &[since(24, Alpha, false), since(35, Beta, false)]),
    gate("MemoryQoS", &[], &[since(22, Alpha, false)]),
    gate("MultiCIDRServiceAllocator", &[], &[since(31, Beta, false), since(33, Ga, true), locked(34, Ga, true)]),
    gate("MutableCSINodeAllocatableCount", &[], &[since(33, Alpha, false), since(34, Beta, false), since(35, Beta, true), locked(36, Ga, true)]),
    gate("MutablePVNodeAffinity", &[], &[since(35, Alpha, false)]),
    gate("MutablePodResourcesForSuspendedJobs", &[], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("MutableSchedulingDirectivesForSuspendedJobs", &[], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("MutatingAdmissionPolicy", &[], &[since(32, Alpha, false), since(34, Beta, false), since(36, Ga, true)]),
    gate("NFTablesProxyMode", &[], &[since(31, Beta, true), locked(33, Ga, true)]),
    gate("NativeHistograms", &[], &[since(36, Alpha, false)]),
    gate("NodeDeclaredFeatures", &[], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("NodeInclusionPolicyInPodTopologySpread", &[], &[since(26, Beta, true), locked(33, Ga, true)]),
    gate("NodeLogQuery", &[], &[since(30, Beta, true), locked(36, Ga, true)]),
    gate("NodeSwap", &[], &[since(30, Beta, true), locked(34, Ga, true)]),
    gate("NominatedNodeNameForExpectation", &[], &[since(34, Alpha, false), since(35, Beta, true)]),
    gate("OpenAPIEnums", &[], &[since(24, Beta, true)]),
    gate("OpportunisticBatching", &[], &[since(35, Beta, true)]),
    gate("OrderedNamespaceDeletion", &[], &[since(30, Beta, false), since(33, Beta, true), locked(34, Ga, true)]),
    gate("PLEGOnDemandRelist", &[], &[since(36, Beta, true)]),
    gate("PersistentVolumeClaimUnusedSinceTime", &[], &[since(36, Alpha, false)]),
    gate("PodAndContainerStatsFromCRI", &[], &[since(23, Alpha, false)]),
    gate("PodCertificateRequest", &["AuthorizeNodeWithSelectors"], &[since(34, Alpha, false), since(35, Beta, false)]),
    gate("PodDeletionCost", &[], &[since(22, Beta, true)]),
    gate("PodLevelResourceManagers", &["PodLevelResources"], &[since(36, Alpha, false)]),
    gate("PodLevelResources", &[], &[since(32, Alpha, false), since(34, Beta, true)]),
    gate("PodLifecycleSleepAction", &[], &[since(30, Beta, true), locked(34, Ga, true)]),
    gate("PodLifecycleSleepActionAllowZero", &["PodLifecycleSleepAction"], &[since(32, Alpha, false), since(33, Beta, true), locked(34, Ga, true)]),
    gate("PodLogsQuerySplitStreams", &[], &[since(32, Alpha, false)]),
    gate("PodObservedGenerationTracking", &[], &[since(33, Alpha, false), since(34, Beta, true), locked(35, Ga, true)]),
    gate("PodReadyToStartContainersCondition", &[], &[since(29, Beta, true)]),
    gate("PodSchedulingReadiness", &[], &[locked(30, Ga, true)]),
    gate("PodTopologyLabelsAdmission", &[], &[since(33, Alpha, false), since(35, Beta, true)]),
    gate("PodsAPI", &[], &[since(36, Alpha, false)]),
    gate("PortForwardWebsockets", &[], &[since(31, Beta, true)]),
    gate("PreferSameTrafficDistribution", &[], &[since(33, Alpha, false), since(34, Beta, true), locked(35, Ga, true)]),
    gate("PreventStaticPodAPIReferences", &[], &[since(34, Beta, true)]),
    gate("ProcMountType", &["UserNamespacesSupport"], &[since(31, Beta, false), since(33, Beta, true), locked(36, Ga, true)]),
    gate("QOSReserved", &[], &[since(11, Alpha, false)]),
    gate("RecoverVolumeExpansionFailure", &[], &[since(23, Alpha, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("RecursiveReadOnlyMounts", &[], &[since(31, Beta, true), locked(33, Ga, true)]),
    gate("ReduceDefaultCrashLoopBackOffDecay", &[], &[since(33, Alpha, false)]),
    gate("RelaxedDNSSearchValidation", &[], &[since(32, Alpha, false), since(33, Beta, true), locked(34, Ga, true)]),
    gate("RelaxedEnvironmentVariableValidation", &[], &[since(30, Alpha, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("RelaxedServiceNameValidation", &[], &[since(34, Alpha, false), since(36, Beta, true)]),
    gate("ReloadKubeletClientCAFile", &[], &[since(36, Beta, true)]),
    gate("ReloadKubeletServerCertificateFile", &[], &[since(31, Beta, true)]),
    gate("RemoteRequestHeaderUID", &[], &[since(32, Alpha, false), since(33, Beta, true)]),
    gate("ResilientWatchCacheInitialization", &[], &[since(31, Beta, true), locked(34, Ga, true)]),
    gate("ResourceHealthStatus", &["DynamicResourceAllocation"], &[since(31, Alpha, false), since(36, Beta, true)]),
    gate("ResourceHealthStatusMessage", &["ResourceHealthStatus"], &[since(36, Beta, true)]),
    gate("RestartAllContainersOnContainerExits", &["ContainerRestartRules", "NodeDeclaredFeatures"], &[since(35, Alpha, false), since(36, Beta, true)]),
    gate("RetryGenerateName", &[], &[since(31, Beta, true), locked(32, Ga, true)]),
    gate("RotateKubeletServerCertificate", &[], &[since(12, Beta, true)]),
    gate("RuntimeClassInImageCriApi", &[], &[since(29, Alpha, false)]),
    gate("SELinuxChangePolicy", &[], &[since(32, Alpha, false), since(33, Beta, true), locked(36, Ga, true)]),
    gate("SELinuxMount", &[], &[since(30, Alpha, false), since(33, Beta, false)]),
    gate("SELinuxMountReadWriteOncePod", &[], &[since(28, Beta, true), locked(36, Ga, true)]),
    gate("SchedulerAsyncAPICalls", &[], &[since(34, Beta, false)]),
    gate("SchedulerAsyncPreemption", &[], &[since(32, Alpha, false), since(33, Beta, true)]),
    gate("SchedulerPopFromBackoffQ", &[], &[since(33, Beta, true)]),
    gate("SchedulerQueueingHints", &[], &[since(28, Beta, false), since(32, Beta, true), locked(34, Ga, true)]),
    gate("SeparateCacheWatchRPC", &[], &[since(28, Beta, true), since(33, Deprecated, false), locked(36, Deprecated, false)]),
    gate("SeparateTaintEvictionController", &[], &[since(29, Beta, true), locked(34, Ga, true)]),
    gate("ServiceAccountNodeAudienceRestriction", &[], &[since(32, Beta, false), since(33, Beta, true)]),
    gate("ServiceAccountTokenJTI", &[], &[since(30, Beta, true), locked(32, Ga, true)]),
    gate("ServiceAccountTokenNodeBinding", &["ServiceAccountTokenNodeBindingValidation"], &[since(31, Beta, true), locked(33, Ga, true)]),
    gate("ServiceAccountTokenNodeBindingValidation", &[], &[since(30, Beta, true), locked(32, Ga, true)]),
    gate("ServiceAccountTokenPodNodeInfo", &[], &[since(30, Beta, true), locked(32, Ga, true)]),
    gate("ServiceCIDRStatusFieldWiping", &[], &[since(0, Ga, false), since(36, Deprecated, true)]),
    gate("ShardedListAndWatch", &[], &[since(36, Alpha, false)]),
    gate("SidecarContainers", &[], &[since(29, Beta, true), locked(33, Ga, true)]),
    gate("SizeBasedListCostEstimate", &[], &[since(34, Beta, true)]),
    gate("StaleControllerConsistencyDaemonSet", &["AtomicFIFO"], &[since(36, Beta, true)]),
    gate("StaleControllerConsistencyJob", &["AtomicFIFO"], &[since(36, Beta, true)]),
    gate("StaleControllerConsistencyReplicaSet", &["AtomicFIFO"], &[since(36, Beta, true)]),
    gate("StaleControllerConsistencyStatefulSet", &["AtomicFIFO"], &[since(36, Beta, true)]),
    gate("StatefulSetSemanticRevisionComparison", &[], &[since(0, Beta, true)]),
    gate("StorageCapacityScoring", &[], &[since(33, Alpha, false)]),
    gate("StorageNamespaceIndex", &[], &[since(30, Beta, true), since(33, Deprecated, true)]),
    gate("StorageVersionAPI", &["APIServerIdentity"], &[since(20, Alpha, false)]),
    gate("StorageVersionHash", &[], &[since(15, Beta, true)]),
    gate("StorageVersionMigrator", &[], &[since(30, Alpha, false), since(35, Beta, false)]),
    gate("StreamingCollectionEncodingToJSON", &[], &[since(33, Beta, true), locked(34, Ga, true)]),
    gate("StreamingCollectionEncodingToProtobuf", &[], &[since(33, Beta, true), locked(34, Ga, true)]),
    gate("StrictIPCIDRValidation", &[], &[since(33, Alpha, false), since(36, Beta, true)]),
    gate("StructuredAuthenticationConfiguration", &[], &[since(30, Beta, true), locked(34, Ga, true)]),
    gate("StructuredAuthenticationConfigurationEgressSelector", &["StructuredAuthenticationConfiguration"], &[since(34, Beta, true)]),
    gate("StructuredAuthenticationConfigurationJWKSMetrics", &["StructuredAuthenticationConfiguration"], &[since(35, Beta, true)]),
    gate("SupplementalGroupsPolicy", &[], &[since(31, Alpha, false), since(33, Beta, true), locked(35, Ga, true)]),
    gate("SystemdWatchdog", &[], &[since(32, Beta, true), locked(35, Ga, true)]),
    gate("TaintTolerationComparisonOperators", &[], &[since(35, Alpha, false)]),
    gate("TokenRequestServiceAccountUIDValidation", &[], &[since(34, Beta, true)]),
    gate("TopologyAwareWorkloadScheduling", &["GenericWorkload"], &[since(36, Alpha, false)]),
    gate("TopologyManagerPolicyAlphaOptions", &[], &[since(26, Alpha, false)]),
    gate("TopologyManagerPolicyBetaOptions", &[], &[since(28, Beta, true)]),
    gate("TopologyManagerPolicyOptions", &[], &[since(28, Beta, true), locked(32, Ga, true)]),
    gate("TranslateStreamCloseWebsocketRequests", &[], &[since(30, Beta, true)]),
    gate("UnauthenticatedHTTP2DOSMitigation", &[], &[since(29, Beta, true)]),
    gate("UnknownVersionInteroperabilityProxy", &["APIServerIdentity"], &[since(28, Alpha, false), since(36, Beta, true)]),
    gate("UnlockWhileProcessingFIFO", &[], &[since(36, Beta, true)]),
    gate("UserNamespacesHostNetworkSupport", &["NodeDeclaredFeatures", "UserNamespacesSupport"], &[since(35, Alpha, false)]),
    gate("UserNamespacesSupport", &[], &[since(30, Beta, false), since(33, Beta, true), locked(36, Ga, true)]),
    gate("VolumeAttributesClass", &[], &[since(31, Beta, false), since(34, Ga, true), locked(36, Ga, true)]),
    gate("VolumeLimitScaling", &[], &[since(35, Alpha, false)]),
    gate("WatchCacheInitializationPostStartHook", &[], &[since(31, Beta, false), since(36, Beta, true)]),
    gate("WatchList", &[], &[since(27, Alpha, false), since(32, Beta, true), since(33, Beta, false), since(34, Beta, true)]),
    gate("WatchListClient", &[], &[since(30, Beta, false), since(35, Beta, true)]),
    gate("WinDSR", &[], &[since(14, Alpha, false), since(33, Beta, true), locked(34, Ga, true)]),
    gate("WinOverlay", &[], &[since(20, Beta, true), locked(34, Ga, true)]),
    gate("WindowsCPUAndMemoryAffinity", &[], &[since(32, Alpha, false)]),
    gate("WindowsGracefulNodeShutdown", &["GracefulNodeShutdown"], &[since(32, Alpha, false), since(34, Beta, true)]),
    gate("WindowsHostNetwork", &[], &[since(26, Alpha, false), since(33, Deprecated, false)]),
    gate("WorkloadAwarePreemption", &["GangScheduling"], &[since(36, Alpha, false)]),
    gate("WorkloadWithJob", &["GenericWorkload"], &[since(36, Alpha, false)]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_discovery::version::{CURRENT_MINOR, OLDEST_MINOR};

    #[test]
    fn the_table_is_sorted_and_closed() {
        assert!(GATES.is_sorted_by(|a, b| a.name < b.name));
        for gate in GATES {
            for name in gate.requires {
                assert!(position(name).is_some(), "{} requires {name}", gate.name);
            }
        }
        for emulated_minor in OLDEST_MINOR..=CURRENT_MINOR {
            let gates = FeatureGates::of(EffectiveVersion::emulating(emulated_minor));
            assert_eq!(gates.check_requirements(), Ok(()), "1.{emulated_minor}");
        }
        for gate in GATES {
            assert!(gate.specs.is_sorted_by(|a, b| a.since < b.since) && gate.spec(CURRENT_MINOR).is_some());
        }
    }

    #[test]
    fn gates_of_earlier_releases() {
        let of = |minor, settings: &[&str]| {
            FeatureGates::from_settings(settings.iter().copied(), EffectiveVersion::emulating(minor))
        };
        // Off until 1.33, on since; beta in 1.35; only since 1.36; alpha in 1.31.
        for (gate, expected) in [
            ("SizeBasedListCostEstimate", [false, false, false, true, true, true]),
            ("ImageVolume", [false, false, false, false, true, true]),
            ("DynamicResourceAllocation", [false, false, false, true, true, true]),
            ("ComponentStatusz", [false, false, false, false, false, true]),
            ("WatchList", [false, true, false, true, true, true]),
            ("ServiceAccountTokenNodeBinding", [true, true, true, true, true, true]),
            ("AuthorizeWithSelectors", [false, true, true, true, true, true]),
        ] {
            let values = [31, 32, 33, 34, 35, 36].map(|minor| of(minor, &[]).expect("valid").enabled(gate));
            assert_eq!(values, expected, "{gate}");
        }
        // Locked since 1.36.
        assert!(!of(35, &["VolumeAttributesClass=false"]).expect("valid").enabled("VolumeAttributesClass"));
        assert!(of(36, &["VolumeAttributesClass=false"]).is_err());
        let error = "cannot set feature gate AtomicFIFO to true, feature is PreAlpha at emulated version 1.35, \
                     min compatibility version 1.34";
        assert_eq!(of(35, &["AtomicFIFO=true"]), Err(error.to_owned()));
        assert!(!of(34, &["JobManagedBy=false"]).expect("valid").enabled("JobManagedBy"));
        // Free in that release, but this server has no way without it.
        let error =
            "cannot set feature gate SidecarContainers to false, this server cannot be without what it does otherwise";
        assert_eq!(of(32, &["SidecarContainers=false"]), Err(error.to_owned()));
        assert!(of(32, &["SidecarContainers=true", "ServiceAccountTokenNodeBinding=false"]).is_ok());
        // A feature that was alpha, and is turned on with all that were.
        let alpha = of(35, &["AllAlpha=true"]).expect("valid");
        assert!(alpha.enabled("ComponentStatusz") && alpha.alpha().any(|gate| gate == "ComponentStatusz"));
        assert!(!alpha.enabled("CRIListStreaming"));
    }

    #[test]
    fn settings() {
        /// Settings, and the gates that differ from their default, or the error.
        type Row = (&'static [&'static str], Result<&'static [(&'static str, bool)], &'static str>);
        let rows: &[Row] = &[
            (&[], Ok(&[])),
            (&["HPAScaleToZero=true"], Ok(&[("HPAScaleToZero", true)])),
            (&["kube:HPAScaleToZero=t", "HPAScaleToZero=false"], Ok(&[])),
            (&["WatchList=false", "WatchListClient=False"], Ok(&[("WatchList", false), ("WatchListClient", false)])),
            (&["APIServerTracing=true"], Ok(&[])),
            (
                &["APIServerTracing=false"],
                Err("cannot set feature gate APIServerTracing to false, feature is locked to true"),
            ),
            (&["ShardedListAndWatch=true"], Ok(&[("ShardedListAndWatch", true)])),
            (&["ShardedListAndWatch=false"], Ok(&[])),
            (&["NoSuchGate=true"], Err("unrecognized feature gate: NoSuchGate")),
            (&["HPAScaleToZero"], Err("missing bool value for feature gate HPAScaleToZero")),
            (&["HPAScaleToZero=yes"], Err("invalid value of HPAScaleToZero=yes, it must be true or false")),
            (
                &["ClusterTrustBundleProjection=true"],
                Err(
                    "ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
                ),
            ),
        ];
        for (settings, expected) in rows {
            let gates = FeatureGates::from_settings(settings.iter().copied(), EffectiveVersion::default());
            let changed = gates.as_ref().map(|gates| gates.changed().collect::<Vec<_>>());
            let expected = expected.map(<[_]>::to_vec).map_err(str::to_owned);
            assert_eq!(changed.map_err(String::clone), expected, "{settings:?}");
        }
        let all = FeatureGates::from_settings(["AllBeta=false", "WatchList=true"], EffectiveVersion::default());
        let all = all.expect("valid");
        assert!(all.enabled("WatchList") && !all.enabled("OpenAPIEnums"));
        assert!(!all.enabled("no gate"));
        let all = FeatureGates::from_settings(["AllAlpha=true", "AllBeta=true"], EffectiveVersion::default());
        let all = all.expect("valid");
        assert!(all.enabled("HPAScaleToZero") && all.enabled("ShardedListAndWatch"));
    }
}
