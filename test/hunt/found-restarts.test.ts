/** Faults around the restart of a component, which the hunt has found, each as the shortest program that failed. */
import { expect, test } from "bun:test"
import { run } from "./run.ts"

test("a container that was being started when the kubelet crashed does not run beside the next one", async () => {
  const problems = await run({
    seed: 1_001_862,
    nodes: [4],
    steps: [
      {
        do: "apply",
        object: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "red" },
          // The image is there after eight seconds, and its container starts for half a second.
          spec: { containers: [{ name: "main", image: "slowpull" }] },
        },
      },
      { do: "advance", ms: 8100 },
      { do: "fault", fault: { is: "kubeletCrashed", node: "node-0" }, ms: 100 },
      { do: "advance", ms: 10_000 },
    ],
  })
  expect(problems).toEqual([])
})
