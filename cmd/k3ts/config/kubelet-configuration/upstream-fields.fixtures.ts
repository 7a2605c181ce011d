/**
 * The fields of KubeletConfiguration in Kubernetes 1.36; those with a star are pointers, whose zero is a value. Source:
 * k8s.io/kubelet config/v1beta1/types.go.
 */
export const UPSTREAM_FIELDS: readonly string[] = `
  address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS* clusterDNS
  clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles* containerLogMaxSize
  containerLogMaxWorkers* containerLogMonitorInterval* containerRuntimeEndpoint contentType cpuCFSQuota*
  cpuCFSQuotaPeriod* cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff
  enableContentionProfiling enableControllerAttachDetach* enableDebugFlagsHandler* enableDebuggingHandlers*
  enableProfilingHandler* enableServer* enableSystemLogHandler* enableSystemLogQuery* enforceNodeAllocatable
  eventBurst eventRecordQPS* evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim
  evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod failCgroupV1* failSwapOn* featureGates
  fileCheckFrequency hairpinMode healthzBindAddress healthzPort* httpCheckFrequency imageGCHighThresholdPercent*
  imageGCLowThresholdPercent* imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy
  imageServiceEndpoint iptablesDropBit* iptablesMasqueradeBit* kernelMemcgNotification kubeAPIBurst kubeAPIQPS*
  kubeReserved kubeReservedCgroup kubeletCgroups localStorageCapacityIsolation* logging makeIPTablesUtilChains*
  maxOpenFiles maxParallelImagePulls* maxPods memoryManagerPolicy memoryReservationPolicy memorySwap
  memoryThrottlingFactor* mergeDefaultEvictionSettings* nodeLeaseDurationSeconds nodeStatusMaxImages*
  nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj* podCIDR podLogsDir podPidsLimit* podsPerCore
  port preloadedImagesVerificationAllowlist protectKernelDefaults providerID qosReserved readOnlyPort
  registerNode* registerWithTaints registryBurst registryPullQPS* reservedMemory reservedSystemCPUs resolvConf*
  rotateCertificates runOnce runtimeRequestTimeout seccompDefault* serializeImagePulls* serverTLSBootstrap
  showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods
  singleProcessOOMKill* staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency
  systemCgroups systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion
  tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing*
  userNamespaces* volumePluginDir volumeStatsAggPeriod
`
  .trim()
  .split(/\s+/)
