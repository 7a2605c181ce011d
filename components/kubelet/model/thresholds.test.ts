import { expect, test } from "bun:test"
import { DEFAULT_TUNING } from "./tuning.ts"
import { pressureOf } from "./pressure.ts"
import { formatAmount, limitOf, parseAmount } from "./thresholds.ts"

const amounts = [
  { title: "bytes", given: "500Mi", wants: 500 * 2 ** 20, formatted: "500Mi" },
  { title: "a percentage of the capacity", given: "12.5%", wants: 1250, formatted: "12.5%" },
  { title: "0%, which is never crossed", given: "0%", wants: 0, formatted: "0%" },
  { title: "100%, which means no threshold, as upstream", given: "100%", wants: 0, formatted: "100%" },
]
test.each(amounts)("a threshold can be $title", ({ given, wants, formatted }) => {
  const amount = parseAmount(given)!
  expect([limitOf(amount, 10_000), formatAmount(amount)]).toEqual([wants, formatted])
})

test.each(["", "much", "-1Gi", "101%", "%", "1%%"])("%p is refused as a threshold", (given) => {
  expect(parseAmount(given)).toBeUndefined()
})

const pressures = [
  {
    title: "a hard threshold that is crossed",
    eviction: { hard: { "memory.available": { count: 200 } } },
    wants: { memory: true, disk: false, pid: false },
  },
  {
    title: "a soft threshold that has just been crossed",
    eviction: { hard: {}, soft: { "nodefs.available": { amount: { fraction: 0.5 }, graceMs: 60_000 } } },
    wants: { memory: false, disk: true, pid: false },
  },
  {
    title: "a threshold of imagefs, which is the node's file system",
    eviction: { hard: { "imagefs.available": { fraction: 0.5 } } },
    wants: { memory: false, disk: true, pid: false },
  },
  {
    title: "exactly the amount that must stay free, which is not crossed",
    eviction: { hard: { "memory.available": { count: 100 } } },
    wants: { memory: false, disk: false, pid: false },
  },
  {
    title: "a resource that the machine does not report",
    eviction: { hard: { "pid.available": { fraction: 0.9 } } },
    wants: { memory: false, disk: false, pid: false },
  },
]
test.each(pressures)("the conditions of a node follow $title", ({ eviction, wants }) => {
  const disk = { available: 400, capacity: 1000 }
  const observations = {
    "memory.available": { available: 100, capacity: 1000 },
    "nodefs.available": disk,
    "imagefs.available": disk,
  }
  expect(pressureOf(observations, { ...DEFAULT_TUNING.eviction, ...eviction })).toEqual(wants)
})
