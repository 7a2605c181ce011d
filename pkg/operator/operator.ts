/**
 * The module `k3ts/operator`, for writing operators. The same controllers run against any Kubernetes and, in virtual
 * time, in the clusters of `k3ts/testing`; docs/testing.md shows how.
 *
 *     import { connect, runOperator, stopSignal } from "k3ts/operator"
 *
 *     using cluster = connect()
 *     await runOperator(cluster, [sharing], { signal: stopSignal() })
 */
import "../version/check-runtime.ts"
export { connect, type Connection, type ConnectOptions } from "./connect.ts"
export { customKind, type CustomKind, type CustomObject } from "./custom-kind.ts"
export {
  defineCustomResource,
  type CustomDefinition,
  type CustomVersion,
  type DefinitionManifest,
  type ObjectOf,
} from "./custom-resource/define-custom-resource.ts"
export { s, type Field } from "./custom-resource/fields.ts"
export { runOperator, type OperatorContext, type OperatorOptions } from "./run-operator.ts"
export { stopSignal } from "./stop-signal.ts"

export type { ClientConfig } from "../client/kubeconfig.ts"
export { ApiError, isAlreadyExists, isConflict, isNotFound } from "../apimachinery/errors.ts"
export type { KubeObject, KubeObjectInput, Resource } from "../apimachinery/resource.ts"
export type { Client, ObjectRef } from "../client/client.ts"
export { keyFrom, splitKey, type Informer, type Informers, type Key } from "../client/informer.ts"
export { sleep, type Clock } from "../clock/clock.ts"
export type { Component, ComponentContext } from "../component/component.ts"
export { defineController, type Controller, type ReconcileContext } from "../controller/controller.ts"
export { runLeaderElected, type LeaderElectionOptions } from "../controller/leader-election.ts"
export { owned } from "../controller/owned.ts"
export { terminal } from "../controller/start.ts"
export { createLogger, type Logger } from "../log/log.ts"

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
export { Event } from "../api/core/v1/event/event.ts"
export { LimitRange } from "../api/core/v1/limitrange/limitrange.ts"
export { Namespace } from "../api/core/v1/namespace.ts"
export { Node } from "../api/core/v1/node/node.ts"
export { PersistentVolume } from "../api/core/v1/persistentvolume/persistentvolume.ts"
export { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
export { Pod } from "../api/core/v1/pod/pod.ts"
export { ReplicationController } from "../api/core/v1/replicationcontroller.ts"
export { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
export { Secret } from "../api/core/v1/secret/secret.ts"
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
export { StorageClass } from "../api/storage/v1/storageclass.ts"
