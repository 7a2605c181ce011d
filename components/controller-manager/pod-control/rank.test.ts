import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { leastWorthKeepingFirst } from "./rank.ts"

const NOW = Date.parse("2026-01-02T00:00:00Z")
interface Traits {
  node?: string
  phase?: string
  readySince?: string
  restarts?: number
  created?: string
  cost?: number
}

const podOf = (
  name: string,
  { node = "a", phase = "Running", readySince, restarts = 0, created = "2026-01-01T00:00:00Z", cost }: Traits,
): Pod =>
  decodeObject(Pod, {
    metadata: {
      name,
      namespace: "default",
      uid: name,
      creationTimestamp: created,
      ...(cost === undefined ? {} : { annotations: { "controller.kubernetes.io/pod-deletion-cost": String(cost) } }),
    },
    spec: { nodeName: node, containers: [{ name: "c", image: "i" }] },
    status: {
      phase,
      ...(readySince === undefined
        ? {}
        : { conditions: [{ type: "Ready", status: "True", lastTransitionTime: readySince }] }),
      containerStatuses: [{ name: "c", image: "i", imageID: "", ready: false, restartCount: restarts }],
    },
  }).object as Pod

describe("the pod that is deleted first when a ReplicaSet is scaled down", () => {
  const ready = { readySince: "2026-01-01T00:00:00Z" }
  const table: readonly [rule: string, first: Traits, second: Traits][] = [
    ["one that has no node yet", { node: "", phase: "Pending" }, { phase: "Pending" }],
    ["one that is pending", { phase: "Pending" }, {}],
    ["one that is not ready", {}, ready],
    ["one that costs less to delete", { ...ready, cost: -5 }, { ...ready, cost: 0 }],
    ["one whose node has more pods of the set", { ...ready, node: "crowded" }, { ...ready, node: "a" }],
    ["one that became ready more recently", { readySince: "2026-01-01T23:59:00Z" }, ready],
    ["one that restarted more often", { ...ready, restarts: 3 }, ready],
    ["one that was created more recently", { ...ready, created: "2026-01-01T23:00:00Z" }, ready],
  ]
  test.each(table)("is %s", (_rule, first, second) => {
    const pods = [podOf("second", second), podOf("first", first)]
    const order = leastWorthKeepingFirst(pods, (node) => (node === "crowded" ? 2 : 1), NOW)
    expect(order.map(({ metadata }) => metadata.name)).toEqual(["first", "second"])
  })
})
