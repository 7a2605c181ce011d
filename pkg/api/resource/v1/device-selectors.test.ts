import { expect, test } from "bun:test"
import { PatternBudget } from "../../../re2/limits.ts"
import { DeviceSelectors, SelectorError } from "./device-selectors.ts"

const device = (model: string) => ({ name: model, attributes: { model: { string: model } } })
const selector = (expression: string) => [{ cel: { expression } }]

test("patterns that a claim computes for each device are bounded for all of them together, known ones too", () => {
  // given a pattern of some 10,000 instructions for each device
  const computed = selector(`!"x".matches("(" + device.attributes["gpu.example"].model + "){900}")`)
  const selectors = new DeviceSelectors()

  // when
  let met = 0
  const all = () => {
    const patterns = new PatternBudget()
    met = 0
    for (let i = 0; i < 128; i++)
      met += Number(selectors.match(computed, "gpu.example", device(`model-${1000 + i}`), patterns))
  }

  // then
  const refused = new SelectorError("selector #0: CEL runtime error: operation cancelled: actual cost limit exceeded")
  expect(all).toThrow(refused)
  expect(met).toBeGreaterThan(2)
  expect(met).toBeLessThan(15)
  // and what was compiled before counts as well: the answer does not depend on what was asked earlier
  const before = met
  expect(all).toThrow(refused)
  expect(met).toBe(before)
})

test("a constant pattern may be as large, and is compiled once for all devices", () => {
  const constant = selector(`!device.attributes["gpu.example"].model.matches("(abcdefghij){900}")`)
  const [selectors, patterns] = [new DeviceSelectors(), new PatternBudget()]
  for (let i = 0; i < 128; i++) expect(selectors.match(constant, "gpu.example", device(`m${i}`), patterns)).toBe(true)
})
