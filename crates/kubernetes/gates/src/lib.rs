//! The feature gates of Kubernetes 1.36 as constants, with their defaults in each release that can be emulated.
//! Guarantees that a gate which does not exist does not compile. Must never implement a feature.
//!
//! Those of every API server, which this crate has too, are declared in `pintle_meta`, and those of every server in
//! `pintle_schema`.

use pintle_schema::gates;
use pintle_schema::gates::FeatureGates;
use pintle_schema::gates::Stage::{Beta, Deprecated, Ga};

pub use pintle_meta::gates::*;
pub use pintle_schema::gates::{
    ALL_ALPHA, ALL_BETA, DECLARATIVE_VALIDATION, DECLARATIVE_VALIDATION_BETA, DECLARATIVE_VALIDATION_TAKEOVER,
};

/// All gates of kube-apiserver.
pub fn all() -> FeatureGates {
    FeatureGates::of(pintle_meta::gates::ALL.iter().chain(KUBERNETES).copied())
}

// A gate's releases that ended before the oldest that can be emulated are left out.
#[rustfmt::skip]
gates! {
    /// The gates that an API server has only with Kubernetes' own kinds.
    pub KUBERNETES {
        API_SERVER_IDENTITY = "APIServerIdentity": beta(26);
        API_SERVER_TRACING = "APIServerTracing": beta(27), ga_locked(34);
        API_SERVING_WITH_ROUTINE = "APIServingWithRoutine": alpha(30);
        AGGREGATED_DISCOVERY_REMOVE_BETA_TYPE = "AggregatedDiscoveryRemoveBetaType":
            since(0, Ga, false), since(33, Deprecated, true), locked(35, Deprecated, true);
        ALLOW_DNS_ONLY_NODE_CSR = "AllowDNSOnlyNodeCSR": since(31, Deprecated, false);
        ALLOW_INSECURE_KUBELET_CERTIFICATE_SIGNING_REQUESTS = "AllowInsecureKubeletCertificateSigningRequests":
            since(31, Deprecated, false);
        ALLOW_OVERWRITE_TERMINATION_GRACE_PERIOD_SECONDS = "AllowOverwriteTerminationGracePeriodSeconds":
            ga(0), since(32, Deprecated, false), locked(35, Deprecated, false);
        ALLOW_PARSING_USER_UID_FROM_CERT_AUTH = "AllowParsingUserUIDFromCertAuth": beta(33);
        ALLOW_SERVICE_EXTERNAL_IPS = "AllowServiceExternalIPs": ga(0);
        ANONYMOUS_AUTH_CONFIGURABLE_ENDPOINTS = "AnonymousAuthConfigurableEndpoints":
            alpha(31), beta(32), ga_locked(34);
        ANY_VOLUME_DATA_SOURCE = "AnyVolumeDataSource": beta(24), ga_locked(33);
        ATOMIC_FIFO = "AtomicFIFO": beta(36);
        AUTHORIZE_NODE_WITH_SELECTORS = "AuthorizeNodeWithSelectors" requires [AUTHORIZE_WITH_SELECTORS]:
            alpha(31), beta(32), ga_locked(34);
        AUTHORIZE_POD_WEBSOCKET_UPGRADE_CREATE_PERMISSION = "AuthorizePodWebsocketUpgradeCreatePermission": beta(35);
        AUTHORIZE_WITH_SELECTORS = "AuthorizeWithSelectors": alpha(31), beta(32), ga_locked(34);
        BTREE_WATCH_CACHE = "BtreeWatchCache": beta(32), ga_locked(33);
        CPU_MANAGER_POLICY_ALPHA_OPTIONS = "CPUManagerPolicyAlphaOptions": alpha(23);
        CPU_MANAGER_POLICY_BETA_OPTIONS = "CPUManagerPolicyBetaOptions": beta(23);
        CPU_MANAGER_POLICY_OPTIONS = "CPUManagerPolicyOptions": beta(23), ga_locked(33);
        CRD_OBSERVED_GENERATION_TRACKING = "CRDObservedGenerationTracking": since(35, Beta, false), beta(36);
        CRD_VALIDATION_RATCHETING = "CRDValidationRatcheting": beta(30), ga_locked(33);
        CRI_LIST_STREAMING = "CRIListStreaming": alpha(36);
        CSI_SERVICE_ACCOUNT_TOKEN_SECRETS = "CSIServiceAccountTokenSecrets": beta(35), ga_locked(36);
        CSI_VOLUME_HEALTH = "CSIVolumeHealth": alpha(21);
        CHANGE_CONTAINER_STATUS_ON_KUBELET_RESTART = "ChangeContainerStatusOnKubeletRestart":
            ga(0), since(35, Deprecated, false);
        CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING = "ClearingNominatedNodeNameAfterBinding": alpha(34), beta(35);
        CLIENTS_ALLOW_CA_ROTATION = "ClientsAllowCARotation": beta(36);
        CLIENTS_ALLOW_CBOR = "ClientsAllowCBOR": alpha(32);
        CLIENTS_ALLOW_TLS_CACHE_GC = "ClientsAllowTLSCacheGC": beta(36);
        CLIENTS_PREFER_CBOR = "ClientsPreferCBOR": alpha(32);
        CLOUD_CONTROLLER_MANAGER_WATCH_BASED_ROUTES_RECONCILIATION = "CloudControllerManagerWatchBasedRoutesReconciliation":
            alpha(35);
        CLOUD_CONTROLLER_MANAGER_WEBHOOK = "CloudControllerManagerWebhook": alpha(27);
        CLUSTER_TRUST_BUNDLE = "ClusterTrustBundle": alpha(27), since(33, Beta, false);
        CLUSTER_TRUST_BUNDLE_PROJECTION = "ClusterTrustBundleProjection" requires [CLUSTER_TRUST_BUNDLE]:
            alpha(29), since(33, Beta, false);
        CONCURRENT_WATCH_OBJECT_DECODE = "ConcurrentWatchObjectDecode": since(31, Beta, false);
        CONSISTENT_LIST_FROM_CACHE = "ConsistentListFromCache": beta(31), ga_locked(34);
        CONTAINER_CHECKPOINT = "ContainerCheckpoint": beta(30);
        CONTAINER_RESTART_RULES = "ContainerRestartRules": alpha(34), beta(35);
        CONTAINER_STOP_SIGNALS = "ContainerStopSignals": alpha(33);
        CONTEXTUAL_LOGGING = "ContextualLogging": beta(30);
        CONTROLLER_MANAGER_RELEASE_LEADER_ELECTION_LOCK_ON_EXIT = "ControllerManagerReleaseLeaderElectionLockOnExit":
            alpha(36);
        COORDINATED_LEADER_ELECTION = "CoordinatedLeaderElection": alpha(31), since(33, Beta, false);
        CROSS_NAMESPACE_VOLUME_DATA_SOURCE = "CrossNamespaceVolumeDataSource": alpha(26);
        CUSTOM_CPU_CFS_QUOTA_PERIOD = "CustomCPUCFSQuotaPeriod": alpha(12), ga(36);
        CUSTOM_RESOURCE_FIELD_SELECTORS = "CustomResourceFieldSelectors": beta(31), ga_locked(32);
        DRA_ADMIN_ACCESS = "DRAAdminAccess" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(32), beta(34), ga_locked(36);
        DRA_CONSUMABLE_CAPACITY = "DRAConsumableCapacity" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(34), beta(36);
        DRA_DEVICE_BINDING_CONDITIONS = "DRADeviceBindingConditions"
            requires [DRA_RESOURCE_CLAIM_DEVICE_STATUS, DYNAMIC_RESOURCE_ALLOCATION]: alpha(34), beta(36);
        DRA_DEVICE_TAINT_RULES = "DRADeviceTaintRules" requires [DRA_DEVICE_TAINTS]: alpha(35), since(36, Beta, false);
        DRA_DEVICE_TAINTS = "DRADeviceTaints" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(33), beta(36);
        DRA_EXTENDED_RESOURCE = "DRAExtendedResource" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(34), beta(36);
        DRA_LIST_TYPE_ATTRIBUTES = "DRAListTypeAttributes" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(36);
        DRA_NODE_ALLOCATABLE_RESOURCES = "DRANodeAllocatableResources" requires [DYNAMIC_RESOURCE_ALLOCATION]:
            alpha(36);
        DRA_PARTITIONABLE_DEVICES = "DRAPartitionableDevices" requires [DYNAMIC_RESOURCE_ALLOCATION]:
            alpha(33), beta(36);
        DRA_PRIORITIZED_LIST = "DRAPrioritizedList" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(33), beta(34), ga(36);
        DRA_RESOURCE_CLAIM_DEVICE_STATUS = "DRAResourceClaimDeviceStatus": alpha(32), beta(33);
        DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION = "DRAResourceClaimGranularStatusAuthorization"
            requires [DRA_RESOURCE_CLAIM_DEVICE_STATUS, DYNAMIC_RESOURCE_ALLOCATION]: beta(36);
        DRA_RESOURCE_POOL_STATUS = "DRAResourcePoolStatus" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(36);
        DRA_SCHEDULER_FILTER_TIMEOUT = "DRASchedulerFilterTimeout" requires [DYNAMIC_RESOURCE_ALLOCATION]: beta(34);
        DRA_WORKLOAD_RESOURCE_CLAIMS = "DRAWorkloadResourceClaims"
            requires [DYNAMIC_RESOURCE_ALLOCATION, GENERIC_WORKLOAD]: alpha(36);
        DEPLOYMENT_REPLICA_SET_TERMINATING_REPLICAS = "DeploymentReplicaSetTerminatingReplicas": alpha(33), beta(35);
        DETECT_CACHE_INCONSISTENCY = "DetectCacheInconsistency": beta(34);
        DISABLE_ALLOCATOR_DUAL_WRITE = "DisableAllocatorDualWrite" requires [MULTI_CIDR_SERVICE_ALLOCATOR]:
            alpha(31), since(33, Beta, false), ga(34), ga_locked(35);
        DISABLE_CPU_QUOTA_WITH_EXCLUSIVE_CPUS = "DisableCPUQuotaWithExclusiveCPUs":
            beta(33), since(36, Deprecated, true);
        DISABLE_NODE_KUBE_PROXY_VERSION = "DisableNodeKubeProxyVersion":
            since(31, Deprecated, false), since(33, Deprecated, true), locked(36, Deprecated, true);
        DYNAMIC_RESOURCE_ALLOCATION = "DynamicResourceAllocation":
            alpha(26), since(32, Beta, false), ga(34), ga_locked(35);
        ENV_FILES = "EnvFiles": alpha(34), beta(35);
        EVENTED_PLEG = "EventedPLEG": alpha(26);
        EXEC_PROBE_TIMEOUT = "ExecProbeTimeout": ga(20), ga_locked(35);
        /// Kubelets that declare the feature accept a client's WebSocket directly.
        EXTEND_WEB_SOCKETS_TO_KUBELET = "ExtendWebSocketsToKubelet" requires [NODE_DECLARED_FEATURES]: beta(36);
        EXTERNAL_SERVICE_ACCOUNT_TOKEN_SIGNER = "ExternalServiceAccountTokenSigner": alpha(32), beta(34), ga_locked(36);
        GANG_SCHEDULING = "GangScheduling" requires [GENERIC_WORKLOAD]: alpha(35);
        GENERIC_WORKLOAD = "GenericWorkload": alpha(35);
        GIT_REPO_VOLUME_DRIVER = "GitRepoVolumeDriver":
            ga(0), since(33, Deprecated, false), locked(36, Deprecated, false);
        GRACEFUL_NODE_SHUTDOWN = "GracefulNodeShutdown": beta(21);
        GRACEFUL_NODE_SHUTDOWN_BASED_ON_POD_PRIORITY = "GracefulNodeShutdownBasedOnPodPriority"
            requires [GRACEFUL_NODE_SHUTDOWN]: beta(24);
        HPA_CONFIGURABLE_TOLERANCE = "HPAConfigurableTolerance": alpha(33), beta(35);
        HPA_SCALE_TO_ZERO = "HPAScaleToZero": alpha(16);
        HOSTNAME_OVERRIDE = "HostnameOverride": alpha(34), beta(35);
        IMAGE_MAXIMUM_GC_AGE = "ImageMaximumGCAge": beta(30), ga_locked(35);
        IMAGE_VOLUME = "ImageVolume": alpha(31), since(33, Beta, false), beta(35), ga_locked(36);
        IMAGE_VOLUME_WITH_DIGEST = "ImageVolumeWithDigest" requires [IMAGE_VOLUME]: alpha(35);
        IN_ORDER_INFORMERS = "InOrderInformers": beta(33), ga_locked(36);
        IN_ORDER_INFORMERS_BATCH_PROCESS = "InOrderInformersBatchProcess": beta(35);
        IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING = "InPlacePodLevelResourcesVerticalScaling"
            requires [IN_PLACE_POD_VERTICAL_SCALING, NODE_DECLARED_FEATURES, POD_LEVEL_RESOURCES]: alpha(35), beta(36);
        IN_PLACE_POD_VERTICAL_SCALING = "InPlacePodVerticalScaling": alpha(27), beta(33), ga_locked(35);
        IN_PLACE_POD_VERTICAL_SCALING_EXCLUSIVE_CPUS = "InPlacePodVerticalScalingExclusiveCPUs"
            requires [IN_PLACE_POD_VERTICAL_SCALING]: alpha(32);
        IN_PLACE_POD_VERTICAL_SCALING_EXCLUSIVE_MEMORY = "InPlacePodVerticalScalingExclusiveMemory"
            requires [IN_PLACE_POD_VERTICAL_SCALING]: alpha(34);
        IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"
            requires [IN_PLACE_POD_VERTICAL_SCALING, NODE_DECLARED_FEATURES]: beta(36);
        INFORMER_RESOURCE_VERSION = "InformerResourceVersion": alpha(30), ga(35);
        JOB_BACKOFF_LIMIT_PER_INDEX = "JobBackoffLimitPerIndex": beta(29), ga_locked(33);
        JOB_MANAGED_BY = "JobManagedBy": alpha(30), beta(32), ga_locked(35);
        JOB_POD_REPLACEMENT_POLICY = "JobPodReplacementPolicy": beta(29), ga_locked(34);
        JOB_SUCCESS_POLICY = "JobSuccessPolicy": beta(31), ga_locked(33);
        KMS_V1 = "KMSv1": since(29, Deprecated, false);
        KUBELET_CGROUP_DRIVER_FROM_CRI = "KubeletCgroupDriverFromCRI": beta(31), ga_locked(34);
        KUBELET_CRASH_LOOP_BACK_OFF_MAX = "KubeletCrashLoopBackOffMax": alpha(32), beta(35);
        KUBELET_ENSURE_SECRET_PULLED_IMAGES = "KubeletEnsureSecretPulledImages": alpha(33), beta(35);
        KUBELET_FINE_GRAINED_AUTHZ = "KubeletFineGrainedAuthz": alpha(32), beta(33), ga_locked(36);
        KUBELET_IN_USER_NAMESPACE = "KubeletInUserNamespace": alpha(22);
        KUBELET_PSI = "KubeletPSI": alpha(33), beta(34), ga_locked(36);
        KUBELET_POD_RESOURCES_DYNAMIC_RESOURCES = "KubeletPodResourcesDynamicResources":
            alpha(27), beta(34), ga_locked(36);
        KUBELET_POD_RESOURCES_GET = "KubeletPodResourcesGet": alpha(27), beta(34), ga_locked(36);
        KUBELET_POD_RESOURCES_LIST_USE_ACTIVE_PODS = "KubeletPodResourcesListUseActivePods":
            since(0, Ga, false), since(34, Deprecated, true);
        KUBELET_REGISTRATION_GET_ON_EXISTS_ONLY = "KubeletRegistrationGetOnExistsOnly":
            ga(0), since(32, Deprecated, false);
        KUBELET_SEPARATE_DISK_GC = "KubeletSeparateDiskGC": beta(31);
        KUBELET_SERVICE_ACCOUNT_TOKEN_FOR_CREDENTIAL_PROVIDERS = "KubeletServiceAccountTokenForCredentialProviders":
            alpha(33), beta(34);
        KUBELET_TRACING = "KubeletTracing": beta(27), ga_locked(34);
        LIST_FROM_CACHE_SNAPSHOT = "ListFromCacheSnapshot": alpha(33), beta(34);
        LOCAL_STORAGE_CAPACITY_ISOLATION_FS_QUOTA_MONITORING = "LocalStorageCapacityIsolationFSQuotaMonitoring":
            since(31, Beta, false);
        LOGARITHMIC_SCALE_DOWN = "LogarithmicScaleDown": ga_locked(31);
        LOGGING_ALPHA_OPTIONS = "LoggingAlphaOptions": alpha(24);
        LOGGING_BETA_OPTIONS = "LoggingBetaOptions": beta(24);
        /// Admission configurations are read from files, too.
        MANIFEST_BASED_ADMISSION_CONTROL_CONFIG = "ManifestBasedAdmissionControlConfig": alpha(36);
        MATCH_LABEL_KEYS_IN_POD_AFFINITY = "MatchLabelKeysInPodAffinity": beta(31), ga_locked(33);
        MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD = "MatchLabelKeysInPodTopologySpread": beta(27);
        MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
            requires [MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD]: beta(34);
        MAX_UNAVAILABLE_STATEFUL_SET = "MaxUnavailableStatefulSet": alpha(24), since(35, Beta, false);
        MEMORY_QOS = "MemoryQoS": alpha(22);
        MULTI_CIDR_SERVICE_ALLOCATOR = "MultiCIDRServiceAllocator": since(31, Beta, false), ga(33), ga_locked(34);
        MUTABLE_CSI_NODE_ALLOCATABLE_COUNT = "MutableCSINodeAllocatableCount":
            alpha(33), since(34, Beta, false), beta(35), ga_locked(36);
        MUTABLE_PV_NODE_AFFINITY = "MutablePVNodeAffinity": alpha(35);
        MUTABLE_POD_RESOURCES_FOR_SUSPENDED_JOBS = "MutablePodResourcesForSuspendedJobs": alpha(35), beta(36);
        MUTABLE_SCHEDULING_DIRECTIVES_FOR_SUSPENDED_JOBS = "MutableSchedulingDirectivesForSuspendedJobs":
            alpha(35), beta(36);
        MUTATING_ADMISSION_POLICY = "MutatingAdmissionPolicy": alpha(32), since(34, Beta, false), ga(36);
        NFTABLES_PROXY_MODE = "NFTablesProxyMode": beta(31), ga_locked(33);
        NATIVE_HISTOGRAMS = "NativeHistograms": alpha(36);
        NODE_DECLARED_FEATURES = "NodeDeclaredFeatures": alpha(35), beta(36);
        NODE_INCLUSION_POLICY_IN_POD_TOPOLOGY_SPREAD = "NodeInclusionPolicyInPodTopologySpread":
            beta(26), ga_locked(33);
        NODE_LOG_QUERY = "NodeLogQuery": beta(30), ga_locked(36);
        NODE_SWAP = "NodeSwap": beta(30), ga_locked(34);
        NOMINATED_NODE_NAME_FOR_EXPECTATION = "NominatedNodeNameForExpectation": alpha(34), beta(35);
        OPPORTUNISTIC_BATCHING = "OpportunisticBatching": beta(35);
        ORDERED_NAMESPACE_DELETION = "OrderedNamespaceDeletion": since(30, Beta, false), beta(33), ga_locked(34);
        PLEG_ON_DEMAND_RELIST = "PLEGOnDemandRelist": beta(36);
        PERSISTENT_VOLUME_CLAIM_UNUSED_SINCE_TIME = "PersistentVolumeClaimUnusedSinceTime": alpha(36);
        POD_AND_CONTAINER_STATS_FROM_CRI = "PodAndContainerStatsFromCRI": alpha(23);
        POD_CERTIFICATE_REQUEST = "PodCertificateRequest" requires [AUTHORIZE_NODE_WITH_SELECTORS]:
            alpha(34), since(35, Beta, false);
        POD_DELETION_COST = "PodDeletionCost": beta(22);
        POD_LEVEL_RESOURCE_MANAGERS = "PodLevelResourceManagers" requires [POD_LEVEL_RESOURCES]: alpha(36);
        POD_LEVEL_RESOURCES = "PodLevelResources": alpha(32), beta(34);
        POD_LIFECYCLE_SLEEP_ACTION = "PodLifecycleSleepAction": beta(30), ga_locked(34);
        POD_LIFECYCLE_SLEEP_ACTION_ALLOW_ZERO = "PodLifecycleSleepActionAllowZero"
            requires [POD_LIFECYCLE_SLEEP_ACTION]: alpha(32), beta(33), ga_locked(34);
        POD_LOGS_QUERY_SPLIT_STREAMS = "PodLogsQuerySplitStreams": alpha(32);
        POD_OBSERVED_GENERATION_TRACKING = "PodObservedGenerationTracking": alpha(33), beta(34), ga_locked(35);
        POD_READY_TO_START_CONTAINERS_CONDITION = "PodReadyToStartContainersCondition": beta(29);
        POD_SCHEDULING_READINESS = "PodSchedulingReadiness": ga_locked(30);
        POD_TOPOLOGY_LABELS_ADMISSION = "PodTopologyLabelsAdmission": alpha(33), beta(35);
        PODS_API = "PodsAPI": alpha(36);
        PORT_FORWARD_WEBSOCKETS = "PortForwardWebsockets": beta(31);
        PREFER_SAME_TRAFFIC_DISTRIBUTION = "PreferSameTrafficDistribution": alpha(33), beta(34), ga_locked(35);
        PREVENT_STATIC_POD_API_REFERENCES = "PreventStaticPodAPIReferences": beta(34);
        PROC_MOUNT_TYPE = "ProcMountType" requires [USER_NAMESPACES_SUPPORT]:
            since(31, Beta, false), beta(33), ga_locked(36);
        QOS_RESERVED = "QOSReserved": alpha(11);
        RECOVER_VOLUME_EXPANSION_FAILURE = "RecoverVolumeExpansionFailure": alpha(23), beta(32), ga_locked(34);
        RECURSIVE_READ_ONLY_MOUNTS = "RecursiveReadOnlyMounts": beta(31), ga_locked(33);
        REDUCE_DEFAULT_CRASH_LOOP_BACK_OFF_DECAY = "ReduceDefaultCrashLoopBackOffDecay": alpha(33);
        RELAXED_DNS_SEARCH_VALIDATION = "RelaxedDNSSearchValidation": alpha(32), beta(33), ga_locked(34);
        RELAXED_ENVIRONMENT_VARIABLE_VALIDATION = "RelaxedEnvironmentVariableValidation":
            alpha(30), beta(32), ga_locked(34);
        RELAXED_SERVICE_NAME_VALIDATION = "RelaxedServiceNameValidation": alpha(34), beta(36);
        RELOAD_KUBELET_CLIENT_CA_FILE = "ReloadKubeletClientCAFile": beta(36);
        RELOAD_KUBELET_SERVER_CERTIFICATE_FILE = "ReloadKubeletServerCertificateFile": beta(31);
        REMOTE_REQUEST_HEADER_UID = "RemoteRequestHeaderUID": alpha(32), beta(33);
        RESILIENT_WATCH_CACHE_INITIALIZATION = "ResilientWatchCacheInitialization": beta(31), ga_locked(34);
        RESOURCE_HEALTH_STATUS = "ResourceHealthStatus" requires [DYNAMIC_RESOURCE_ALLOCATION]: alpha(31), beta(36);
        RESOURCE_HEALTH_STATUS_MESSAGE = "ResourceHealthStatusMessage" requires [RESOURCE_HEALTH_STATUS]: beta(36);
        RESTART_ALL_CONTAINERS_ON_CONTAINER_EXITS = "RestartAllContainersOnContainerExits"
            requires [CONTAINER_RESTART_RULES, NODE_DECLARED_FEATURES]: alpha(35), beta(36);
        RETRY_GENERATE_NAME = "RetryGenerateName": beta(31), ga_locked(32);
        ROTATE_KUBELET_SERVER_CERTIFICATE = "RotateKubeletServerCertificate": beta(12);
        RUNTIME_CLASS_IN_IMAGE_CRI_API = "RuntimeClassInImageCriApi": alpha(29);
        SELINUX_CHANGE_POLICY = "SELinuxChangePolicy": alpha(32), beta(33), ga_locked(36);
        SELINUX_MOUNT = "SELinuxMount": alpha(30), since(33, Beta, false);
        SELINUX_MOUNT_READ_WRITE_ONCE_POD = "SELinuxMountReadWriteOncePod": beta(28), ga_locked(36);
        SCHEDULER_ASYNC_API_CALLS = "SchedulerAsyncAPICalls": since(34, Beta, false);
        SCHEDULER_ASYNC_PREEMPTION = "SchedulerAsyncPreemption": alpha(32), beta(33);
        SCHEDULER_POP_FROM_BACKOFF_Q = "SchedulerPopFromBackoffQ": beta(33);
        SCHEDULER_QUEUEING_HINTS = "SchedulerQueueingHints": since(28, Beta, false), beta(32), ga_locked(34);
        SEPARATE_CACHE_WATCH_RPC = "SeparateCacheWatchRPC":
            beta(28), since(33, Deprecated, false), locked(36, Deprecated, false);
        SEPARATE_TAINT_EVICTION_CONTROLLER = "SeparateTaintEvictionController": beta(29), ga_locked(34);
        SERVICE_ACCOUNT_NODE_AUDIENCE_RESTRICTION = "ServiceAccountNodeAudienceRestriction":
            since(32, Beta, false), beta(33);
        SERVICE_ACCOUNT_TOKEN_JTI = "ServiceAccountTokenJTI": beta(30), ga_locked(32);
        SERVICE_ACCOUNT_TOKEN_NODE_BINDING = "ServiceAccountTokenNodeBinding"
            requires [SERVICE_ACCOUNT_TOKEN_NODE_BINDING_VALIDATION]: beta(31), ga_locked(33);
        SERVICE_ACCOUNT_TOKEN_NODE_BINDING_VALIDATION = "ServiceAccountTokenNodeBindingValidation":
            beta(30), ga_locked(32);
        SERVICE_ACCOUNT_TOKEN_POD_NODE_INFO = "ServiceAccountTokenPodNodeInfo": beta(30), ga_locked(32);
        SERVICE_CIDR_STATUS_FIELD_WIPING = "ServiceCIDRStatusFieldWiping":
            since(0, Ga, false), since(36, Deprecated, true);
        SIDECAR_CONTAINERS = "SidecarContainers": beta(29), ga_locked(33);
        SIZE_BASED_LIST_COST_ESTIMATE = "SizeBasedListCostEstimate": beta(34);
        STALE_CONTROLLER_CONSISTENCY_DAEMON_SET = "StaleControllerConsistencyDaemonSet" requires [ATOMIC_FIFO]:
            beta(36);
        STALE_CONTROLLER_CONSISTENCY_JOB = "StaleControllerConsistencyJob" requires [ATOMIC_FIFO]: beta(36);
        STALE_CONTROLLER_CONSISTENCY_REPLICA_SET = "StaleControllerConsistencyReplicaSet" requires [ATOMIC_FIFO]:
            beta(36);
        STALE_CONTROLLER_CONSISTENCY_STATEFUL_SET = "StaleControllerConsistencyStatefulSet" requires [ATOMIC_FIFO]:
            beta(36);
        STATEFUL_SET_SEMANTIC_REVISION_COMPARISON = "StatefulSetSemanticRevisionComparison": beta(0);
        STORAGE_CAPACITY_SCORING = "StorageCapacityScoring": alpha(33);
        STORAGE_NAMESPACE_INDEX = "StorageNamespaceIndex": beta(30), since(33, Deprecated, true);
        STORAGE_VERSION_API = "StorageVersionAPI" requires [API_SERVER_IDENTITY]: alpha(20);
        STORAGE_VERSION_MIGRATOR = "StorageVersionMigrator": alpha(30), since(35, Beta, false);
        STREAMING_COLLECTION_ENCODING_TO_JSON = "StreamingCollectionEncodingToJSON": beta(33), ga_locked(34);
        STREAMING_COLLECTION_ENCODING_TO_PROTOBUF = "StreamingCollectionEncodingToProtobuf": beta(33), ga_locked(34);
        /// Addresses and blocks must be written in one way only.
        STRICT_IP_CIDR_VALIDATION = "StrictIPCIDRValidation": alpha(33), beta(36);
        STRUCTURED_AUTHENTICATION_CONFIGURATION = "StructuredAuthenticationConfiguration": beta(30), ga_locked(34);
        STRUCTURED_AUTHENTICATION_CONFIGURATION_EGRESS_SELECTOR = "StructuredAuthenticationConfigurationEgressSelector"
            requires [STRUCTURED_AUTHENTICATION_CONFIGURATION]: beta(34);
        STRUCTURED_AUTHENTICATION_CONFIGURATION_JWKS_METRICS = "StructuredAuthenticationConfigurationJWKSMetrics"
            requires [STRUCTURED_AUTHENTICATION_CONFIGURATION]: beta(35);
        SUPPLEMENTAL_GROUPS_POLICY = "SupplementalGroupsPolicy": alpha(31), beta(33), ga_locked(35);
        SYSTEMD_WATCHDOG = "SystemdWatchdog": beta(32), ga_locked(35);
        TAINT_TOLERATION_COMPARISON_OPERATORS = "TaintTolerationComparisonOperators": alpha(35);
        TOKEN_REQUEST_SERVICE_ACCOUNT_UID_VALIDATION = "TokenRequestServiceAccountUIDValidation": beta(34);
        TOPOLOGY_AWARE_WORKLOAD_SCHEDULING = "TopologyAwareWorkloadScheduling" requires [GENERIC_WORKLOAD]: alpha(36);
        TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS = "TopologyManagerPolicyAlphaOptions": alpha(26);
        TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS = "TopologyManagerPolicyBetaOptions": beta(28);
        TOPOLOGY_MANAGER_POLICY_OPTIONS = "TopologyManagerPolicyOptions": beta(28), ga_locked(32);
        TRANSLATE_STREAM_CLOSE_WEBSOCKET_REQUESTS = "TranslateStreamCloseWebsocketRequests": beta(30);
        /// Other servers over the same store answer requests that this one cannot.
        UNKNOWN_VERSION_INTEROPERABILITY_PROXY = "UnknownVersionInteroperabilityProxy" requires [API_SERVER_IDENTITY]:
            alpha(28), beta(36);
        UNLOCK_WHILE_PROCESSING_FIFO = "UnlockWhileProcessingFIFO": beta(36);
        USER_NAMESPACES_HOST_NETWORK_SUPPORT = "UserNamespacesHostNetworkSupport"
            requires [NODE_DECLARED_FEATURES, USER_NAMESPACES_SUPPORT]: alpha(35);
        USER_NAMESPACES_SUPPORT = "UserNamespacesSupport": since(30, Beta, false), beta(33), ga_locked(36);
        VOLUME_ATTRIBUTES_CLASS = "VolumeAttributesClass": since(31, Beta, false), ga(34), ga_locked(36);
        VOLUME_LIMIT_SCALING = "VolumeLimitScaling": alpha(35);
        WATCH_CACHE_INITIALIZATION_POST_START_HOOK = "WatchCacheInitializationPostStartHook":
            since(31, Beta, false), beta(36);
        WATCH_LIST_CLIENT = "WatchListClient": since(30, Beta, false), beta(35);
        WIN_DSR = "WinDSR": alpha(14), beta(33), ga_locked(34);
        WIN_OVERLAY = "WinOverlay": beta(20), ga_locked(34);
        WINDOWS_CPU_AND_MEMORY_AFFINITY = "WindowsCPUAndMemoryAffinity": alpha(32);
        WINDOWS_GRACEFUL_NODE_SHUTDOWN = "WindowsGracefulNodeShutdown" requires [GRACEFUL_NODE_SHUTDOWN]:
            alpha(32), beta(34);
        WINDOWS_HOST_NETWORK = "WindowsHostNetwork": alpha(26), since(33, Deprecated, false);
        WORKLOAD_AWARE_PREEMPTION = "WorkloadAwarePreemption" requires [GANG_SCHEDULING]: alpha(36);
        WORKLOAD_WITH_JOB = "WorkloadWithJob" requires [GENERIC_WORKLOAD]: alpha(36);
    }
}
