//! The feature gates of Kubernetes 1.36 and the values that a command line gives them. Guarantees that only known gates
//! are set, locked ones keep their value, and the gates that a gate requires are enabled with it. Must never implement
//! a feature: the guarded code looks a gate up by name.

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

/// A feature gate as this version knows it.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Its name.
    pub name: &'static str,
    /// How mature the feature is.
    pub stage: Stage,
    /// Whether it is enabled by default.
    pub default: bool,
    /// Whether it can be set at all.
    pub locked: bool,
    /// The gates that must be enabled with it.
    pub requires: &'static [&'static str],
}

const fn gate(
    name: &'static str,
    stage: Stage,
    default: bool,
    locked: bool,
    requires: &'static [&'static str],
) -> Gate {
    Gate { name, stage, default, locked, requires }
}

/// The values of all gates.
#[derive(Clone, PartialEq, Eq)]
pub struct FeatureGates {
    /// In the order of `GATES`.
    enabled: Vec<bool>,
}

impl Default for FeatureGates {
    fn default() -> Self {
        FeatureGates { enabled: GATES.iter().map(|gate| gate.default).collect() }
    }
}

impl fmt::Debug for FeatureGates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.changed()).finish()
    }
}

impl FeatureGates {
    /// Parses the items of `--feature-gates`: `Name=true` in any order; the last value for a name counts.
    pub fn from_settings<'a>(settings: impl IntoIterator<Item = &'a str>) -> Result<FeatureGates, String> {
        let mut chosen: Vec<(usize, bool)> = Vec::new();
        for setting in settings {
            let (name, value) =
                setting.split_once('=').ok_or_else(|| format!("missing bool value for feature gate {setting}"))?;
            let value = super::values::boolean(value)
                .map_err(|_| format!("invalid value of {name}={value}, it must be true or false"))?;
            // An item may name the component, of which this program has one.
            let name = name.strip_prefix("kube:").unwrap_or(name);
            let at = position(name).ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
            let gate = GATES[at];
            if gate.locked && gate.default != value {
                let fixed = gate.default;
                return Err(format!("cannot set feature gate {name} to {value}, feature is locked to {fixed}"));
            }
            chosen.retain(|(other, _)| *other != at);
            chosen.push((at, value));
        }
        let mut gates = FeatureGates::default();
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
        let values = GATES.iter().zip(&self.enabled);
        values.filter_map(|(gate, value)| (*value != gate.default).then_some((gate.name, *value)))
    }

    /// Writes the metric of enabled gates.
    pub fn render(&self, out: &mut Exposition) {
        const ENABLED: Family =
            Family::gauge("kubernetes_feature_enabled", "1 for each feature gate that is on.").beta();
        out.family(&ENABLED);
        for (gate, enabled) in GATES.iter().zip(&self.enabled) {
            let stage = match gate.stage {
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
            if gate.stage == stage && !gate.locked {
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

fn position(name: &str) -> Option<usize> {
    GATES.binary_search_by(|gate| gate.name.cmp(name)).ok()
}

/// All gates, sorted by name.
#[rustfmt::skip]
pub static GATES: &[Gate] = &[
    gate("APIResponseCompression", Beta, true, false, &[]),
    gate("APIServerIdentity", Beta, true, false, &[]),
    gate("APIServerTracing", Ga, true, true, &[]),
    gate("APIServingWithRoutine", Alpha, false, false, &[]),
    gate("AggregatedDiscoveryRemoveBetaType", Deprecated, true, true, &[]),
    gate("AllAlpha", Alpha, false, false, &[]),
    gate("AllBeta", Beta, false, false, &[]),
    gate("AllowDNSOnlyNodeCSR", Deprecated, false, false, &[]),
    gate("AllowInsecureKubeletCertificateSigningRequests", Deprecated, false, false, &[]),
    gate("AllowOverwriteTerminationGracePeriodSeconds", Deprecated, false, true, &[]),
    gate("AllowParsingUserUIDFromCertAuth", Beta, true, false, &[]),
    gate("AllowServiceExternalIPs", Ga, true, false, &[]),
    gate("AllowUnsafeMalformedObjectDeletion", Alpha, false, false, &[]),
    gate("AnonymousAuthConfigurableEndpoints", Ga, true, true, &[]),
    gate("AnyVolumeDataSource", Ga, true, true, &[]),
    gate("AtomicFIFO", Beta, true, false, &[]),
    gate("AuthorizeNodeWithSelectors", Ga, true, true, &["AuthorizeWithSelectors"]),
    gate("AuthorizePodWebsocketUpgradeCreatePermission", Beta, true, false, &[]),
    gate("AuthorizeWithSelectors", Ga, true, true, &[]),
    gate("BtreeWatchCache", Ga, true, true, &[]),
    gate("CBORServingAndStorage", Alpha, false, false, &[]),
    gate("CPUManagerPolicyAlphaOptions", Alpha, false, false, &[]),
    gate("CPUManagerPolicyBetaOptions", Beta, true, false, &[]),
    gate("CPUManagerPolicyOptions", Ga, true, true, &[]),
    gate("CRDObservedGenerationTracking", Beta, true, false, &[]),
    gate("CRDValidationRatcheting", Ga, true, true, &[]),
    gate("CRIListStreaming", Alpha, false, false, &[]),
    gate("CSIServiceAccountTokenSecrets", Ga, true, true, &[]),
    gate("CSIVolumeHealth", Alpha, false, false, &[]),
    gate("ChangeContainerStatusOnKubeletRestart", Deprecated, false, false, &[]),
    gate("ClearingNominatedNodeNameAfterBinding", Beta, true, false, &[]),
    gate("ClientsAllowCARotation", Beta, true, false, &[]),
    gate("ClientsAllowCBOR", Alpha, false, false, &[]),
    gate("ClientsAllowTLSCacheGC", Beta, true, false, &[]),
    gate("ClientsPreferCBOR", Alpha, false, false, &[]),
    gate("CloudControllerManagerWatchBasedRoutesReconciliation", Alpha, false, false, &[]),
    gate("CloudControllerManagerWebhook", Alpha, false, false, &[]),
    gate("ClusterTrustBundle", Beta, false, false, &[]),
    gate("ClusterTrustBundleProjection", Beta, false, false, &["ClusterTrustBundle"]),
    gate("ComponentFlagz", Beta, true, false, &[]),
    gate("ComponentStatusz", Beta, true, false, &[]),
    gate("ConcurrentWatchObjectDecode", Beta, false, false, &[]),
    gate("ConsistentListFromCache", Ga, true, true, &[]),
    gate("ConstrainedImpersonation", Beta, true, false, &[]),
    gate("ContainerCheckpoint", Beta, true, false, &[]),
    gate("ContainerRestartRules", Beta, true, false, &[]),
    gate("ContainerStopSignals", Alpha, false, false, &[]),
    gate("ContextualLogging", Beta, true, false, &[]),
    gate("ControllerManagerReleaseLeaderElectionLockOnExit", Alpha, false, false, &[]),
    gate("CoordinatedLeaderElection", Beta, false, false, &[]),
    gate("CrossNamespaceVolumeDataSource", Alpha, false, false, &[]),
    gate("CustomCPUCFSQuotaPeriod", Ga, true, false, &[]),
    gate("CustomResourceFieldSelectors", Ga, true, true, &[]),
    gate("DRAAdminAccess", Ga, true, true, &["DynamicResourceAllocation"]),
    gate("DRAConsumableCapacity", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("DRADeviceBindingConditions", Beta, true, false, &["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"]),
    gate("DRADeviceTaintRules", Beta, false, false, &["DRADeviceTaints"]),
    gate("DRADeviceTaints", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("DRAExtendedResource", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("DRAListTypeAttributes", Alpha, false, false, &["DynamicResourceAllocation"]),
    gate("DRANodeAllocatableResources", Alpha, false, false, &["DynamicResourceAllocation"]),
    gate("DRAPartitionableDevices", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("DRAPrioritizedList", Ga, true, false, &["DynamicResourceAllocation"]),
    gate("DRAResourceClaimDeviceStatus", Beta, true, false, &[]),
    gate("DRAResourceClaimGranularStatusAuthorization", Beta, true, false, &["DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"]),
    gate("DRAResourcePoolStatus", Alpha, false, false, &["DynamicResourceAllocation"]),
    gate("DRASchedulerFilterTimeout", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("DRAWorkloadResourceClaims", Alpha, false, false, &["DynamicResourceAllocation", "GenericWorkload"]),
    gate("DeclarativeValidation", Ga, true, true, &[]),
    gate("DeclarativeValidationBeta", Beta, true, false, &["DeclarativeValidation"]),
    gate("DeclarativeValidationTakeover", Deprecated, false, false, &["DeclarativeValidation"]),
    gate("DeploymentReplicaSetTerminatingReplicas", Beta, true, false, &[]),
    gate("DetectCacheInconsistency", Beta, true, false, &[]),
    gate("DisableAllocatorDualWrite", Ga, true, true, &["MultiCIDRServiceAllocator"]),
    gate("DisableCPUQuotaWithExclusiveCPUs", Deprecated, true, false, &[]),
    gate("DisableNodeKubeProxyVersion", Deprecated, true, true, &[]),
    gate("DynamicResourceAllocation", Ga, true, true, &[]),
    gate("EnvFiles", Beta, true, false, &[]),
    gate("EventedPLEG", Alpha, false, false, &[]),
    gate("ExecProbeTimeout", Ga, true, true, &[]),
    gate("ExtendWebSocketsToKubelet", Beta, true, false, &["NodeDeclaredFeatures"]),
    gate("ExternalServiceAccountTokenSigner", Ga, true, true, &[]),
    gate("GangScheduling", Alpha, false, false, &["GenericWorkload"]),
    gate("GenericWorkload", Alpha, false, false, &[]),
    gate("GitRepoVolumeDriver", Deprecated, false, true, &[]),
    gate("GracefulNodeShutdown", Beta, true, false, &[]),
    gate("GracefulNodeShutdownBasedOnPodPriority", Beta, true, false, &["GracefulNodeShutdown"]),
    gate("HPAConfigurableTolerance", Beta, true, false, &[]),
    gate("HPAScaleToZero", Alpha, false, false, &[]),
    gate("HostnameOverride", Beta, true, false, &[]),
    gate("ImageMaximumGCAge", Ga, true, true, &[]),
    gate("ImageVolume", Ga, true, true, &[]),
    gate("ImageVolumeWithDigest", Alpha, false, false, &["ImageVolume"]),
    gate("InOrderInformers", Ga, true, true, &[]),
    gate("InOrderInformersBatchProcess", Beta, true, false, &[]),
    gate("InPlacePodLevelResourcesVerticalScaling", Beta, true, false, &["InPlacePodVerticalScaling", "NodeDeclaredFeatures", "PodLevelResources"]),
    gate("InPlacePodVerticalScaling", Ga, true, true, &[]),
    gate("InPlacePodVerticalScalingExclusiveCPUs", Alpha, false, false, &["InPlacePodVerticalScaling"]),
    gate("InPlacePodVerticalScalingExclusiveMemory", Alpha, false, false, &["InPlacePodVerticalScaling"]),
    gate("InPlacePodVerticalScalingInitContainers", Beta, true, false, &["InPlacePodVerticalScaling", "NodeDeclaredFeatures"]),
    gate("InformerResourceVersion", Ga, true, false, &[]),
    gate("JobBackoffLimitPerIndex", Ga, true, true, &[]),
    gate("JobManagedBy", Ga, true, true, &[]),
    gate("JobPodReplacementPolicy", Ga, true, true, &[]),
    gate("JobSuccessPolicy", Ga, true, true, &[]),
    gate("KMSv1", Deprecated, false, false, &[]),
    gate("KubeletCgroupDriverFromCRI", Ga, true, true, &[]),
    gate("KubeletCrashLoopBackOffMax", Beta, true, false, &[]),
    gate("KubeletEnsureSecretPulledImages", Beta, true, false, &[]),
    gate("KubeletFineGrainedAuthz", Ga, true, true, &[]),
    gate("KubeletInUserNamespace", Alpha, false, false, &[]),
    gate("KubeletPSI", Ga, true, true, &[]),
    gate("KubeletPodResourcesDynamicResources", Ga, true, true, &[]),
    gate("KubeletPodResourcesGet", Ga, true, true, &[]),
    gate("KubeletPodResourcesListUseActivePods", Deprecated, true, false, &[]),
    gate("KubeletRegistrationGetOnExistsOnly", Deprecated, false, false, &[]),
    gate("KubeletSeparateDiskGC", Beta, true, false, &[]),
    gate("KubeletServiceAccountTokenForCredentialProviders", Beta, true, false, &[]),
    gate("KubeletTracing", Ga, true, true, &[]),
    gate("ListFromCacheSnapshot", Beta, true, false, &[]),
    gate("LocalStorageCapacityIsolationFSQuotaMonitoring", Beta, false, false, &[]),
    gate("LogarithmicScaleDown", Ga, true, true, &[]),
    gate("LoggingAlphaOptions", Alpha, false, false, &[]),
    gate("LoggingBetaOptions", Beta, true, false, &[]),
    gate("ManifestBasedAdmissionControlConfig", Alpha, false, false, &[]),
    gate("MatchLabelKeysInPodAffinity", Ga, true, true, &[]),
    gate("MatchLabelKeysInPodTopologySpread", Beta, true, false, &[]),
    gate("MatchLabelKeysInPodTopologySpreadSelectorMerge", Beta, true, false, &["MatchLabelKeysInPodTopologySpread"]),
    gate("MaxUnavailableStatefulSet", Beta, false, false, &[]),
    gate("MemoryQoS", Alpha, false, false, &[]),
    gate("MultiCIDRServiceAllocator", Ga, true, true, &[]),
    gate("MutableCSINodeAllocatableCount", Ga, true, true, &[]),
    gate("MutablePVNodeAffinity", Alpha, false, false, &[]),
    gate("MutablePodResourcesForSuspendedJobs", Beta, true, false, &[]),
    gate("MutableSchedulingDirectivesForSuspendedJobs", Beta, true, false, &[]),
    gate("MutatingAdmissionPolicy", Ga, true, false, &[]),
    gate("NFTablesProxyMode", Ga, true, true, &[]),
    gate("NativeHistograms", Alpha, false, false, &[]),
    gate("NodeDeclaredFeatures", Beta, true, false, &[]),
    gate("NodeInclusionPolicyInPodTopologySpread", Ga, true, true, &[]),
    gate("NodeLogQuery", Ga, true, true, &[]),
    gate("NodeSwap", Ga, true, true, &[]),
    gate("NominatedNodeNameForExpectation", Beta, true, false, &[]),
    gate("OpenAPIEnums", Beta, true, false, &[]),
    gate("OpportunisticBatching", Beta, true, false, &[]),
    gate("OrderedNamespaceDeletion", Ga, true, true, &[]),
    gate("PLEGOnDemandRelist", Beta, true, false, &[]),
    gate("PersistentVolumeClaimUnusedSinceTime", Alpha, false, false, &[]),
    gate("PodAndContainerStatsFromCRI", Alpha, false, false, &[]),
    gate("PodCertificateRequest", Beta, false, false, &["AuthorizeNodeWithSelectors"]),
    gate("PodDeletionCost", Beta, true, false, &[]),
    gate("PodLevelResourceManagers", Alpha, false, false, &["PodLevelResources"]),
    gate("PodLevelResources", Beta, true, false, &[]),
    gate("PodLifecycleSleepAction", Ga, true, true, &[]),
    gate("PodLifecycleSleepActionAllowZero", Ga, true, true, &["PodLifecycleSleepAction"]),
    gate("PodLogsQuerySplitStreams", Alpha, false, false, &[]),
    gate("PodObservedGenerationTracking", Ga, true, true, &[]),
    gate("PodReadyToStartContainersCondition", Beta, true, false, &[]),
    gate("PodSchedulingReadiness", Ga, true, true, &[]),
    gate("PodTopologyLabelsAdmission", Beta, true, false, &[]),
    gate("PodsAPI", Alpha, false, false, &[]),
    gate("PortForwardWebsockets", Beta, true, false, &[]),
    gate("PreferSameTrafficDistribution", Ga, true, true, &[]),
    gate("PreventStaticPodAPIReferences", Beta, true, false, &[]),
    gate("ProcMountType", Ga, true, true, &["UserNamespacesSupport"]),
    gate("QOSReserved", Alpha, false, false, &[]),
    gate("RecoverVolumeExpansionFailure", Ga, true, true, &[]),
    gate("RecursiveReadOnlyMounts", Ga, true, true, &[]),
    gate("ReduceDefaultCrashLoopBackOffDecay", Alpha, false, false, &[]),
    gate("RelaxedDNSSearchValidation", Ga, true, true, &[]),
    gate("RelaxedEnvironmentVariableValidation", Ga, true, true, &[]),
    gate("RelaxedServiceNameValidation", Beta, true, false, &[]),
    gate("ReloadKubeletClientCAFile", Beta, true, false, &[]),
    gate("ReloadKubeletServerCertificateFile", Beta, true, false, &[]),
    gate("RemoteRequestHeaderUID", Beta, true, false, &[]),
    gate("ResilientWatchCacheInitialization", Ga, true, true, &[]),
    gate("ResourceHealthStatus", Beta, true, false, &["DynamicResourceAllocation"]),
    gate("ResourceHealthStatusMessage", Beta, true, false, &["ResourceHealthStatus"]),
    gate("RestartAllContainersOnContainerExits", Beta, true, false, &["ContainerRestartRules", "NodeDeclaredFeatures"]),
    gate("RetryGenerateName", Ga, true, true, &[]),
    gate("RotateKubeletServerCertificate", Beta, true, false, &[]),
    gate("RuntimeClassInImageCriApi", Alpha, false, false, &[]),
    gate("SELinuxChangePolicy", Ga, true, true, &[]),
    gate("SELinuxMount", Beta, false, false, &[]),
    gate("SELinuxMountReadWriteOncePod", Ga, true, true, &[]),
    gate("SchedulerAsyncAPICalls", Beta, false, false, &[]),
    gate("SchedulerAsyncPreemption", Beta, true, false, &[]),
    gate("SchedulerPopFromBackoffQ", Beta, true, false, &[]),
    gate("SchedulerQueueingHints", Ga, true, true, &[]),
    gate("SeparateCacheWatchRPC", Deprecated, false, true, &[]),
    gate("SeparateTaintEvictionController", Ga, true, true, &[]),
    gate("ServiceAccountNodeAudienceRestriction", Beta, true, false, &[]),
    gate("ServiceAccountTokenJTI", Ga, true, true, &[]),
    gate("ServiceAccountTokenNodeBinding", Ga, true, true, &["ServiceAccountTokenNodeBindingValidation"]),
    gate("ServiceAccountTokenNodeBindingValidation", Ga, true, true, &[]),
    gate("ServiceAccountTokenPodNodeInfo", Ga, true, true, &[]),
    gate("ServiceCIDRStatusFieldWiping", Deprecated, true, false, &[]),
    gate("ShardedListAndWatch", Alpha, false, false, &[]),
    gate("SidecarContainers", Ga, true, true, &[]),
    gate("SizeBasedListCostEstimate", Beta, true, false, &[]),
    gate("StaleControllerConsistencyDaemonSet", Beta, true, false, &["AtomicFIFO"]),
    gate("StaleControllerConsistencyJob", Beta, true, false, &["AtomicFIFO"]),
    gate("StaleControllerConsistencyReplicaSet", Beta, true, false, &["AtomicFIFO"]),
    gate("StaleControllerConsistencyStatefulSet", Beta, true, false, &["AtomicFIFO"]),
    gate("StatefulSetSemanticRevisionComparison", Beta, true, false, &[]),
    gate("StorageCapacityScoring", Alpha, false, false, &[]),
    gate("StorageNamespaceIndex", Deprecated, true, false, &[]),
    gate("StorageVersionAPI", Alpha, false, false, &["APIServerIdentity"]),
    gate("StorageVersionHash", Beta, true, false, &[]),
    gate("StorageVersionMigrator", Beta, false, false, &[]),
    gate("StreamingCollectionEncodingToJSON", Ga, true, true, &[]),
    gate("StreamingCollectionEncodingToProtobuf", Ga, true, true, &[]),
    gate("StrictIPCIDRValidation", Beta, true, false, &[]),
    gate("StructuredAuthenticationConfiguration", Ga, true, true, &[]),
    gate("StructuredAuthenticationConfigurationEgressSelector", Beta, true, false, &["StructuredAuthenticationConfiguration"]),
    gate("StructuredAuthenticationConfigurationJWKSMetrics", Beta, true, false, &["StructuredAuthenticationConfiguration"]),
    gate("SupplementalGroupsPolicy", Ga, true, true, &[]),
    gate("SystemdWatchdog", Ga, true, true, &[]),
    gate("TaintTolerationComparisonOperators", Alpha, false, false, &[]),
    gate("TokenRequestServiceAccountUIDValidation", Beta, true, false, &[]),
    gate("TopologyAwareWorkloadScheduling", Alpha, false, false, &["GenericWorkload"]),
    gate("TopologyManagerPolicyAlphaOptions", Alpha, false, false, &[]),
    gate("TopologyManagerPolicyBetaOptions", Beta, true, false, &[]),
    gate("TopologyManagerPolicyOptions", Ga, true, true, &[]),
    gate("TranslateStreamCloseWebsocketRequests", Beta, true, false, &[]),
    gate("UnauthenticatedHTTP2DOSMitigation", Beta, true, false, &[]),
    gate("UnknownVersionInteroperabilityProxy", Beta, true, false, &["APIServerIdentity"]),
    gate("UnlockWhileProcessingFIFO", Beta, true, false, &[]),
    gate("UserNamespacesHostNetworkSupport", Alpha, false, false, &["NodeDeclaredFeatures", "UserNamespacesSupport"]),
    gate("UserNamespacesSupport", Ga, true, true, &[]),
    gate("VolumeAttributesClass", Ga, true, true, &[]),
    gate("VolumeLimitScaling", Alpha, false, false, &[]),
    gate("WatchCacheInitializationPostStartHook", Beta, true, false, &[]),
    gate("WatchList", Beta, true, false, &[]),
    gate("WatchListClient", Beta, true, false, &[]),
    gate("WinDSR", Ga, true, true, &[]),
    gate("WinOverlay", Ga, true, true, &[]),
    gate("WindowsCPUAndMemoryAffinity", Alpha, false, false, &[]),
    gate("WindowsGracefulNodeShutdown", Beta, true, false, &["GracefulNodeShutdown"]),
    gate("WindowsHostNetwork", Deprecated, false, false, &[]),
    gate("WorkloadAwarePreemption", Alpha, false, false, &["GangScheduling"]),
    gate("WorkloadWithJob", Alpha, false, false, &["GenericWorkload"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_closed() {
        assert!(GATES.is_sorted_by(|a, b| a.name < b.name));
        for gate in GATES {
            for name in gate.requires {
                assert!(position(name).is_some(), "{} requires {name}", gate.name);
            }
        }
        assert!(FeatureGates::default().check_requirements().is_ok());
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
            let gates = FeatureGates::from_settings(settings.iter().copied());
            let changed = gates.as_ref().map(|gates| gates.changed().collect::<Vec<_>>());
            let expected = expected.map(<[_]>::to_vec).map_err(str::to_owned);
            assert_eq!(changed.map_err(String::clone), expected, "{settings:?}");
        }
        let all = FeatureGates::from_settings(["AllBeta=false", "WatchList=true"]);
        let all = all.expect("valid");
        assert!(all.enabled("WatchList") && !all.enabled("OpenAPIEnums"));
        assert!(!all.enabled("no gate"));
        let all = FeatureGates::from_settings(["AllAlpha=true", "AllBeta=true"]).expect("valid");
        assert!(all.enabled("HPAScaleToZero") && all.enabled("ShardedListAndWatch"));
    }
}
