/**
 * Tests what upstream's "API priority and fairness" (test/e2e/apimachinery/flowcontrol.go) asserts, except for the
 * verbs of both kinds (every-kind.test.ts) and the headers of responses (flowcontrol/priority-and-fairness.test.ts).
 * Also tests how the server keeps its own objects.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { FlowSchema } from "../../pkg/api/flowcontrol/v1/flowschema.ts"
import { PriorityLevelConfiguration } from "../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"

const UPDATED = "apf.kubernetes.io/autoupdate-spec"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ components: { scheduler: false, controllers: false } })
})
afterAll(() => cluster.stop())

const schemaOf = (name: string, level: string) => ({
  metadata: { name },
  spec: {
    matchingPrecedence: 9000,
    priorityLevelConfiguration: { name: level },
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "nobody" } }],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      },
    ],
  },
})
const levelOf = (name: string, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { type: "Limited", limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" } } },
})
const danglingOf = async (name: string) =>
  (await cluster.get(FlowSchema, name)).status.conditions?.find(({ type }) => type === "Dangling")

/** The reason of the rejection, or undefined. */
const refusal = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => (error as { readonly message: string }).message,
  )

describe("a new cluster", () => {
  test("has the FlowSchemas and priority levels that Kubernetes suggests, and every FlowSchema's level exists", async () => {
    const schemas = await cluster.list(FlowSchema)
    const levels = await cluster.list(PriorityLevelConfiguration)
    expect(schemas.map(({ metadata }) => metadata.name)).toEqual([
      "catch-all",
      "exempt",
      "global-default",
      "kube-controller-manager",
      "kube-scheduler",
      "kube-system-service-accounts",
      "probes",
      "service-accounts",
      "system-leader-election",
      "system-node-high",
      "system-nodes",
    ])
    expect(levels.map(({ metadata }) => metadata.name)).toEqual([
      "catch-all",
      "exempt",
      "global-default",
      "leader-election",
      "node-high",
      "system",
      "workload-high",
      "workload-low",
    ])
    expect(schemas.every(({ status }) => status.conditions?.[0]?.status === "False")).toBe(true)
    expect([...schemas, ...levels].every(({ metadata }) => metadata.annotations?.[UPDATED] === "true")).toBe(true)
  })
})

describe("a FlowSchema", () => {
  test("has a condition that says whether its priority level exists", async () => {
    // given a FlowSchema whose level does not exist
    await cluster.client.create(FlowSchema, schemaOf("dangling", "later"))
    await cluster.settle()
    expect(await danglingOf("dangling")).toMatchObject({
      status: "True",
      reason: "NotFound",
      message:
        'This FlowSchema references the PriorityLevelConfiguration object named "later" but there is no such object',
    })
    // when the level is created and deleted
    await cluster.client.create(PriorityLevelConfiguration, levelOf("later"))
    await cluster.settle()
    expect(await danglingOf("dangling")).toMatchObject({ status: "False", reason: "Found" })
    await cluster.delete(PriorityLevelConfiguration, "later")
    await cluster.settle()
    expect(await danglingOf("dangling")).toMatchObject({ status: "True", reason: "NotFound" })
    await cluster.delete(FlowSchema, "dangling")
  })
})

describe("within a minute", () => {
  test("the server creates its own deleted objects again", async () => {
    await cluster.delete(PriorityLevelConfiguration, "workload-low")
    await cluster.delete(FlowSchema, "exempt")
    await cluster.advance("61s")
    expect((await cluster.get(PriorityLevelConfiguration, "workload-low")).spec.limited?.nominalConcurrencyShares).toBe(
      100,
    )
    expect((await cluster.get(FlowSchema, "exempt")).metadata.generation).toBe(1)
  })

  test("the server corrects its own changed objects, except those whose annotation forbids it", async () => {
    const change = (name: string, annotation: string) =>
      cluster.client.patch(
        PriorityLevelConfiguration,
        { name },
        {
          type: "merge",
          body: {
            metadata: { annotations: { [UPDATED]: annotation } },
            spec: { limited: { nominalConcurrencyShares: 77 } },
          },
        },
      )
    await change("system", "true")
    await change("node-high", "false")
    await cluster.advance("61s")
    const sharesOf = async (name: string) =>
      (await cluster.get(PriorityLevelConfiguration, name)).spec.limited?.nominalConcurrencyShares
    expect(await sharesOf("system")).toBe(30)
    expect(await sharesOf("node-high")).toBe(77)
  })

  test("the server deletes its own objects that it no longer needs", async () => {
    await cluster.client.create(PriorityLevelConfiguration, levelOf("old", { annotations: { [UPDATED]: "true" } }))
    await cluster.client.create(PriorityLevelConfiguration, levelOf("mine"))
    await cluster.advance("61s")
    expect(isNotFound(await cluster.get(PriorityLevelConfiguration, "old").catch((error: unknown) => error))).toBe(true)
    expect((await cluster.get(PriorityLevelConfiguration, "mine")).metadata.name).toBe("mine")
  })
})

test("mandatory objects cannot be changed, except the seats of the exempt level", async () => {
  const patch = (name: string, spec: object) =>
    cluster.client.patch(PriorityLevelConfiguration, { name }, { type: "merge", body: { spec } })
  expect(await refusal(patch("catch-all", { limited: { nominalConcurrencyShares: 9 } }))).toContain(
    "spec of 'catch-all' must equal the fixed value",
  )
  expect(await refusal(patch("exempt", { exempt: { lendablePercent: 50 } }))).toBeUndefined()
  await cluster.advance("61s")
  expect((await cluster.get(PriorityLevelConfiguration, "exempt")).spec.exempt?.lendablePercent).toBe(50)
})
