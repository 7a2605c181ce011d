import type { Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../chance.ts"
import type { Manifest } from "../program.ts"
import { ENDING, LASTING } from "./images.ts"
import { labelsOf, selectorOf, SHARED } from "./names.ts"
import { template } from "./pod-template.ts"

/** Pods, and the kinds that make them, with random fields. */

export function deployment(random: Random, name: string): Manifest {
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

export function statefulSet(random: Random, name: string): Manifest {
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

export function daemonSet(random: Random, name: string): Manifest {
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
      template: template(random, name, LASTING, { choosy: false }),
    },
  }
}

export function replicaSet(random: Random, name: string): Manifest {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name },
    spec: { replicas: between(random, 0, 4), selector: selectorOf(name), template: template(random, name, LASTING) },
  }
}

export function replicationController(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name },
    spec: { replicas: between(random, 0, 3), selector: labelsOf(name), template: template(random, name, LASTING) },
  }
}

export function jobSpec(random: Random, name: string): object {
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

export function job(random: Random, name: string): Manifest {
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec: jobSpec(random, name) }
}

export function cronJob(random: Random, name: string): Manifest {
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

export function pod(random: Random, name: string): Manifest {
  const ends = chance(random, 0.4)
  const { metadata, spec } = template(random, name, ends ? ENDING : LASTING, {
    restartPolicy: ends ? pick(random, ["Never", "OnFailure"]) : "Always",
  }) as { readonly metadata: object; readonly spec: object }
  return { apiVersion: "v1", kind: "Pod", metadata: { name, ...metadata }, spec }
}
