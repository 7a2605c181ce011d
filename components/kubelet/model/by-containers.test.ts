import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ByContainers } from "./by-containers.ts"

const containers = [{ name: "web", image: "web", resources: {} }] as unknown as Pod["spec"]["containers"]
const spec = (fields: Partial<Pod["spec"]>): Pod["spec"] => ({ containers, ...fields }) as Pod["spec"]

test("pods that share all that counts share what was calculated", () => {
  const cache = new ByContainers<object>()
  const one = cache.of(spec({ nodeName: "node-0" }), () => ({}))
  expect(cache.of(spec({ nodeName: "node-1" }), () => ({}))).toBe(one)
})

test.each([
  ["overhead", { overhead: { cpu: "100m" } }],
  ["resources of the pod itself", { resources: { requests: { cpu: "1" } } }],
  ["init containers", { initContainers: containers }],
  ["other containers", { containers: [...containers] }],
])("a pod with %s gets a value of its own", (_, fields) => {
  const cache = new ByContainers<string>()
  cache.of(spec({}), () => "plain")
  expect(cache.of(spec(fields), () => "own")).toBe("own")
})
