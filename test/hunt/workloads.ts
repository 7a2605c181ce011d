import { pick, chance, between } from "./chance.ts"
import type { Random } from "../../pkg/clock/random.ts"
import type { ImageBehaviour } from "../../components/cluster/testing/testing.ts"
import type { Manifest } from "./program.ts"

/** How the images of the hunt behave. Those whose name begins with `flaky` are mended before the quiet. */
export const IMAGES: Readonly<Record<string, ImageBehaviour>> = {
  app: { startMs: 200 },
  slowpull: { pullMs: 8000, startMs: 500 },
  slowstop: { onStop: { afterMs: 7000 } },
  stubborn: { onStop: "ignore" },
  api: { listensAfterMs: 2500, http: () => new Response("ok") },
  flaky: { runsMs: 900, exitCode: 1 },
  "flaky-job": { runsMs: 3000, exitCode: 3 },
  job: { runsMs: 4000 },
  "long-job": { runsMs: 45_000 },
  leaky: { memoryBytes: 200 * 2 ** 20 },
}

/** How `flaky` images behave once they are mended. */
export const MENDED: Readonly<Record<string, ImageBehaviour>> = { flaky: {}, "flaky-job": { runsMs: 3000 } }

const LASTING = ["app", "app", "app", "slowpull", "slowstop", "stubborn", "api", "flaky", "leaky"] as const
const ENDING = ["job", "job", "long-job", "flaky-job"] as const

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
  { kind: "ConfigMap", weight: 1, make: heldMap },
]

const APPS = ["a", "b", "c"] as const
const labelsOf = (name: string) => ({ app: name })
const selectorOf = (name: string) => ({ matchLabels: labelsOf(name) })

interface TemplateOptions {
  readonly restartPolicy?: string
  /** Whether pods may be forgotten by the API before they have ended. */
  readonly graceless?: boolean
  /** Whether pods may use a claim, which may not be there. */
  readonly claimed?: boolean
}

export function template(
  random: Random,
  name: string,
  images: readonly string[],
  { restartPolicy = "Always", graceless = true, claimed = true }: TemplateOptions = {},
): object {
  const image = pick(random, images)
  return {
    metadata: { labels: { ...labelsOf(name), tier: pick(random, APPS) } },
    spec: {
      restartPolicy,
      ...(chance(random, 0.3)
        ? { terminationGracePeriodSeconds: pick(random, graceless ? [0, 1, 5, 60] : [1, 5, 60]) }
        : {}),
      ...(chance(random, 0.15)
        ? { initContainers: [{ name: "init", image: "busybox", command: ["sleep", "2"] }] }
        : {}),
      ...(chance(random, 0.1) ? { priorityClassName: "urgent" } : {}),
      ...(chance(random, 0.1)
        ? { tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }] }
        : {}),
      ...(chance(random, 0.2)
        ? {
            volumes: [
              claimed && chance(random, 0.4)
                ? { name: "data", persistentVolumeClaim: { claimName: pick(random, NAMES) } }
                : { name: "shared", emptyDir: {} },
            ],
          }
        : {}),
      ...(chance(random, 0.1) ? spread(random, name) : {}),
      containers: [
        {
          name: "main",
          image,
          ...(chance(random, 0.6)
            ? { resources: { requests: { cpu: pick(random, ["100m", "500m", "1", "2"]), memory: "64Mi" } } }
            : {}),
          ...(image === "api" && chance(random, 0.8)
            ? { readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: pick(random, [1, 3, 10]) } }
            : {}),
          ...(image === "api" && chance(random, 0.3)
            ? { livenessProbe: { httpGet: { path: "/", port: 80 }, initialDelaySeconds: 5 } }
            : {}),
        },
        ...(restartPolicy === "Always" && chance(random, 0.1)
          ? [{ name: "side", image: pick(random, ["app", "slowstop"]) }]
          : []),
      ],
    },
  }
}

const spread = (random: Random, name: string): object =>
  chance(random, 0.5)
    ? {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "ScheduleAnyway",
            labelSelector: selectorOf(name),
          },
        ],
      }
    : {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: selectorOf(name) },
              },
            ],
          },
        },
      }

function deployment(random: Random, name: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: between(random, 0, 6),
      ...(chance(random, 0.3) ? { minReadySeconds: between(random, 1, 20) } : {}),
      ...(chance(random, 0.3) ? { revisionHistoryLimit: between(random, 0, 2) } : {}),
      strategy: chance(random, 0.2)
        ? { type: "Recreate" }
        : {
            type: "RollingUpdate",
            rollingUpdate: { maxSurge: pick(random, [1, "25%", 3]), maxUnavailable: pick(random, [0, 1, "50%"]) },
          },
      selector: selectorOf(name),
      template: template(random, name, LASTING),
    },
  }
}

function statefulSet(random: Random, name: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: {
      serviceName: name,
      replicas: between(random, 0, 4),
      podManagementPolicy: pick(random, ["OrderedReady", "Parallel"]),
      ...(chance(random, 0.2) ? { minReadySeconds: between(random, 1, 10) } : {}),
      ...(chance(random, 0.2) ? { ordinals: { start: between(random, 1, 5) } } : {}),
      updateStrategy: chance(random, 0.2)
        ? { type: "RollingUpdate", rollingUpdate: { partition: between(random, 0, 2) } }
        : { type: "RollingUpdate" },
      ...(chance(random, 0.35)
        ? {
            volumeClaimTemplates: [
              {
                metadata: { name: "data" },
                spec: {
                  storageClassName: SHARED,
                  accessModes: ["ReadWriteOnce"],
                  resources: { requests: { storage: "1Gi" } },
                },
              },
            ],
            persistentVolumeClaimRetentionPolicy: {
              whenDeleted: pick(random, ["Retain", "Delete"]),
              whenScaled: pick(random, ["Retain", "Delete"]),
            },
          }
        : {}),
      selector: selectorOf(name),
      template: template(random, name, LASTING, { graceless: false }),
    },
  }
}

function daemonSet(random: Random, name: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name },
    spec: {
      selector: selectorOf(name),
      updateStrategy: {
        type: "RollingUpdate",
        rollingUpdate: chance(random, 0.3)
          ? { maxSurge: 1, maxUnavailable: 0 }
          : { maxUnavailable: pick(random, [1, "50%"]) },
      },
      template: template(random, name, LASTING),
    },
  }
}

function replicaSet(random: Random, name: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name },
    spec: { replicas: between(random, 0, 4), selector: selectorOf(name), template: template(random, name, LASTING) },
  }
}

function replicationController(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name },
    spec: { replicas: between(random, 0, 3), selector: labelsOf(name), template: template(random, name, LASTING) },
  }
}

function jobSpec(random: Random, name: string): object {
  const completions = between(random, 1, 5)
  const indexed = chance(random, 0.35)
  const never = chance(random, 0.7)
  return {
    ...(chance(random, 0.9) || indexed ? { completions } : {}),
    parallelism: between(random, 1, 3),
    backoffLimit: between(random, 0, 6),
    ...(indexed ? { completionMode: "Indexed" } : {}),
    ...(indexed && never && chance(random, 0.4)
      ? { backoffLimitPerIndex: between(random, 0, 2), maxFailedIndexes: 3 }
      : {}),
    ...(chance(random, 0.15) ? { activeDeadlineSeconds: between(random, 5, 120) } : {}),
    ...(chance(random, 0.15) ? { ttlSecondsAfterFinished: between(random, 0, 60) } : {}),
    ...(chance(random, 0.2) && never ? { podReplacementPolicy: "Failed" } : {}),
    ...(never && chance(random, 0.25)
      ? {
          podFailurePolicy: {
            rules: [
              { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
              { action: pick(random, ["Count", "FailJob"]), onExitCodes: { operator: "In", values: [42] } },
            ],
          },
        }
      : {}),
    ...(chance(random, 0.1) ? { suspend: true } : {}),
    template: template(random, name, ENDING, { restartPolicy: never ? "Never" : "OnFailure" }),
  }
}

function job(random: Random, name: string): Manifest {
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: jobSpec(random, name) }
}

function cronJob(random: Random, name: string): Manifest {
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name },
    spec: {
      schedule: pick(random, ["* * * * *", "*/2 * * * *", "*/5 * * * *"]),
      concurrencyPolicy: pick(random, ["Allow", "Forbid", "Replace"]),
      successfulJobsHistoryLimit: between(random, 0, 3),
      failedJobsHistoryLimit: between(random, 0, 2),
      ...(chance(random, 0.2) ? { startingDeadlineSeconds: 30 } : {}),
      jobTemplate: { spec: jobSpec(random, name) },
    },
  }
}

function pod(random: Random, name: string): Manifest {
  const ends = chance(random, 0.4)
  const { metadata, spec } = template(random, name, ends ? ENDING : LASTING, {
    restartPolicy: ends ? pick(random, ["Never", "OnFailure"]) : "Always",
  }) as { readonly metadata: object; readonly spec: object }
  return { apiVersion: "v1", kind: "Pod", metadata: { name, ...metadata }, spec }
}

function service(random: Random, name: string): Manifest {
  const headless = chance(random, 0.3)
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: {
      ...(headless ? { clusterIP: "None" } : {}),
      ...(chance(random, 0.2) ? { publishNotReadyAddresses: true } : {}),
      selector: chance(random, 0.5) ? { tier: pick(random, APPS) } : labelsOf(pick(random, NAMES)),
      ports: [{ port: 80 }],
    },
  }
}

function budget(random: Random, name: string): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: {
      ...(chance(random, 0.5)
        ? { minAvailable: pick(random, [1, 2, "50%"]) }
        : { maxUnavailable: pick(random, [0, 1, "30%"]) }),
      ...(chance(random, 0.3) ? { unhealthyPodEvictionPolicy: "AlwaysAllow" } : {}),
      selector: { matchLabels: chance(random, 0.5) ? labelsOf(pick(random, NAMES)) : { tier: pick(random, APPS) } },
    },
  }
}

function quota(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name },
    spec: { hard: { pods: String(between(random, 5, 25)), ...(chance(random, 0.3) ? { services: "3" } : {}) } },
  }
}

/**
 * Of a class that is bound at once, of one that waits for a pod, or for a volume that is there. Not of the default one:
 * its volumes hold their pods to one node, where there may be no room.
 */
function claim(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: {
      ...pick(random, [
        { storageClassName: SHARED },
        { storageClassName: LATE },
        { storageClassName: LATE },
        { storageClassName: "" },
      ]),
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  }
}

function volume(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: pick(random, ["", LATE]),
      hostPath: { path: `/disks/${name}`, type: "DirectoryOrCreate" },
    },
  }
}

/** A Secret that is filled with a token of the namespace's account. */
function accountToken(_random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, annotations: { "kubernetes.io/service-account.name": "default" } },
    type: "kubernetes.io/service-account-token",
  }
}

/** One that is not scheduled until its gate is taken away, which happens before the quiet. */
function gatedPod(random: Random, name: string): Manifest {
  const { spec, ...rest } = pod(random, name)
  return { ...rest, spec: { ...(spec as object), schedulingGates: [{ name: "hunt/gate" }] } }
}

/** A Service without a selector, whose Endpoints are somebody's own: they are mirrored. */
function bareService(random: Random, name: string): Manifest {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: between(random, 80, 90) }] } }
}

function limits(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name },
    spec: { limits: [{ type: "Container", defaultRequest: { cpu: pick(random, ["50m", "200m"]) } }] },
  }
}

/** Something that cannot go until its finalizer is taken away, which happens before the quiet. */
function heldMap(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(chance(random, 0.5) ? { finalizers: [FINALIZER] } : {}) },
  }
}

/** The class whose claims are bound when a pod needs them. */
export const LATE = "late"
const SHARED = "shared"
export const FINALIZER = "hunt.example.com/held"
/** A namespace that comes and goes. */
export const TEAM = "team"

/** Names that objects of the hunt have; few, so that they meet. */
export const NAMES = ["red", "green", "blue", "white", "black"] as const

/** What is there before a program begins. */
export const PRELOAD: readonly Manifest[] = [
  { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "urgent" }, value: 1000 },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: LATE },
    provisioner: "example.com/disks",
    volumeBindingMode: "WaitForFirstConsumer",
  },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: SHARED },
    provisioner: "example.com/disks",
  },
]
