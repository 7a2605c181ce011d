import { expect, test } from "bun:test"
import { CpuRates } from "./cpu-rates.ts"

const at = (seconds: number, nanoseconds: number) => ({ at: seconds * 1000, nanoseconds })

test("processor usage is the average since the start, and from then on since the last reading", () => {
  const rates = new CpuRates()
  // given a thing that used half a core for 100 seconds
  expect(rates.begin()("a", 0, at(100, 50e9))).toBe(5e8)
  // when it uses two cores
  expect(rates.begin()("a", 0, at(104, 58e9))).toBe(2e9)
  // then what is asked for at once again is told from the same point on
  expect(rates.begin()("a", 0, at(108, 58e9))).toBe(1e9)
  expect(rates.begin()("a", 0, at(120, 60e9))).toBe(5e8)
  // and afterwards from the last one
  expect(rates.begin()("a", 0, at(130, 60e9))).toBe(0)
})

test("after too short a time the previous rate is returned", () => {
  const rates = new CpuRates()
  expect(rates.begin()("young", 0, at(0.5, 1e9))).toBeUndefined()
  expect(rates.begin()("young", 0, at(20, 1e10))).toBe(5e8)
  expect(rates.begin()("young", 0, at(20.1, 2e10))).toBe(5e8)
})

test("a counter that starts again is counted from its start, and ids that are not read any more are forgotten", () => {
  const rates = new CpuRates()
  rates.begin()("a", 0, at(100, 50e9))
  expect(rates.begin()("a", 0, at(110, 1e9))).toBe(5e8)
  expect(rates.begin()("a", 0, at(120, 2e9))).toBe(1e8)
  rates.begin()
  expect(rates.begin()("a", 0, at(200, 20e9))).toBe(1e8)
})
