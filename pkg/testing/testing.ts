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
export { startCluster, type Cluster, type Listening } from "./cluster.ts"
export { TestClusterError, type TestClusterReason } from "./caller.ts"
export type { ClusterOptions, NodeOptions } from "./options.ts"
export type { FeatureName } from "../component/features.ts"
export type { Duration } from "./duration.ts"
export type { DrainOptions } from "./drain.ts"
export type { ExecOutcome } from "./verbs.ts"
export type { WaitCondition } from "./wait-for.ts"
export type { ComponentName, Fault, Faults } from "./faults.ts"
export type { RequestMatch, RequestRule } from "./request-rules.ts"
export type { FieldChange } from "./changes.ts"
export type { HistoryEntry, HistoryFilter } from "./history.ts"
export type { Explanation } from "./explain.ts"
export type { ApplyOptions } from "./apply.ts"
export type { LogsOptions } from "./logs.ts"
export type { ManifestSource } from "./manifests.ts"
export type { Reference, Selection } from "./selection.ts"
export type {
  ContainerHandle,
  ExecAnswer,
  ImageBehaviour,
} from "../../components/kubelet/runtime/simulated/containers/behaviour.ts"

// What a test asks for and what a controller of one's own is made of.
export { ApiError, isAlreadyExists, isConflict, isNotFound } from "../apimachinery/errors.ts"
export type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
export type { Client } from "../client/client.ts"
export type { TestClient } from "./test-client.ts"
export { keyFrom, splitKey, type Informer, type Informers, type Key } from "../client/informer.ts"
export type { Component, ComponentContext } from "../component/component.ts"
export { defineController, type Controller, type ReconcileContext } from "../controller/controller.ts"
export { runLeaderElected, type LeaderElectionOptions } from "../controller/leader-election.ts"
export { owned } from "../controller/owned.ts"
export { sleep, type Clock } from "../clock/clock.ts"

export { ControllerRevision } from "../api/apps/v1/controllerrevision.ts"
export { DaemonSet } from "../api/apps/v1/daemonset.ts"
export { Deployment } from "../api/apps/v1/deployment.ts"
export { ReplicaSet } from "../api/apps/v1/replicaset.ts"
export { StatefulSet } from "../api/apps/v1/statefulset.ts"
export { CronJob } from "../api/batch/v1/cronjob.ts"
export { Job } from "../api/batch/v1/job.ts"
export { Lease } from "../api/coordination/v1/lease.ts"
export { ConfigMap } from "../api/core/v1/configmap.ts"
export { Endpoints } from "../api/core/v1/service/endpoints.ts"
export { Event } from "../api/core/v1/event.ts"
export { LimitRange } from "../api/core/v1/limitrange.ts"
export { Namespace } from "../api/core/v1/namespace.ts"
export { Node } from "../api/core/v1/node/node.ts"
export { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
export { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
export { Pod } from "../api/core/v1/pod/pod.ts"
export { ReplicationController } from "../api/core/v1/replicationcontroller.ts"
export { ResourceQuota } from "../api/core/v1/resourcequota.ts"
export { Secret } from "../api/core/v1/secret.ts"
export { Service } from "../api/core/v1/service/service.ts"
export { ServiceAccount } from "../api/core/v1/serviceaccount.ts"
export { EndpointSlice } from "../api/discovery/v1/endpointslice.ts"
export { Ingress } from "../api/networking/v1/ingress.ts"
export { NetworkPolicy } from "../api/networking/v1/networkpolicy.ts"
export { PodDisruptionBudget } from "../api/policy/v1/poddisruptionbudget.ts"
export { ClusterRole } from "../api/rbac/v1/clusterrole.ts"
export { ClusterRoleBinding } from "../api/rbac/v1/clusterrolebinding.ts"
export { Role } from "../api/rbac/v1/role.ts"
export { RoleBinding } from "../api/rbac/v1/rolebinding.ts"
export { PriorityClass } from "../api/scheduling/v1/priorityclass.ts"
