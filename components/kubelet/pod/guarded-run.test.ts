import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { InHand, PAGE_BYTES } from "../../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED } from "../../../pkg/quarantine/record.ts"
import { podOf } from "../testing/pod.ts"
import { guardedRun, type Mark } from "./guarded-run.ts"

/** A node of which the process ends and starts again. */
function node() {
  const clock = new VirtualClock(0)
  const pod = podOf({}, { metadata: { namespace: "default", name: "web" } })
  const told: string[] = []
  let page = new Uint8Array(PAGE_BYTES)
  let record = NOTHING_RECORDED
  const start = () =>
    new Quarantine({ page, before: record, boot: "boot", save: (saved) => void (record = saved), clock, log: silent })
  let quarantine = start()
  return {
    clock,
    told,
    inHand: () => InHand.left(page).map(({ place, key }) => `${place} ${key}`),
    /** Starts again with what the page says now. */
    killed() {
      page = page.slice()
      quarantine = start()
    },
    run: (work: (mark: Mark) => Promise<void>) =>
      guardedRun(
        { quarantine, events: { event: (_about, _type, reason) => void told.push(reason), stop: async () => {} } },
        pod,
        { wakeIn: (ms) => void told.push(`again in ${ms} ms`) },
        work,
      ),
  }
}

test("a pod is noted while something is worked out from it, and not while its step waits", async () => {
  const { run, inHand } = node()
  const seen: (readonly string[])[] = []
  await run(async (mark) => {
    seen.push(inHand())
    await Promise.resolve()
    mark(() => void seen.push(inHand()))
    await Promise.resolve()
    seen.push(inHand())
  })
  expect(seen).toEqual([[], ["kubelet default/web"], []])
})

test("a pod that ends the process twice is set aside, and one during whose waits it is killed is not", async () => {
  const { run, killed, told, clock } = node()
  // given a process that is killed while the step waits
  await run(async (mark) => {
    mark(() => undefined)
    killed()
  })
  let runs = 0
  // when what is worked out from the pod ends it
  await run(async (mark) => mark(() => (runs++, killed())))
  // then the pod is tried again, after everything else
  await run(async () => void runs++)
  expect([runs, told]).toEqual([1, ["again in 250 ms"]])
  await clock.advance(2000)
  await run(async (mark) => mark(() => (runs++, killed())))
  // and is left alone after that
  await run(async () => void runs++)
  expect([runs, told.slice(1)]).toEqual([2, ["SetAside", "again in 60000 ms"]])
})
