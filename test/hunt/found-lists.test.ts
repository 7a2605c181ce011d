/** Faults around lists that are read anew, which the hunt has found, each as the shortest program that failed. */
import { expect, test } from "bun:test"
import { run } from "./run.ts"

test("a ReplicaSet makes no further pods while those that it has made are listed anew", async () => {
  const resources = { requests: { cpu: "2", memory: "64Mi" } }
  const healthy = { exec: { command: ["/healthy"] } }
  const readinessProbe = { ...healthy, periodSeconds: 1, successThreshold: 1 }
  const livenessProbe = { ...healthy, periodSeconds: 2, initialDelaySeconds: 1 }
  const problems = await run({
    seed: 1_001_433,
    nodes: [4, 16, 8],
    steps: [
      {
        do: "apply",
        object: {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "red" },
          spec: {
            completions: 5,
            parallelism: 3,
            backoffLimit: 6,
            completionMode: "Indexed",
            template: {
              metadata: { labels: {} },
              spec: { containers: [{ name: "main", image: "long-job", resources }] },
            },
          },
        },
      },
      { do: "fault", fault: { is: "crashed", component: "apiserver" }, ms: 3000 },
      { do: "forgetHistory" },
      { do: "advance", ms: 3000 },
      {
        do: "apply",
        object: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "green" },
          spec: {
            replicas: 4,
            minReadySeconds: 18,
            strategy: { type: "RollingUpdate" },
            selector: { matchLabels: { app: "green" } },
            template: {
              metadata: { labels: { app: "green" } },
              spec: { containers: [{ name: "main", image: "web", readinessProbe, livenessProbe }] },
            },
          },
        },
      },
    ],
  })
  expect(problems).toEqual([])
})
