import { describe, expect, test } from "bun:test"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { findVictims } from "./preemption.ts"
import { findNode, type CycleContext } from "./schedule-one.ts"
import { asking, away, labelled, nodeOf, place, podOf, term, WEB, zone } from "./schedule-one.fixtures.ts"

describe("preemption", () => {
  const node = nodeOf("a", { allocatable: { cpu: "1" } })
  const low = podOf("low", { ...asking({ cpu: "600m" }), priority: 1 }, { node: "a" })
  const tiny = podOf("tiny", { ...asking({ cpu: "100m" }), priority: 2 }, { node: "a" })
  const tryFor = (pod: Pod, placement: CycleContext) => {
    const { outcome } = findNode(pod, placement, 0)
    if (!("diagnosis" in outcome)) throw new Error("fits as it is")
    return findVictims(pod, outcome.diagnosis, placement, [])
  }

  test("evicts no more pods from a node than necessary, those with the lowest priority first", () => {
    const result = tryFor(podOf("p", { ...asking({ cpu: "500m" }), priority: 10 }), place([node], [low, tiny]))
    expect("candidate" in result && result.candidate.victims.map(({ metadata }) => metadata.name)).toEqual(["low"])
  })

  test("evicts the pods that violate an anti-affinity", () => {
    const inTheWay = podOf("web", { priority: 1 }, { node: "a" })
    const labels = { ...inTheWay, metadata: { ...inTheWay.metadata, labels: WEB } }
    const result = tryFor(labelled({}, { ...away(term(WEB)), priority: 10 }), place([zone("a", "1")], [labels, tiny]))
    expect("candidate" in result && result.candidate.victims.map(({ metadata }) => metadata.name)).toEqual(["web"])
  })

  test("spares pods of the same or a higher priority", () => {
    expect(tryFor(podOf("p", { ...asking({ cpu: "500m" }), priority: 1 }), place([node], [low, tiny]))).toEqual({
      message:
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
      keepsNomination: false,
    })
  })

  test("is not tried if it would not help", () => {
    expect(tryFor(podOf("p", { ...asking({ cpu: "9" }), priority: 10 }), place([node], [low]))).toEqual({
      message:
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
      keepsNomination: false,
    })
  })

  test("is not done for pods with preemptionPolicy Never", () => {
    expect(
      tryFor(podOf("p", { ...asking({ cpu: "500m" }), priority: 10, preemptionPolicy: "Never" }), place([node], [low])),
    ).toEqual({
      message: "no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
      keepsNomination: true,
    })
  })
})
