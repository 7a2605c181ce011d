import type { Random } from "../../../pkg/clock/random.ts"
import type { Manifest } from "../program.ts"
import {
  service,
  budget,
  quota,
  claim,
  volume,
  accountToken,
  gatedPod,
  bareService,
  limits,
  heldMap,
  autoscaler,
} from "./neighbours.ts"
import {
  deployment,
  statefulSet,
  daemonSet,
  replicaSet,
  replicationController,
  job,
  cronJob,
  pod,
} from "./workloads.ts"

type Kind = (random: Random, name: string) => Manifest

/** Makes an object of one of the kinds, of that name. */
export const KINDS: readonly { readonly kind: string; readonly weight: number; readonly make: Kind }[] = [
  { kind: "Deployment", weight: 5, make: deployment },
  { kind: "StatefulSet", weight: 4, make: statefulSet },
  { kind: "DaemonSet", weight: 2, make: daemonSet },
  { kind: "ReplicaSet", weight: 1, make: replicaSet },
  { kind: "ReplicationController", weight: 1, make: replicationController },
  { kind: "Job", weight: 5, make: job },
  { kind: "CronJob", weight: 2, make: cronJob },
  { kind: "Pod", weight: 2, make: pod },
  { kind: "Service", weight: 4, make: service },
  { kind: "PodDisruptionBudget", weight: 2, make: budget },
  { kind: "ResourceQuota", weight: 1, make: quota },
  { kind: "PersistentVolumeClaim", weight: 1.5, make: claim },
  { kind: "PersistentVolume", weight: 0.5, make: volume },
  { kind: "Secret", weight: 0.5, make: accountToken },
  { kind: "Pod", weight: 0.5, make: gatedPod },
  { kind: "Service", weight: 0.5, make: bareService },
  { kind: "LimitRange", weight: 0.5, make: limits },
  { kind: "HorizontalPodAutoscaler", weight: 1, make: autoscaler },
  { kind: "ConfigMap", weight: 1, make: heldMap },
]
