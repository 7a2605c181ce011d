import { expect, test } from "bun:test"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { shares } from "./proportional.ts"

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } }
const deploymentOf = (replicas: number, maxSurge: number): Deployment =>
  decodeObject(Deployment, {
    metadata: { name: "d" },
    spec: {
      replicas,
      selector: { matchLabels: { a: "b" } },
      template,
      strategy: { rollingUpdate: { maxSurge, maxUnavailable: 1 } },
    },
  }).object as Deployment
/** Returns a ReplicaSet that got its replicas when the Deployment with its surge allowed `max` pods. */
const setOf = (name: string, replicas: number, max: number): ReplicaSet =>
  decodeObject(ReplicaSet, {
    metadata: {
      name,
      creationTimestamp: `2026-01-0${name}T00:00:00Z`,
      annotations: {
        "deployment.kubernetes.io/max-replicas": String(max),
        "deployment.kubernetes.io/desired-replicas": String(max),
      },
    },
    spec: { replicas, selector: { matchLabels: { a: "b" } }, template },
  }).object as ReplicaSet

// Each row: what the Deployment now wants (and its surge), the active sets with what it allowed before, and their sizes
// afterwards.
test.each([
  ["adds replicas to each set in proportion to its size", 10, 0, 5, [3, 2], [6, 4]],
  ["removes replicas from each set in proportion to its size", 5, 0, 10, [6, 4], [3, 2]],
  ["adds what rounding leaves to the largest set", 10, 0, 5, [4, 1], [8, 2]],
  ["includes the surge", 20, 2, 12, [8, 4], [15, 7]],
  ["to 0 removes all replicas of all sets", 0, 0, 5, [3, 2], [0, 0]],
  ["to the same size changes nothing", 5, 0, 5, [3, 2], [3, 2]],
] as const)("scaling in the middle of a rollout %s", (_title, replicas, surge, before, sizes, after) => {
  const sets = sizes.map((size, i) => setOf(String(i + 1), size, before))
  const result = shares(deploymentOf(replicas, surge), sets)
  expect(sets.map((set) => result.get(set)!)).toEqual([...after])
})
