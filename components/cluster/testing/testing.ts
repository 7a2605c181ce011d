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
export { startCluster, type Cluster } from "./cluster.ts"
export type { Listening } from "./network/listening.ts"
export { TestClusterError, type TestClusterReason } from "./caller.ts"
export type { NodeOptions } from "./options/node-spec.ts"
export type { ClusterOptions } from "./options/options.ts"
export type { FeatureName } from "../../../pkg/component/features.ts"
export type { Trace } from "./history/traces.ts"
export type { FinishedSpan } from "../../../pkg/tracing/finished-span.ts"
export type { Duration } from "./time/duration.ts"
export type { DrainOptions } from "./verbs/drain.ts"
export type { ExecOutcome } from "./verbs/verbs.ts"
export type { WaitCondition } from "./verbs/wait-for.ts"
export type { Fault, Faults } from "./faults/faults.ts"
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
export type { FieldChange } from "./history/changes.ts"
export type { HistoryEntry, HistoryFilter } from "./history/history.ts"
export type { Explanation } from "./history/explain.ts"
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

export { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
export { MutatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
export { MutatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
export { MutatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
export { ValidatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicy.ts"
export { ValidatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/validatingadmissionpolicybinding.ts"
export { ValidatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/validatingwebhookconfiguration.ts"
export { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
export { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
export { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
export { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
export { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
export { CronJob } from "../../../pkg/api/batch/v1/cronjob.ts"
export { Job } from "../../../pkg/api/batch/v1/job.ts"
export { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
export { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
export { Endpoints } from "../../../pkg/api/core/v1/service/endpoints.ts"
export { Event } from "../../../pkg/api/core/v1/event/event.ts"
export { LimitRange } from "../../../pkg/api/core/v1/limitrange/limitrange.ts"
export { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
export { Node } from "../../../pkg/api/core/v1/node/node.ts"
export { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
export { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
export { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
export { ReplicationController } from "../../../pkg/api/core/v1/replicationcontroller.ts"
export { ResourceQuota } from "../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
export { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
export { Service } from "../../../pkg/api/core/v1/service/service.ts"
export { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
export { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
export { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
export { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
export { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
export { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
export { PodDisruptionBudget } from "../../../pkg/api/policy/v1/poddisruptionbudget.ts"
export { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
export { ClusterRoleBinding } from "../../../pkg/api/rbac/v1/clusterrolebinding.ts"
export { Role } from "../../../pkg/api/rbac/v1/role.ts"
export { RoleBinding } from "../../../pkg/api/rbac/v1/rolebinding.ts"
export { PriorityClass } from "../../../pkg/api/scheduling/v1/priorityclass.ts"
export { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
