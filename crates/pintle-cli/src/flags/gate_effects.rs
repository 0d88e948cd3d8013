//! Which feature gates have no effect here, and which this server does not follow. Guarantees that the help says so, and that a gate
//! which is not followed can only be set to what the server does anyhow. Must never be asked by the code of a feature.

/// Gates of other components: kubelets, schedulers, controllers, proxies, and their clients. They are accepted and have no effect.
#[rustfmt::skip]
pub static OF_OTHER_COMPONENTS: &[&str] = &[
    "AllowDNSOnlyNodeCSR", "AllowServiceExternalIPs", "AnyVolumeDataSource", "AtomicFIFO", "CPUManagerPolicyAlphaOptions",
    "CPUManagerPolicyBetaOptions", "CPUManagerPolicyOptions", "CRIListStreaming", "CSIVolumeHealth",
    "ChangeContainerStatusOnKubeletRestart", "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook", "ContainerCheckpoint", "ControllerManagerReleaseLeaderElectionLockOnExit",
    "CustomCPUCFSQuotaPeriod", "DRASchedulerFilterTimeout", "DisableCPUQuotaWithExclusiveCPUs", "DisableNodeKubeProxyVersion",
    "EventedPLEG", "ExecProbeTimeout", "GangScheduling", "GitRepoVolumeDriver", "GracefulNodeShutdown",
    "GracefulNodeShutdownBasedOnPodPriority", "ImageMaximumGCAge", "InOrderInformers", "InOrderInformersBatchProcess",
    "InPlacePodVerticalScalingExclusiveCPUs", "InPlacePodVerticalScalingExclusiveMemory", "InformerResourceVersion",
    "KubeletCgroupDriverFromCRI", "KubeletCrashLoopBackOffMax", "KubeletEnsureSecretPulledImages", "KubeletFineGrainedAuthz",
    "KubeletInUserNamespace", "KubeletPSI", "KubeletPodResourcesDynamicResources", "KubeletPodResourcesGet",
    "KubeletPodResourcesListUseActivePods", "KubeletRegistrationGetOnExistsOnly", "KubeletSeparateDiskGC", "KubeletTracing",
    "LocalStorageCapacityIsolationFSQuotaMonitoring", "LogarithmicScaleDown", "MemoryQoS", "NFTablesProxyMode",
    "NodeInclusionPolicyInPodTopologySpread", "NodeLogQuery", "NodeSwap", "NominatedNodeNameForExpectation",
    "OpportunisticBatching", "PLEGOnDemandRelist", "PersistentVolumeClaimUnusedSinceTime", "PodAndContainerStatsFromCRI",
    "PodLevelResourceManagers", "PodReadyToStartContainersCondition", "PodsAPI", "PreventStaticPodAPIReferences", "QOSReserved",
    "RecursiveReadOnlyMounts", "ReduceDefaultCrashLoopBackOffDecay", "ReloadKubeletClientCAFile",
    "ReloadKubeletServerCertificateFile", "RotateKubeletServerCertificate", "RuntimeClassInImageCriApi",
    "SchedulerAsyncAPICalls", "SchedulerAsyncPreemption", "SchedulerPopFromBackoffQ", "SchedulerQueueingHints",
    "SeparateTaintEvictionController", "StaleControllerConsistencyDaemonSet", "StaleControllerConsistencyJob",
    "StaleControllerConsistencyReplicaSet", "StaleControllerConsistencyStatefulSet", "StatefulSetSemanticRevisionComparison",
    "StorageCapacityScoring", "SystemdWatchdog", "TopologyManagerPolicyAlphaOptions", "TopologyManagerPolicyBetaOptions",
    "TopologyManagerPolicyOptions", "UnlockWhileProcessingFIFO", "WinDSR", "WinOverlay", "WindowsCPUAndMemoryAffinity",
    "WindowsGracefulNodeShutdown", "WindowsHostNetwork",
];

/// Gates that choose between ways in which kube-apiserver works inside, of which this server has one. They have no effect.
#[rustfmt::skip]
pub static OF_OTHER_INTERNALS: &[&str] = &[
    "APIServerTracing", "APIServingWithRoutine", "BtreeWatchCache", "ClientsAllowCARotation", "ClientsAllowCBOR",
    "ClientsAllowTLSCacheGC", "ClientsPreferCBOR", "ConcurrentWatchObjectDecode", "ConsistentListFromCache",
    "ContextualLogging", "DetectCacheInconsistency", "ListFromCacheSnapshot", "LoggingAlphaOptions", "LoggingBetaOptions",
    "NativeHistograms", "ResilientWatchCacheInitialization", "SeparateCacheWatchRPC", "SizeBasedListCostEstimate",
    "StorageNamespaceIndex", "StreamingCollectionEncodingToJSON", "StreamingCollectionEncodingToProtobuf",
    "WatchCacheInitializationPostStartHook",
];

/// Gates of this component that are not followed, with the value that the server behaves as.
static NOT_FOLLOWED: &[(&str, bool)] = &[
    ("AggregatedDiscoveryRemoveBetaType", true),
    ("AllowOverwriteTerminationGracePeriodSeconds", false),
    ("AnonymousAuthConfigurableEndpoints", true),
    ("AuthorizeNodeWithSelectors", true),
    ("AuthorizeWithSelectors", true),
    ("ExternalServiceAccountTokenSigner", true),
    ("JobBackoffLimitPerIndex", true),
    ("JobPodReplacementPolicy", true),
    ("JobSuccessPolicy", true),
    ("KMSv1", false),
    ("MatchLabelKeysInPodAffinity", true),
    ("OrderedNamespaceDeletion", true),
    ("PodSchedulingReadiness", true),
    ("PreferSameTrafficDistribution", true),
    ("RetryGenerateName", true),
    ("SidecarContainers", true),
    ("StructuredAuthenticationConfiguration", true),
    ("StructuredAuthenticationConfigurationEgressSelector", true),
    ("StructuredAuthenticationConfigurationJWKSMetrics", true),
];

/// Whether a gate has a value that the server does not behave as.
pub fn unfollowed(name: &str, value: bool) -> bool {
    NOT_FOLLOWED.iter().any(|(known, behaved)| *known == name && *behaved != value)
}

/// What the help says of gates.
pub fn help() -> String {
    let of_components = OF_OTHER_COMPONENTS.join(", ");
    format!(
        "\nFeature gates without effect:\n  of components that are not here\n          {of_components}.\n  \
         about how kube-apiserver works inside\n          {}.\n\n\
         Feature gates that have one value, whatever release is emulated:\n          {}.\n",
        OF_OTHER_INTERNALS.join(", "),
        NOT_FOLLOWED.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::gates::position;
    use super::*;

    #[test]
    fn gates_without_effect_are_known_and_said_to_have_none() {
        let help = super::super::table::help();
        let not_followed: Vec<&str> = NOT_FOLLOWED.iter().map(|(name, _)| *name).collect();
        for names in [OF_OTHER_COMPONENTS, OF_OTHER_INTERNALS, &not_followed] {
            assert!(names.is_sorted());
            for name in names {
                assert!(position(name).is_some() && help.contains(name), "{name}");
                assert!(!OF_OTHER_COMPONENTS.contains(name) || !OF_OTHER_INTERNALS.contains(name), "{name}");
            }
        }
    }
}
