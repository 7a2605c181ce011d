import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { DEFAULT_FEATURES, FEATURE_NAMES, featuresOf } from "../../../pkg/component/features.ts"
import type { AdmissionAttributes } from "./admission.ts"
import { disabledFields } from "./disabled-fields.ts"

test("an object keeps the values that it has in fields of a disabled feature, and cannot get new ones", () => {
  // given
  const plugin = disabledFields({ ...DEFAULT_FEATURES, HostnameOverride: false })!
  const pod = (spec: object) => ({ metadata: { name: "p" }, spec: { containers: [], ...spec } }) as unknown as Pod
  const update = (old: Pod, object: Pod) =>
    plugin.admit!({ resource: Pod, object, old } as unknown as AdmissionAttributes) as Pod | undefined
  // when, then
  expect(update(pod({ hostnameOverride: "a" }), pod({ hostnameOverride: "b" }))).toBeUndefined()
  expect(update(pod({}), pod({ hostnameOverride: "b" }))).toEqual(pod({}))
  expect(update(pod({}), pod({}))).toBeUndefined()
})

test("a struct that has only fields of a disabled feature is removed as a whole", () => {
  // given
  const plugin = disabledFields({ ...DEFAULT_FEATURES, ContainerStopSignals: false })!
  const pod = (lifecycle: object) =>
    ({ metadata: { name: "p" }, spec: { containers: [{ name: "c", ...lifecycle }] } }) as unknown as Pod
  const create = (object: Pod) => plugin.admit!({ resource: Pod, object } as unknown as AdmissionAttributes)
  const preStop = { exec: { command: ["true"] } }
  // when, then
  expect(create(pod({ lifecycle: { stopSignal: "SIGINT" } }))).toEqual(pod({}))
  expect(create(pod({ lifecycle: { stopSignal: "SIGINT", preStop } }))).toEqual(pod({ lifecycle: { preStop } }))
  expect(create(pod({ lifecycle: { preStop } }))).toBeUndefined()
})

test("the plugin is not created while all features are enabled", () => {
  expect(disabledFields(featuresOf(Object.fromEntries(FEATURE_NAMES.map((name) => [name, true]))))).toBeUndefined()
})
