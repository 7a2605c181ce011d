import type { Resource } from "../../pkg/apimachinery/resource.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { loaded } from "../../pkg/clock/clock.ts"
import { DEFAULT_FEATURES, type Features } from "../../pkg/component/features.ts"
import type { Controller } from "../../pkg/controller/controller.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import { startController, type ControllerObserver, type RunningController } from "../../pkg/controller/start.ts"
import type { LegacyTokenRequest } from "../../pkg/jwt/legacy-token.ts"
import { attachDetachController } from "./attachdetach/attachdetach.ts"
import { certificateApprover } from "./certificates/approver.ts"
import { certificateCleaner } from "./certificates/cleaner.ts"
import { certificateSigner, type Certify } from "./certificates/signer.ts"
import { cronJobController } from "./cronjob/cronjob.ts"
import { daemonSetController } from "./daemonset/daemonset.ts"
import { deploymentController } from "./deployment/deployment.ts"
import { disruptionController } from "./disruption/disruption.ts"
import { staleDisruptionTargets } from "./disruption/stale-target.ts"
import { endpointController } from "./endpoint.ts"
import { endpointSliceController } from "./endpointslice/endpointslice.ts"
import { endpointSliceMirroringController } from "./endpointslice/mirroring.ts"
import { startGarbageCollector } from "./garbagecollector/garbagecollector.ts"
import { AUTOSCALER_SYNC_MS, horizontalPodAutoscaler } from "./horizontalpodautoscaler/horizontalpodautoscaler.ts"
import { metricsClient, type AskMetrics } from "./horizontalpodautoscaler/replicas/metrics-client.ts"
import { JobMetrics } from "./job/job-metrics.ts"
import { jobController } from "./job/job.ts"
import { legacyTokenCleaner } from "./serviceaccount/legacy-token-cleaner.ts"
import { namespaceController } from "./namespace.ts"
import { nodeIpamController } from "./nodeipam.ts"
import { nodeLifecycleController } from "./nodelifecycle/nodelifecycle.ts"
import type { NodeLifecycleSettings } from "./nodelifecycle/settings.ts"
import { ZoneMetrics } from "./nodelifecycle/zone-metrics.ts"
import { podGarbageCollector } from "./podgc.ts"
import { attributesClassProtection, claimProtection, volumeProtection } from "./volume/protection.ts"
import { replicaSetController } from "./replicaset/replicaset.ts"
import { replicationController } from "./replicationcontroller.ts"
import { claimsOfPods } from "./resourceclaim/claims-of-pods.ts"
import { deviceTaintEvictionController } from "./resourceclaim/device-taint-eviction.ts"
import { claimReservations } from "./resourceclaim/reservations.ts"
import { resourceQuotaController } from "./resourcequota.ts"
import { rootCaCertPublisher } from "./serviceaccount/rootcacertpublisher.ts"
import { serviceAccountController } from "./serviceaccount/serviceaccount.ts"
import { serviceAccountTokens } from "./serviceaccount/serviceaccount-tokens.ts"
import { serviceCidrController } from "./servicecidrs.ts"
import { outsideAddressController } from "./servicelb/outside-addresses-controller.ts"
import { formerLoadBalancers } from "./servicelb/former-load-balancers.ts"
import { serviceLbController, type OccupiedPorts } from "./servicelb/servicelb.ts"
import { ephemeralVolumes } from "./volume/ephemeral-volume.ts"
import { claimBinder } from "./persistentvolume/claims.ts"
import { volumeExpander } from "./persistentvolume/expander.ts"
import { volumePhases } from "./persistentvolume/volumes.ts"
import { volumesOfDeletedNodes } from "./persistentvolume/volumes-of-deleted-nodes.ts"
import { provisioner } from "../../pkg/provisioner/provisioner.ts"
import { reclaimer } from "../../pkg/provisioner/reclaimer.ts"
import { resizer } from "../../pkg/provisioner/resizer.ts"
import { simulatedVolumes } from "./volume/simulated-volumes.ts"
import { statefulSetController } from "./statefulset/statefulset.ts"
import { taintEvictionController } from "./tainteviction.ts"
import { tokenCleaner } from "./token-cleaner.ts"
import { ttlController } from "./ttl.ts"
import { ttlAfterFinishedController } from "./ttlafterfinished.ts"
import { policyStatusController } from "./validatingadmissionpolicystatus/validatingadmissionpolicystatus.ts"

export interface ControllersConfig {
  /** Returns the kinds served now; custom kinds come and go. */
  readonly resources: () => readonly Resource[]
  /** Registers a listener for changes of the served kinds. */
  readonly onResources: (listener: () => void) => () => void
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  /** Requests metrics from aggregated APIs. */
  readonly askMetrics: AskMetrics
  /** The program's metrics; those of the controllers are shown nowhere unless given. */
  readonly metrics?: Registry
  /** Interval in which autoscalers read metrics, in milliseconds; 15 s unless given. */
  readonly autoscalerSyncMs?: number
  /** How many ended pods are kept; 12,500 unless given, and all if zero. */
  readonly keptEndedPods?: number
  /** Longest life of signed certificates, in milliseconds; a year unless given. */
  readonly longestCertificateMs?: number
  /** When nodes count as lost, and how fast their pods are evicted; as in Kubernetes unless given. */
  readonly nodeLifecycle?: NodeLifecycleSettings
  /** Kinds of extension API servers; none unless given. */
  readonly remote?: RemoteConfig
  /** PEM of the authority that signed the API server's certificate. */
  readonly caPem: () => string
  /** Signs the token for a token Secret. */
  readonly signToken: (request: LegacyTokenRequest) => string
  /** Signs certificates for CertificateSigningRequests. */
  readonly certify: Certify
  /** Feature gates; all on unless given. */
  readonly features?: Features
  /** Whether volumes are created for simulated nodes: of every class, except of those with these provisioners. */
  readonly simulatedVolumes?: false | { readonly except: readonly string[] }
  /** Ports of the nodes that load balancers do not get; none unless given. */
  readonly occupiedPorts?: OccupiedPorts
  /** The range of pod addresses, e.g. 10.42.0.0/16, or one of each family with the primary one first. */
  readonly clusterCidrs: readonly string[]
  /** The prefix length of each node's part of the range of `clusterCidrs` at the same place. */
  readonly nodeMasks: readonly number[]
}

/** The kinds of extension API servers, as far as they could be discovered. */
export interface RemoteConfig {
  readonly resources: readonly Resource[]
  /** Versions, as `<group>/<version>`, whose server cannot be asked for its kinds. */
  readonly stale: readonly string[]
  /** Registers a listener for changes of these kinds. */
  subscribe(listener: () => void): () => void
}

/** A controller with its name and the function that starts it. */
export interface ControllerEntry {
  readonly name: string
  /**
   * Its service account in kube-system, to which the bootstrap roles grant its rights; without one it acts as the
   * controller manager.
   */
  readonly account: string | undefined
  /** Runs only where the controller of this name is off, and finishes what that one has begun. */
  readonly insteadOf?: string
  start(context: ComponentContext, observer?: ControllerObserver): Promise<RunningController>
}

const entry = (account: string | undefined, controller: Controller): ControllerEntry => ({
  name: controller.name,
  account,
  start: (context, observer) => startController(controller, context, observer),
})

/** A controller of a kind that is off by default: its code is loaded where the kind is served only. */
const optional = (name: string, account: string, load: () => Promise<Controller>): ControllerEntry => ({
  name,
  account,
  start: async (context, observer) => startController(await loaded(context.clock, load()), context, observer),
})

/**
 * Returns each kind in one version, because other versions show the same objects: the storage version if it is served,
 * so that no webhook has to convert objects that are only counted or deleted.
 */
function oneVersionEach(resources: readonly Resource[]): readonly Resource[] {
  const chosen = new Map<string, Resource>()
  for (const resource of resources) {
    const { group, version, plural, storedAs } = resource
    const key = `${plural}.${group}`
    if (!chosen.has(key) || version === (storedAs?.version ?? version)) chosen.set(key, resource)
  }
  return [...chosen.values()]
}

/** Every controller, in the order in which they start. Names are upstream's (cmd/kube-controller-manager/names). */
export function controllers(config: ControllersConfig): readonly ControllerEntry[] {
  // Kinds with a time to live (Events) own nothing and have no owner. Source: garbagecollector.DefaultIgnoredResources.
  const { remote, features = DEFAULT_FEATURES } = config
  const isServed = (apiVersion: string, kind: string) => config.resourceOf(apiVersion, kind) !== undefined
  const all = () => oneVersionEach([...config.resources(), ...(remote?.resources ?? [])])
  const collected = () =>
    all().filter(
      ({ verbs, ttlSeconds }) =>
        ttlSeconds === undefined &&
        ["list", "watch", "delete"].every((verb) => (verbs as readonly string[]).includes(verb)),
    )
  const namespaced = () =>
    all().filter(({ scope, verbs }) => scope === "Namespaced" && verbs.includes("list") && verbs.includes("delete"))
  const jobMetrics = config.metrics && new JobMetrics(config.metrics)
  const simulated = simulatedVolumes(config.simulatedVolumes ? config.simulatedVolumes.except : [])
  return [
    entry("service-account-controller", serviceAccountController),
    entry(undefined, serviceAccountTokens(config)),
    entry("legacy-service-account-token-cleaner", legacyTokenCleaner),
    entry("token-cleaner", tokenCleaner),
    entry("root-ca-cert-publisher", rootCaCertPublisher(config.caPem)),
    ...(features.ClusterTrustBundle && isServed("certificates.k8s.io/v1beta1", "ClusterTrustBundle")
      ? [
          optional(
            "kube-apiserver-serving-clustertrustbundle-publisher-controller",
            "kube-apiserver-serving-clustertrustbundle-publisher",
            async () =>
              (await import("./certificates/clustertrustbundlepublisher.ts")).clusterTrustBundlePublisher(
                config.caPem,
              ) as Controller,
          ),
        ]
      : []),
    ...(features.PodCertificateRequest && isServed("certificates.k8s.io/v1beta1", "PodCertificateRequest")
      ? [
          optional(
            "podcertificaterequest-cleaner-controller",
            "podcertificaterequestcleaner",
            async () => (await import("./certificates/pcrcleaner.ts")).podCertificateRequestCleaner as Controller,
          ),
        ]
      : []),
    ...(features.CoordinatedLeaderElection && isServed("coordination.k8s.io/v1beta1", "LeaseCandidate")
      ? [
          optional(
            "leader-election-controller",
            "leader-election-controller",
            async () => (await import("./leaderelection/leaderelection.ts")).leaderElection as Controller,
          ),
          optional(
            "leasecandidate-gc-controller",
            "leader-election-controller",
            async () => (await import("./leaderelection/candidate-gc.ts")).leaseCandidateGC as Controller,
          ),
        ]
      : []),
    ...(features.GenericWorkload && isServed("scheduling.k8s.io/v1alpha2", "PodGroup")
      ? [
          optional(
            "podgroup-protection-controller",
            "podgroup-protection-controller",
            async () => (await import("./podgroupprotection.ts")).podGroupProtection as Controller,
          ),
        ]
      : []),
    ...(features.StorageVersionMigrator && isServed("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
      ? [
          optional(
            "storage-version-migrator-controller",
            "storage-version-migrator-controller",
            async () =>
              (await import("./storageversionmigrator/storageversionmigrator.ts")).storageVersionMigrator(
                all,
              ) as Controller,
          ),
        ]
      : []),
    entry("certificate-controller", certificateApprover),
    entry("certificate-controller", certificateSigner(config.certify, config.longestCertificateMs)),
    entry("certificate-controller", certificateCleaner),
    entry("node-controller", nodeIpamController(config.clusterCidrs, config.nodeMasks)),
    entry(
      "node-controller",
      nodeLifecycleController(
        config.nodeLifecycle,
        config.metrics === undefined ? undefined : new ZoneMetrics(config.metrics),
      ),
    ),
    entry("node-controller", taintEvictionController()),
    entry("ttl-controller", ttlController()),
    entry("deployment-controller", deploymentController(config.features)),
    entry("replicaset-controller", replicaSetController(config.features)),
    entry("replication-controller", replicationController(config.features)),
    entry("daemon-set-controller", daemonSetController()),
    entry("statefulset-controller", statefulSetController()),
    features.WorkloadWithJob && isServed("scheduling.k8s.io/v1alpha2", "PodGroup")
      ? optional(
          "job-controller",
          "job-controller",
          async () => jobController(jobMetrics, await import("./job/job-group.ts")) as Controller,
        )
      : entry("job-controller", jobController(jobMetrics)),
    entry("cronjob-controller", cronJobController(config.metrics)),
    entry("ttl-after-finished-controller", ttlAfterFinishedController),
    entry(
      "horizontal-pod-autoscaler",
      horizontalPodAutoscaler({
        metrics: metricsClient(config.askMetrics),
        ...(config.metrics === undefined ? {} : { registry: config.metrics }),
        resources: config.resources,
        syncPeriodMs: config.autoscalerSyncMs ?? AUTOSCALER_SYNC_MS,
        scalesToZero: config.features?.HPAScaleToZero === true,
      }),
    ),
    entry("disruption-controller", disruptionController),
    entry("disruption-controller", staleDisruptionTargets),
    entry("endpoint-controller", endpointController()),
    entry("endpointslice-controller", endpointSliceController()),
    entry("endpointslicemirroring-controller", endpointSliceMirroringController),
    entry("resourcequota-controller", resourceQuotaController(config.resources)),
    entry("persistent-volume-binder", claimBinder),
    entry("persistent-volume-binder", volumePhases),
    entry("persistent-volume-binder", volumesOfDeletedNodes()),
    entry("expand-controller", volumeExpander),
    entry("attachdetach-controller", attachDetachController()),
    entry("ephemeral-volume-controller", ephemeralVolumes),
    entry("resource-claim-controller", claimsOfPods),
    entry("resource-claim-controller", claimReservations),
    entry("device-taint-eviction-controller", deviceTaintEvictionController()),
    ...(config.simulatedVolumes
      ? [
          entry("persistent-volume-binder", provisioner("simulated-volume-controller", simulated)),
          entry("persistent-volume-binder", reclaimer("simulated-volume-reclaimer", simulated)),
          entry("persistent-volume-binder", resizer("simulated-volume-resizer", simulated)),
        ]
      : []),
    entry("pvc-protection-controller", claimProtection),
    entry("pv-protection-controller", volumeProtection),
    entry("volumeattributesclass-protection-controller", attributesClassProtection),
    entry("service-cidrs-controller", serviceCidrController),
    entry("service-controller", serviceLbController(config.occupiedPorts)),
    { ...entry("service-controller", formerLoadBalancers), insteadOf: "service-lb-controller" },
    entry("service-controller", outsideAddressController(config.occupiedPorts)),
    entry("validatingadmissionpolicy-status-controller", policyStatusController(config)),
    entry(
      "namespace-controller",
      namespaceController(namespaced, () => remote?.stale ?? []),
    ),
    entry("pod-garbage-collector", podGarbageCollector(config.keptEndedPods)),
    {
      name: "garbage-collector-controller",
      account: "generic-garbage-collector",
      start: (context) =>
        startGarbageCollector(context, {
          resources: collected,
          onResources(listener) {
            const offs = [config.onResources(listener), remote?.subscribe(listener)]
            return () => offs.forEach((off) => off?.())
          },
          resourceOf: config.resourceOf,
        }),
    },
  ]
}
