/** Faults of preemption that the hunt has found, each as the shortest program that failed. */
import { expect, test } from "bun:test"
import { selectorOf } from "./objects/names.ts"
import { run } from "./run.ts"

test("a pod that keeps others off its node does not take the node that was freed for an urgent one", async () => {
  const term = { topologyKey: "kubernetes.io/hostname", labelSelector: selectorOf("red") }
  const problems = await run({
    seed: 800_039,
    nodes: [8],
    steps: [
      {
        do: "apply",
        object: {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "red" },
          spec: {
            replicas: 2,
            selector: selectorOf("red"),
            template: {
              metadata: { labels: { app: "red" } },
              spec: {
                affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
                containers: [{ name: "main", image: "stubborn" }],
              },
            },
          },
        },
      },
      { do: "advance", ms: 10_000 },
      // The urgent pod has been tried often when it can preempt, so that it backs off for longer than the next pod.
      { do: "cordon", node: "node-0" },
      {
        do: "apply",
        object: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "urgent", labels: { app: "red" } },
          spec: { priorityClassName: "urgent", containers: [{ name: "main", image: "app" }] },
        },
      },
      { do: "advance", ms: 2_400_000 },
    ],
  })
  expect(problems).toEqual([])
})
