/** The faults that the hunt has found, each as the shortest program that failed. */
import { describe, expect, test } from "bun:test"
import type { Step } from "./program.ts"
import { run } from "./run.ts"

const job = (spec: object) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "red" },
  spec: {
    ...spec,
    template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "long-job" }] } },
  },
})
const IGNORES_DISRUPTIONS = {
  podFailurePolicy: {
    rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }],
  },
}

describe("found", () => {
  test("a pod of a Job with a failure policy that is deleted before it has a node is counted", async () => {
    const problems = await run({
      seed: 90,
      nodes: [4],
      steps: [
        { do: "taint", node: "node-0", effect: "NoSchedule" },
        { do: "apply", object: job(IGNORES_DISRUPTIONS) },
        { do: "advance", ms: 10_000 },
        { do: "deletePod", nth: 0 },
      ],
    })
    expect(problems).toEqual([])
  })

  test("a DaemonSet with maxSurge does not create pods endlessly on a node that evicts them", async () => {
    const steps: readonly Step[] = [
      {
        do: "apply",
        object: {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          metadata: { name: "red" },
          spec: {
            selector: { matchLabels: { app: "red" } },
            updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
            template: {
              metadata: { labels: { app: "red" } },
              spec: { containers: [{ name: "main", image: "slowstop" }] },
            },
          },
        },
      },
      { do: "fault", fault: { is: "nodeOutOfDisk", node: "node-0" }, ms: 15_000 },
      { do: "advance", ms: 120_000 },
    ]
    expect(await run({ seed: 206, nodes: [16], steps })).toEqual([])
  })

  test("a container that starts after the clock was set back counts as the newest, and is not started again", async () => {
    const steps: readonly Step[] = [
      {
        do: "apply",
        object: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "red" },
          spec: { containers: [{ name: "main", image: "flaky" }] },
        },
      },
      { do: "advance", ms: 500 },
      { do: "clockJump", ms: -60_000 },
      { do: "advance", ms: 1000 },
    ]
    expect(await run({ seed: 208, nodes: [16], steps })).toEqual([])
  })

  test.each(["StatefulSet", "DaemonSet"])(
    "objects of a deleted %s are collected, although the API once says that they do not exist",
    async (kind) => {
      const steps: readonly Step[] = [
        {
          do: "apply",
          object: {
            apiVersion: "apps/v1",
            kind,
            metadata: { name: "red" },
            spec: {
              selector: { matchLabels: { app: "red" } },
              template: {
                metadata: { labels: { app: "red" } },
                spec: { containers: [{ name: "main", image: "app" }] },
              },
            },
          },
        },
        {
          do: "fault",
          fault: { is: "requests", verb: "delete", resource: "controllerrevisions", error: "NotFound" },
          ms: 60_000,
        },
        { do: "delete", kind, name: "red", propagation: "Background" },
      ]
      expect(await run({ seed: 193, nodes: [4], steps })).toEqual([])
    },
  )

  test("a pod is bound although the API once says that it does not exist", async () => {
    const steps: readonly Step[] = [
      {
        do: "fault",
        fault: { is: "requests", verb: "create", resource: "pods", subresource: "binding", error: "NotFound" },
        ms: 3000,
      },
      {
        do: "apply",
        object: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "red" },
          spec: { containers: [{ name: "main", image: "app" }] },
        },
      },
    ]
    expect(await run({ seed: 2787, nodes: [4], steps })).toEqual([])
  })

  test("a StatefulSet whose pods lack a claim is rolled out only once", async () => {
    const template = (image: string) => ({
      metadata: { labels: { app: "red" } },
      spec: {
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "red" } }],
        containers: [{ name: "main", image }],
      },
    })
    const steps: readonly Step[] = [
      {
        do: "apply",
        object: {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "red" },
          spec: {
            serviceName: "red",
            replicas: 2,
            podManagementPolicy: "Parallel",
            updateStrategy: { type: "RollingUpdate" },
            selector: { matchLabels: { app: "red" } },
            template: template("app"),
          },
        },
      },
      { do: "patch", kind: "StatefulSet", name: "red", body: { spec: { template: template("api") } } },
    ]
    expect(await run({ seed: 157, nodes: [16], steps })).toEqual([])
  })

  test("virtual time advances although every watch ends because its history was compacted", async () => {
    const steps: readonly Step[] = [
      { do: "fault", fault: { is: "requests", verb: "watch", resource: "pods", error: "Gone" }, ms: 60_000 },
      { do: "dropWatches" },
      { do: "advance", ms: 120_000 },
    ]
    expect(await run({ seed: 312, nodes: [16], steps })).toEqual([])
  })

  test.each(["Conflict", "NotFound", "Invalid"] as const)(
    "a pod of a Job whose finalizer the API keeps with %s is counted once",
    async (error) => {
      const steps: readonly Step[] = [
        { do: "fault", fault: { is: "requests", verb: "patch", resource: "pods", error }, ms: 60_000 },
        { do: "apply", object: job({}) },
        { do: "deletePod", nth: 0 },
        { do: "advance", ms: 120_000 },
      ]
      expect(await run({ seed: 2433, nodes: [8], steps })).toEqual([])
    },
  )

  test("a pod whose binding failed is scheduled again although the clock was set back meanwhile", async () => {
    const steps: readonly Step[] = [
      {
        do: "fault",
        fault: { is: "requests", verb: "create", resource: "pods", subresource: "binding", error: "Forbidden" },
        ms: 200_000,
      },
      {
        do: "apply",
        object: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "red" },
          spec: { containers: [{ name: "main", image: "app" }] },
        },
      },
      { do: "advance", ms: 10_000 },
      { do: "clockJump", ms: -5000 },
    ]
    expect(await run({ seed: 2669, nodes: [4], steps })).toEqual([])
  })

  test("a node whose kubelet waited more than five minutes for the API server becomes Ready", async () => {
    const steps: readonly Step[] = [
      { do: "fault", fault: { is: "crashed", component: "apiserver" }, ms: 320_000 },
      { do: "fault", fault: { is: "kubeletCrashed", node: "node-0" }, ms: 15_000 },
      { do: "advance", ms: 320_000 },
    ]
    expect(await run({ seed: 5925, nodes: [4], steps })).toEqual([])
  })

  test("an evicted pod is not Failed before its containers have ended", async () => {
    const problems = await run({
      seed: 3415,
      nodes: [4, 16, 4],
      steps: [
        {
          do: "apply",
          object: {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "black", labels: { app: "black", tier: "c" } },
            spec: { containers: [{ name: "main", image: "slowstop" }] },
          },
        },
        {
          do: "apply",
          object: {
            apiVersion: "apps/v1",
            kind: "StatefulSet",
            metadata: { name: "red" },
            spec: {
              serviceName: "red",
              replicas: 1,
              podManagementPolicy: "Parallel",
              updateStrategy: { type: "RollingUpdate" },
              volumeClaimTemplates: [
                {
                  metadata: { name: "data" },
                  spec: {
                    storageClassName: "shared",
                    accessModes: ["ReadWriteOnce"],
                    resources: { requests: { storage: "1Gi" } },
                  },
                },
              ],
              persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" },
              selector: { matchLabels: { app: "red" } },
              template: {
                metadata: { labels: { app: "red" } },
                spec: { containers: [{ name: "main", image: "stubborn" }] },
              },
            },
          },
        },
        { do: "fault", fault: { is: "nodeOutOfMemory", node: "node-2" }, ms: 15000 },
        { do: "advance", ms: 10000 },
      ],
    })
    expect(problems).toEqual([])
  })

  test("a Deployment with strategy Recreate that is scaled during a rollout completes it", async () => {
    const problems = await run({
      seed: 3616,
      nodes: [8],
      steps: [
        {
          do: "apply",
          object: {
            apiVersion: "apps/v1",
            kind: "Deployment",
            metadata: { name: "black" },
            spec: {
              replicas: 6,
              strategy: { rollingUpdate: { maxSurge: 1 } },
              selector: { matchLabels: { app: "black" } },
              template: {
                metadata: { labels: { app: "black" } },
                spec: {
                  containers: [
                    { name: "main", image: "stubborn", resources: { requests: { cpu: "1", memory: "64Mi" } } },
                  ],
                },
              },
            },
          },
        },
        {
          do: "patch",
          kind: "Deployment",
          name: "black",
          body: {
            spec: {
              template: {
                metadata: { labels: { app: "black", tier: "c" } },
                spec: {
                  restartPolicy: "Always",
                  containers: [{ name: "main", image: "flaky", resources: { requests: { cpu: "2", memory: "64Mi" } } }],
                },
              },
            },
          },
        },
        {
          do: "apply",
          object: {
            apiVersion: "apps/v1",
            kind: "Deployment",
            metadata: { name: "black" },
            spec: {
              strategy: { type: "Recreate" },
              selector: { matchLabels: { app: "black" } },
              template: {
                metadata: { labels: { app: "black" } },
                spec: { containers: [{ name: "main", image: "stubborn" }] },
              },
            },
          },
        },
      ],
    })
    expect(problems).toEqual([])
  })

  test("a StatefulSet creates its pod again after another controller's pod had the name", async () => {
    const set = (replicas: number, image: string) => ({
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "blue" },
      spec: {
        serviceName: "blue",
        replicas,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: { app: "blue" } },
        template: { metadata: { labels: { app: "blue" } }, spec: { containers: [{ name: "main", image }] } },
      },
    })
    const problems = await run({
      seed: 24_078,
      nodes: [16],
      steps: [
        { do: "apply", object: set(4, "slowpull") },
        { do: "advance", ms: 40_000 },
        {
          do: "apply",
          object: {
            apiVersion: "v1",
            kind: "ReplicationController",
            metadata: { name: "blue" },
            spec: {
              replicas: 3,
              selector: { app: "blue" },
              template: {
                metadata: { labels: { app: "blue" } },
                spec: { containers: [{ name: "main", image: "api" }] },
              },
            },
          },
        },
        { do: "delete", kind: "StatefulSet", name: "blue", propagation: "Orphan" },
        { do: "apply", object: set(1, "stubborn") },
      ],
    })
    expect(problems).toEqual([])
  })

  test("a pod that is disrupted again keeps the time since which it is", async () => {
    const problems = await run({
      seed: 2017,
      nodes: [8],
      steps: [
        {
          do: "apply",
          object: {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "red" },
            spec: { containers: [{ name: "main", image: "app" }] },
          },
        },
        { do: "advance", ms: 3000 },
        {
          do: "fault",
          fault: { is: "requests", verb: "delete", resource: "pods", error: "InternalError" },
          ms: 60_000,
        },
        { do: "taint", node: "node-0", effect: "NoExecute" },
        { do: "advance", ms: 3000 },
        { do: "evict", nth: 0 },
      ],
    })
    expect(problems).toEqual([])
  })
})
