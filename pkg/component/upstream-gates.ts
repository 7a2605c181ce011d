/**
 * The feature gates of Kubernetes 1.36 that k3ts cannot change, by what they are there. Source: pkg/features, and those
 * of apiserver, client-go, component-base and apiextensions-apiserver.
 */
const NAMES = {
  /** On, and can be turned off in Kubernetes. */
  on: `
    APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AtomicFIFO
    AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
    ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz
    ComponentStatusz ConstrainedImpersonation ContainerCheckpoint ContextualLogging CustomCPUCFSQuotaPeriod
    DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
    DRAPrioritizedList DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
    DRASchedulerFilterTimeout DeclarativeValidationBeta DetectCacheInconsistency DisableCPUQuotaWithExclusiveCPUs
    ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance
    InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers
    InformerResourceVersion KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
    KubeletPodResourcesListUseActivePods KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders
    ListFromCacheSnapshot LoggingBetaOptions MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs
    MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy NodeDeclaredFeatures
    NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist
    PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets
    PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
    RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
    SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction ServiceCIDRStatusFieldWiping
    SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
    StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
    StatefulSetSemanticRevisionComparison StorageNamespaceIndex StorageVersionHash StrictIPCIDRValidation
    StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
    UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
    WatchCacheInitializationPostStartHook WatchListClient WindowsGracefulNodeShutdown
  `,
  /** On for good. */
  lockedOn: `
    APIServerTracing AggregatedDiscoveryRemoveBetaType AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
    CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors
    DRAAdminAccess DeclarativeValidation DisableAllocatorDualWrite DisableNodeKubeProxyVersion
    DynamicResourceAllocation ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume
    InOrderInformers InPlacePodVerticalScaling JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy
    JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI
    KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown
    MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount NFTablesProxyMode
    NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion PodLifecycleSleepAction
    PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
    PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
    RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization
    RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints
    SeparateTaintEvictionController ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers
    StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
    SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
    VolumeAttributesClass WinDSR WinOverlay
  `,
  /** Beta, and off. */
  beta: `
    ConcurrentWatchObjectDecode
    DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring SELinuxMount
    SchedulerAsyncAPICalls
  `,
  /** Alpha, and off. */
  alpha: `
    APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
    CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
    CrossNamespaceVolumeDataSource DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus
    DRAWorkloadResourceClaims EventedPLEG ImageVolumeWithDigest
    InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace
    LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS NativeHistograms
    PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
    PodLogsQuerySplitStreams PodsAPI QOSReserved RuntimeClassInImageCriApi
    ShardedListAndWatch StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
    TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
    VolumeLimitScaling WindowsCPUAndMemoryAffinity
  `,
  /** Deprecated, and off: they bring back what was before. */
  deprecated: `
    AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart
    DeclarativeValidationTakeover KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
  `,
  /** Off for good. */
  lockedOff: `
    AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
  `,
} as const
type State = keyof typeof NAMES

/** Returns the names of the gates of one state. */
export const gatesThatAre = (state: State): readonly string[] => NAMES[state].trim().split(/\s+/)

/** Why some gates that are off are not there, and what does the same. */
const INSTEAD: Readonly<Record<string, string>> = {
  MemoryQoS: "memory is limited, and not throttled before that",
  KubeletInUserNamespace: "without root there is k3ts test-cluster",
  EventedPLEG: "the events of the container runtime are followed always",
  CRIListStreaming: "lists of the container runtime have no limit here",
  SELinuxMount: "volumes get no SELinux labels",
  KMSv1: "use version v2 of a KMS plugin",
  GitRepoVolumeDriver: "clone the repository in an init container, into an emptyDir",
}

/**
 * Returns why a gate of Kubernetes cannot be set so; undefined where it is so anyway, or where no such gate is known.
 * Source of the words about locked gates: component-base featuregate/feature_gate.go.
 */
export function refusalOfGate(name: string, on: boolean): string | undefined {
  if (name === "AllAlpha" || name === "AllBeta")
    return on ? `${name} cannot be true: name the gates that are wanted` : undefined
  const is = (state: State) => gatesThatAre(state).includes(name)
  if (is("lockedOn") && !on) return `cannot set feature gate ${name} to false, feature is locked to true`
  if (is("lockedOff") && on) return `cannot set feature gate ${name} to true, feature is locked to false`
  if (is("on") && !on) return `feature gate ${name} cannot be false: k3ts has no way without it`
  if (!on) return undefined
  const state = (["beta", "alpha", "deprecated"] as const).find(is)
  if (state === undefined) return undefined
  const instead = INSTEAD[name] === undefined ? "" : `; ${INSTEAD[name]}`
  return `feature gate ${name} cannot be true: it is ${state} and off in Kubernetes 1.36, and not in k3ts${instead}`
}

/** Whether Kubernetes 1.36 has a gate of this name. */
export const isUpstreamGate = (name: string): boolean =>
  name === "AllAlpha" ||
  name === "AllBeta" ||
  (Object.keys(NAMES) as readonly State[]).some((state) => gatesThatAre(state).includes(name))
