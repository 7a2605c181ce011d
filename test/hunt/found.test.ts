/** What the hunt has found, each as the shortest program that failed. */
import { describe, expect, test } from "bun:test"
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
})
