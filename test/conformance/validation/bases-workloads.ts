import type { Base, Json } from "./base.ts"

/** Kinds that create pods. */

const TIME = "2026-01-01T00:00:00Z"
const podSpec = { containers: [{ name: "c", image: "i" }] }
const template = { metadata: { labels: { a: "b" } }, spec: podSpec }
const fullTemplate = {
  metadata: { labels: { a: "b" }, annotations: { c: "d" } },
  spec: {
    ...podSpec,
    volumes: [{ name: "v", emptyDir: {} }],
    nodeSelector: { e: "f" },
    terminationGracePeriodSeconds: 5,
  },
}
const once = { metadata: { labels: { a: "b" } }, spec: { ...podSpec, restartPolicy: "Never" } }
const selector = { matchLabels: { a: "b" } }
const fullSelector = { matchLabels: { a: "b" }, matchExpressions: [{ key: "a", operator: "In", values: ["b", "c"] }] }
const conditions = [{ type: "A", status: "True", lastTransitionTime: TIME, reason: "R", message: "m" }]

const JOB: Json = {
  parallelism: 3,
  completions: 3,
  activeDeadlineSeconds: 100,
  backoffLimitPerIndex: 1,
  maxFailedIndexes: 2,
  completionMode: "Indexed",
  suspend: true,
  ttlSecondsAfterFinished: 10,
  podReplacementPolicy: "Failed",
  podFailurePolicy: {
    rules: [
      { action: "FailIndex", onExitCodes: { containerName: "c", operator: "In", values: [1, 2] } },
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
    ],
  },
  successPolicy: { rules: [{ succeededIndexes: "0,2", succeededCount: 1 }] },
  template: once,
}

export const WORKLOAD_BASES: readonly Base[] = [
  { kind: "apps/v1 ControllerRevision", name: "minimal", body: { data: { a: 1 }, revision: 1 } },
  { kind: "apps/v1 Deployment", name: "minimal", body: { spec: { selector, template } } },
  {
    kind: "apps/v1 Deployment",
    name: "full",
    body: {
      metadata: { labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.com/f"] },
      spec: {
        replicas: 2,
        selector: fullSelector,
        template: fullTemplate,
        strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: "50%" } },
        minReadySeconds: 1,
        revisionHistoryLimit: 2,
        paused: true,
        progressDeadlineSeconds: 20,
      },
    },
    status: {
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      unavailableReplicas: 1,
      terminatingReplicas: 1,
      conditions: [{ ...conditions[0], lastUpdateTime: TIME }],
      collisionCount: 1,
    },
  },
  {
    kind: "apps/v1 Deployment",
    name: "recreate",
    body: { spec: { selector, template, strategy: { type: "Recreate" } } },
  },
  { kind: "apps/v1 ReplicaSet", name: "minimal", body: { spec: { selector, template } } },
  {
    kind: "apps/v1 ReplicaSet",
    name: "full",
    body: { spec: { replicas: 2, minReadySeconds: 1, selector: fullSelector, template: fullTemplate } },
    status: {
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      terminatingReplicas: 1,
      observedGeneration: 1,
      conditions,
    },
  },
  { kind: "apps/v1 DaemonSet", name: "minimal", body: { spec: { selector, template } } },
  {
    kind: "apps/v1 DaemonSet",
    name: "full",
    body: {
      spec: {
        selector: fullSelector,
        template: fullTemplate,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } },
        minReadySeconds: 1,
        revisionHistoryLimit: 2,
      },
    },
    status: {
      currentNumberScheduled: 1,
      numberMisscheduled: 1,
      desiredNumberScheduled: 1,
      numberReady: 1,
      observedGeneration: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberUnavailable: 1,
      collisionCount: 1,
      conditions,
    },
  },
  { kind: "apps/v1 StatefulSet", name: "minimal", body: { spec: { selector, template } } },
  {
    kind: "apps/v1 StatefulSet",
    name: "full",
    body: {
      spec: {
        replicas: 2,
        selector: fullSelector,
        template: {
          ...fullTemplate,
          spec: {
            ...fullTemplate.spec,
            containers: [{ name: "c", image: "i", volumeMounts: [{ name: "data", mountPath: "/d" }] }],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
        serviceName: "s",
        podManagementPolicy: "Parallel",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } },
        revisionHistoryLimit: 2,
        minReadySeconds: 1,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        ordinals: { start: 1 },
      },
    },
    status: {
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 2,
      currentReplicas: 1,
      updatedReplicas: 2,
      currentRevision: "a",
      updateRevision: "b",
      collisionCount: 1,
      conditions,
      availableReplicas: 1,
    },
  },
  { kind: "batch/v1 Job", name: "minimal", body: { spec: { template: once } }, volatile: ["controller-uid"] },
  {
    kind: "batch/v1 Job",
    name: "full",
    body: { spec: { ...JOB, manualSelector: true, selector, managedBy: "example.com/m" } },
  },
  {
    kind: "batch/v1 Job",
    name: "status",
    body: {
      spec: {
        manualSelector: true,
        selector,
        parallelism: 2,
        completions: 2,
        completionMode: "Indexed",
        backoffLimitPerIndex: 1,
        template: once,
      },
    },
    status: {
      startTime: TIME,
      active: 2,
      ready: 1,
      succeeded: 1,
      failed: 1,
      terminating: 1,
      completedIndexes: "0",
      failedIndexes: "1",
      uncountedTerminatedPods: { succeeded: ["a"], failed: ["b"] },
      conditions: [
        {
          type: "Suspended",
          status: "False",
          lastProbeTime: TIME,
          lastTransitionTime: TIME,
          reason: "R",
          message: "m",
        },
      ],
    },
  },
  {
    kind: "batch/v1 CronJob",
    name: "minimal",
    body: { spec: { schedule: "* * * * *", jobTemplate: { spec: { template: once } } } },
  },
  {
    kind: "batch/v1 CronJob",
    name: "full",
    body: {
      spec: {
        schedule: "*/5 1-3 * * MON",
        timeZone: "Europe/Berlin",
        startingDeadlineSeconds: 10,
        concurrencyPolicy: "Forbid",
        suspend: true,
        successfulJobsHistoryLimit: 2,
        failedJobsHistoryLimit: 3,
        jobTemplate: { metadata: { labels: { a: "b" }, annotations: { c: "d" } }, spec: JOB },
      },
    },
    status: {
      active: [{ kind: "Job", namespace: "differential", name: "j", uid: "u", apiVersion: "batch/v1" }],
      lastScheduleTime: TIME,
      lastSuccessfulTime: TIME,
    },
  },
  { kind: "v1 PodTemplate", name: "minimal", body: { template } },
  { kind: "v1 PodTemplate", name: "full", body: { template: fullTemplate } },
  { kind: "policy/v1 PodDisruptionBudget", name: "minimal", body: {} },
  {
    kind: "policy/v1 PodDisruptionBudget",
    name: "full",
    body: { spec: { minAvailable: "50%", selector: fullSelector, unhealthyPodEvictionPolicy: "AlwaysAllow" } },
    status: {
      observedGeneration: 1,
      disruptedPods: { p: TIME },
      disruptionsAllowed: 1,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      conditions: [
        { type: "A", status: "True", reason: "R", message: "m", lastTransitionTime: TIME, observedGeneration: 1 },
      ],
    },
  },
  { kind: "policy/v1 PodDisruptionBudget", name: "most", body: { spec: { maxUnavailable: 1, selector } } },
]
