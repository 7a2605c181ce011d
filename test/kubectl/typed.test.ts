import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { RESOURCES } from "../../pkg/api/resources.ts"
import { isRegistered } from "../../pkg/kubectl/resource/typed-scheme.ts"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./typed.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

describe("a command that reads objects into Go types", () => {
  steps(
    "says of other kinds, versions and types of fields what kubectl 1.36.2 says",
    () => c,
    recorded.steps as unknown as readonly Step[],
    recorded.files,
  )
})

describe("the kinds that kubectl has Go types for", () => {
  test("are all that a server serves but definitions of resources and APIServices", () => {
    const others = RESOURCES.filter(({ apiVersion, kind }) => !isRegistered(apiVersion, kind))
    expect(others.map(({ kind }) => kind).sort()).toEqual(["APIService", "CustomResourceDefinition"])
  })

  test.each([
    ["v1", "PodList", true],
    ["v1", "List", true],
    ["apps/v1beta1", "Deployment", true],
    ["apps/v1", "DeleteOptions", true],
    ["apps/v1", "Pod", false],
    ["apps/v9", "Deployment", false],
    ["example.com/v1", "Bar", false],
    ["v1", "BarList", false],
  ])("%s %s: %p", (apiVersion, kind, expected) => {
    expect(isRegistered(apiVersion, kind)).toBe(expected)
  })
})
