/**
 * Whole Kubernetes clusters inside a test. Start with `startCluster`; docs/testing.md shows the way.
 *
 *     import { startCluster, Job } from "k3ts/testing"
 *
 *     test("a CronJob runs every midnight", async () => {
 *       await using cluster = await startCluster({ nodes: 3 })
 *       await cluster.apply("manifests/nightly.yaml")
 *       await cluster.advance("3d")
 *       expect(await cluster.list(Job)).toHaveLength(3)
 *     })
 */
import "../../../pkg/version/check-runtime.ts"
export { startCluster, type Cluster } from "./cluster.ts"
export { resultsOf, runClusters, type ClusterRun, type RunClustersOptions } from "./workers/run-clusters.ts"
export type { Drill } from "./workers/run-seed.ts"
export type { ContextOptions } from "./context-options.ts"
export type { Listening } from "./network/listening.ts"
export { TestClusterError, type TestClusterReason } from "./caller.ts"
export type { CsiDriverOptions } from "./storage/csi-drivers.ts"
export type { NodeOptions } from "./options/node-spec.ts"
export type { ClusterOptions } from "./options/options.ts"
export type { FeatureName } from "../../../pkg/component/features.ts"
export type { Trace } from "./history/traces.ts"
export type { FinishedSpan } from "../../../pkg/tracing/finished-span.ts"
export type { KubectlOptions, KubectlResult } from "./kubectl/run.ts"
export type { FetchOptions } from "./verbs/fetch-as-pod.ts"
export type { From } from "./network/sender.ts"
export { ConnectionError, type ConnectionFailure } from "../../kubelet/runtime/simulated/machine/connection-error.ts"
export type { Duration } from "./time/duration.ts"
export type { DrainOptions } from "./verbs/drain.ts"
export type { ExecOutcome } from "./verbs/verbs.ts"
export type { WaitCondition } from "./verbs/wait-for.ts"
export type { Faults } from "./faults/faults.ts"
export type { DriverFaultOptions, Fault } from "./faults/storage-faults.ts"
export type { ComponentName } from "./faults/held-part.ts"
export type { RequestMatch, RequestRule } from "./faults/request-rules.ts"
export type { ExtensionServer } from "../../apiserver/aggregator/extension-server.ts"
export type {
  AdmissionRequest,
  ConversionRequest,
  ConversionWebhook,
  WebhookAnswer,
  WebhookFunction,
} from "./extensions/webhooks.ts"
export type { ClusterReplay } from "./replay/cluster-replay.ts"
export type { DifferentField, ReplayDifference } from "./replay/difference.ts"
export type { ReplayInput, ReplayOption } from "./replay/replay-input.ts"
export type { FieldChange } from "../../../pkg/history/changes.ts"
export type { HistoryEntry, HistoryFilter } from "./history/history.ts"
export type { Report } from "./report/report.ts"
export type { ClusterWhy, Why } from "./history/why.ts"
export type { ApplyOptions } from "./verbs/apply.ts"
export type { LogsOptions } from "./verbs/logs.ts"
export type { ManifestSource } from "./verbs/manifests.ts"
export type { Reference, Selection } from "./verbs/selection.ts"
export type {
  ContainerHandle,
  ExecAnswer,
  ImageBehaviour,
} from "../../kubelet/runtime/simulated/containers/behaviour.ts"

// Types and errors for tests, and what controllers of a test need.
export { ApiError, isAlreadyExists, isConflict, isNotFound } from "../../../pkg/apimachinery/errors.ts"
export type { KubeObject, KubeObjectInput, Resource } from "../../../pkg/apimachinery/resource.ts"
export type { Client } from "../../../pkg/client/client.ts"
export type { TestClient } from "./verbs/test-client.ts"
export { keyFrom, splitKey, type Informer, type Informers, type Key } from "../../../pkg/client/informer.ts"
export type { Component, ComponentContext } from "../../../pkg/component/component.ts"
export { defineController, type Controller, type ReconcileContext } from "../../../pkg/controller/controller.ts"
export { runLeaderElected, type LeaderElectionOptions } from "../../../pkg/controller/leader-election.ts"
export { customKind, type CustomKind, type CustomObject } from "../../../pkg/operator/custom-kind.ts"
export {
  defineCustomResource,
  type CustomDefinition,
  type CustomVersion,
  type DefinitionManifest,
  type ObjectOf,
} from "../../../pkg/operator/custom-resource/define-custom-resource.ts"
export { s, type Field } from "../../../pkg/operator/custom-resource/fields.ts"
export { owned } from "../../../pkg/controller/owned.ts"
export { sleep, type Clock } from "../../../pkg/clock/clock.ts"

// Every kind that is served. `Event` is that of v1, and HorizontalPodAutoscaler that of autoscaling/v2.
export { MutatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
export { MutatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
export { MutatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
export { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
export { ValidatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
export { ValidatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/validatingwebhookconfiguration.ts"
export { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
export { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
export { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
export { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
export { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
export { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
export { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
export { SelfSubjectReview } from "../../../pkg/api/authentication/v1/selfsubjectreview.ts"
export { TokenReview } from "../../../pkg/api/authentication/v1/tokenreview.ts"
export { LocalSubjectAccessReview } from "../../../pkg/api/authorization/v1/localsubjectaccessreview.ts"
export { SelfSubjectAccessReview } from "../../../pkg/api/authorization/v1/selfsubjectaccessreview.ts"
export { SelfSubjectRulesReview } from "../../../pkg/api/authorization/v1/selfsubjectrulesreview.ts"
export { SubjectAccessReview } from "../../../pkg/api/authorization/v1/subjectaccessreview.ts"
export { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "../../../pkg/api/autoscaling/v1/horizontalpodautoscaler.ts"
export { HorizontalPodAutoscaler } from "../../../pkg/api/autoscaling/v2/horizontalpodautoscaler.ts"
export { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
export { Job } from "../../../pkg/api/batch/v1/job.ts"
export { CertificateSigningRequest } from "../../../pkg/api/certificates/v1/certificatesigningrequest.ts"
export { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
export { PodCertificateRequest } from "../../../pkg/api/certificates/v1beta1/podcertificaterequest.ts"
export { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
export { Workload } from "../../../pkg/api/scheduling/v1alpha2/workload.ts"
export { StorageVersionMigration } from "../../../pkg/api/storagemigration/v1beta1/storageversionmigration.ts"
export { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
export { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
export { Binding } from "../../../pkg/api/core/v1/binding.ts"
export { ComponentStatus } from "../../../pkg/api/core/v1/componentstatus.ts"
export { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
export { Event } from "../../../pkg/api/core/v1/event/event.ts"
export { LimitRange } from "../../../pkg/api/core/v1/limitrange/limitrange.ts"
export { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
export { Node } from "../../../pkg/api/core/v1/node/node.ts"
export { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
export { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
export { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
export { PodTemplate } from "../../../pkg/api/core/v1/podtemplate/podtemplate.ts"
export { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
export { ResourceQuota } from "../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
export { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
export { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
export { Service } from "../../../pkg/api/core/v1/service/service.ts"
export { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
export { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
export { Event as EventsEvent } from "../../../pkg/api/events/v1/event.ts"
export { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
export { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
export { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
export { IngressClass } from "../../../pkg/api/networking/v1/ingressclass.ts"
export { IPAddress } from "../../../pkg/api/networking/v1/ipaddress.ts"
export { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
export { ServiceCIDR } from "../../../pkg/api/networking/v1/servicecidr.ts"
export { RuntimeClass } from "../../../pkg/api/node/v1/runtimeclass.ts"
export { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
export { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
export { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
export { Role } from "../../../pkg/api/rbac/v1/role.ts"
export { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
export { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
export { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
export { ResourceClaimTemplate } from "../../../pkg/api/resource/v1/resourceclaimtemplate.ts"
export { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
export { PriorityClass } from "../../../pkg/api/scheduling/v1/priorityclass.ts"
export { CSIDriver } from "../../../pkg/api/storage/v1/csidriver.ts"
export { CSINode } from "../../../pkg/api/storage/v1/csinode.ts"
export { CSIStorageCapacity } from "../../../pkg/api/storage/v1/csistoragecapacity.ts"
export { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
export { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
export { VolumeAttributesClass } from "../../../pkg/api/storage/v1/volumeattributesclass.ts"
