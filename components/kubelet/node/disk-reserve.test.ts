import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { DEFAULT_TUNING } from "../model/tuning.ts"
import { DiskReserve } from "./disk-reserve.ts"

const CAPACITY = 10_000 * 2 ** 20

function nodeWith({ hard = DEFAULT_TUNING.eviction.hard } = {}) {
  const clock = new VirtualClock(0)
  const sizes = new Map<string, number>()
  let stage = "running"
  const files = {
    list: async () => [...sizes.keys()].map((path) => path.split("/").at(-1)!),
    allocate: async (path: string, bytes: number) => void sizes.set(path, bytes),
    remove: async (path: string) => void sizes.delete(path),
  }
  const config = { root: "/kubelet", tuning: { eviction: { ...DEFAULT_TUNING.eviction, hard } } }
  const reserve = new DiskReserve({ clock, log: silent, config, runtime: { files } } as never, {
    all: () => [{ stage }] as never,
  })
  return {
    clock,
    sizes,
    end: () => (stage = "terminating"),
    check: (available: number) => reserve.keep({ "nodefs.available": { available, capacity: CAPACITY } }),
  }
}

test("a reserve is kept while there is room, and given up step by step while a pod cannot end for want of room", async () => {
  // given a disk with room, which has a reserve of 64 MiB
  const { clock, sizes, end, check } = nodeWith()
  await check(CAPACITY / 2)
  await check(CAPACITY / 2)
  expect([...sizes]).toEqual([0, 1, 2, 3].map((step) => [`/kubelet/reserve/${step}`, 16 * 2 ** 20]))
  // when the disk is full and no pod is ending, it is kept
  await check(0)
  await clock.advance(60_000)
  await check(0)
  expect(sizes.size).toBe(4)
  // when a pod is ending, a step is given up after it has had the time to be killed
  end()
  await check(0)
  await clock.advance(2999)
  await check(0)
  expect(sizes.size).toBe(4)
  await clock.advance(1)
  await check(0)
  expect(sizes.size).toBe(3)
  // and the next one when that was not enough
  await clock.advance(2000)
  await check(0)
  expect(sizes.size).toBe(3)
  await clock.advance(1000)
  await check(0)
  expect(sizes.size).toBe(2)
  // and it is whole again when there is room, but not before
  await check(CAPACITY * 0.05)
  expect(sizes.size).toBe(2)
  await check(CAPACITY / 2)
  expect(sizes.size).toBe(4)
})

test("no reserve is kept where no pod is evicted for the disk", async () => {
  const { sizes, check } = nodeWith({ hard: {} })
  await check(CAPACITY / 2)
  expect(sizes.size).toBe(0)
})
