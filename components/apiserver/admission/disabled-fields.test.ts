import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { DEFAULT_FEATURES } from "../../../pkg/component/features.ts"
import type { AdmissionAttributes } from "./admission.ts"
import { disabledFields } from "./disabled-fields.ts"

test("what an object has of a feature that is off it keeps, and what it has not it does not get", () => {
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

test("costs nothing while all features are on", () => {
  expect(disabledFields(DEFAULT_FEATURES)).toBeUndefined()
})
