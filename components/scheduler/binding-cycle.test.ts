import { expect, test } from "bun:test"
import type { Client } from "../../pkg/client/client.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import type { BindingContext } from "./binding-context.ts"
import { BindingCycle, ReserveError } from "./binding-cycle.ts"
import type { Plugin } from "./framework.ts"
import type { SchedulingQueue } from "./queue.ts"
import { nodeOf, place, podOf } from "./schedule-one.fixtures.ts"
import type { SchedulingContext } from "./scheduling-context.ts"

/** A binding cycle with these plugins, and what is done, in its order. */
function lab(plugins: (done: string[]) => readonly Plugin[], isRefused = false) {
  const done: string[] = []
  const cycle = { ...place([nodeOf("a")]), plugins: plugins(done).map((plugin) => ({ plugin, weight: 0 })) }
  const context = {
    client: {
      patch: (_kind: unknown, _ref: unknown, { body }: { body: { status: { nominatedNodeName: string | null } } }) => {
        done.push(`nominated for ${body.status.nominatedNodeName}`)
        return Promise.resolve()
      },
      createSubresource: () => {
        done.push("bind")
        return isRefused ? Promise.reject(new Error("refused")) : Promise.resolve()
      },
    } as unknown as Client,
    informers: { of: () => ({ get: () => undefined }) },
    clock: realClock,
    log: silent,
    events: { event: () => undefined },
    observer: undefined,
    cycle,
    bindsByDefault: true,
    queue: {
      done: () => undefined,
      failed: () => done.push("again"),
      moveAllToActiveOrBackoffQueue: (action: string) => done.push(action),
    } as unknown as SchedulingQueue,
    isRunning: () => true,
  } as unknown as SchedulingContext
  const pod = podOf("p")
  const binding = new BindingCycle(context)
  const reserve = () => binding.reserve(pod, cycle.cache.get("a")!, {} as BindingContext)
  const bind = () =>
    binding.bind({ pod, added: 0, attempts: 1, plugins: new Set() }, "a", realClock.monotonic(), reserve())
  return { done, reserve, bind }
}

/** A plugin that keeps something for every pod. */
const keeping = (name: string, done: string[]): Plugin => ({
  name,
  reserve() {
    done.push(`${name} reserves`)
    return {
      freed: "Device/Change",
      preBind: async () => void done.push(`${name} writes`),
      unreserve: async () => void done.push(`${name} gives back`),
    }
  },
})
const without: Plugin = { name: "without" }

test("what plugins keep for a pod is written before its binding, in their order, and before that its node", async () => {
  // given
  const { done, bind } = lab((done) => [keeping("disks", done), without, keeping("devices", done)])
  // when
  await bind()
  // then
  expect(done).toEqual([
    ...["disks reserves", "devices reserves", "nominated for a"],
    ...["disks writes", "devices writes", "bind"],
  ])
})

test("a pod for which no plugin keeps anything is bound without a nomination", async () => {
  // given
  const { done, bind } = lab(() => [without])
  // when
  await bind()
  // then
  expect(done).toEqual(["bind"])
})

test("a binding that is refused has plugins give back what they kept, the last first, and tries the pod again", async () => {
  // given
  const { done, bind } = lab((done) => [keeping("disks", done), keeping("devices", done)], true)
  // when
  await bind()
  // then those are told that wait for it
  expect(done.slice(5)).toEqual([
    "bind",
    "devices gives back",
    "Device/Change",
    "disks gives back",
    "Device/Change",
    "nominated for null",
    "again",
    "AssignedPod/Delete",
  ])
})

test("a plugin that cannot keep what a pod needs says so, with what others have kept before", () => {
  // given
  const failing: Plugin = {
    name: "devices",
    reserve() {
      throw new Error("taken meanwhile")
    },
  }
  const { reserve } = lab((done) => [keeping("disks", done), failing])
  // when
  let error: unknown
  try {
    reserve()
  } catch (err) {
    error = err
  }
  // then
  expect(error).toBeInstanceOf(ReserveError)
  expect((error as ReserveError).kept.map(({ plugin }) => plugin)).toEqual(["disks"])
  expect((error as Error).message).toBe('running "devices" reserve plugin')
})
