import { expect, test } from "bun:test"
import { DEFAULT_FEATURES, parseFeatureGates } from "./features.ts"

test.each([
  ["", {}],
  ["WatchList=false", { WatchList: false }],
  ["EnvFiles=true, WatchList=False", { WatchList: false }],
])("%j sets the features that it names", (text, changed) => {
  expect(parseFeatureGates(text)).toEqual({ ...DEFAULT_FEATURES, ...changed })
})

test.each([
  ["WatchList", '"WatchList" is no feature gate: expected Name=true or Name=false'],
  ["WatchList=on", '"WatchList=on" is no feature gate'],
  ["AllAlpha=true", 'unknown feature gate "AllAlpha": the feature gates are ContainerRestartRules,'],
])("%j is refused", (text, message) => {
  expect(() => parseFeatureGates(text)).toThrow(message)
})
