import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import { DECISIONS_PER_TURN } from "../decisions-per-turn.ts"
import type { PodGroupTools } from "../pod-groups.ts"
import { asking, nodeOf, place, podOf } from "../schedule-one.fixtures.ts"
import { preemptForGroup } from "./group-preemption.ts"
import type { TrialOptions } from "./trial.ts"

const LOW = Array.from({ length: 64 }, (_, i) =>
  podOf(`low-${i}`, { ...asking({ cpu: "1" }), priority: i }, { node: "a" }),
)
const GANG = Array.from({ length: 8 }, (_, i) => podOf(`gang-${i}`, { ...asking({ cpu: "1" }), priority: 100 }))
const group = {
  apiVersion: "scheduling.k8s.io/v1alpha2",
  kind: "PodGroup",
  metadata: { name: "gang" },
  spec: { priority: 100 },
} as unknown as PodGroup

/** A full node of 64 CPUs, and what a search for room there needs. `turns` counts the turns that it takes. */
function lab() {
  const cycle = place([nodeOf("a", { allocatable: { cpu: "64", pods: "200" } })], LOW)
  let turns = 0
  const afterTurn = (then: () => void) => {
    turns++
    setImmediate(then)
  }
  const tools = {
    clock: { afterTurn },
    cache: cycle.cache,
    nominations: cycle.nominations,
    informers: { of: () => ({ get: () => undefined, list: () => [] }) },
    reserve: () => [],
  } as unknown as PodGroupTools
  const waiting = GANG.map((pod) => ({ pod, added: 0, attempts: 1, plugins: new Set<string>() }))
  const profile = { context: { cycle }, binding: {} }
  const options = { profile, waiting, scheduled: 0, needed: 8, preempts: false } as unknown as TrialOptions
  return { cycle, tools, options, turns: () => turns }
}
const namesOf = (pods: readonly Pod[]) => new Set(pods.map(({ metadata }) => metadata.name))

test("a group has only the least important pods leave, and no turn has many trials", async () => {
  // given
  const { tools, options, turns } = lab()
  const trials: number[] = []
  // when
  const room = await preemptForGroup(tools, group, () => {
    trials.push(turns())
    return options
  })
  // then
  if (room === undefined || "message" in room) throw new Error("no room")
  expect(namesOf(room.victims.map(([pod]) => pod))).toEqual(namesOf(LOW.slice(0, 8)))
  const inOneTurn = Math.max(
    ...Map.groupBy(trials, (turn) => turn)
      .values()
      .map(({ length }) => length),
  )
  expect(turns()).toBeGreaterThan(0)
  expect(inOneTurn).toBeLessThanOrEqual(DECISIONS_PER_TURN + 1)
})

test("nothing is taken from the node between two turns", async () => {
  // given a search that looks at the node each time it begins a trial
  const { cycle, tools, options } = lab()
  const seen = new Set<number>()
  // when
  await preemptForGroup(tools, group, () => {
    seen.add(cycle.cache.get("a")!.pods.size)
    return options
  })
  // then
  expect([...seen]).toEqual([LOW.length])
})

test("the search ends when no pod of the group waits any more", async () => {
  // given
  const { tools, options } = lab()
  let calls = 0
  // when
  const room = await preemptForGroup(tools, group, () => (++calls < 6 ? options : undefined))
  // then
  expect(room).toBeUndefined()
  expect(calls).toBe(6)
})
