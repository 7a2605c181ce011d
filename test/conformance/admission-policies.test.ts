/**
 * Admission policies, as a client uses them. Source of the assertions:
 * test/e2e/apimachinery/{validating,mutating}admissionpolicy.go.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster, type Loose } from "./cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster({ controllers: true })
})
afterAll(() => cluster.stop())

const GROUP = "/apis/admissionregistration.k8s.io/v1"
const DEPLOYMENTS = { apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"] }
const RULE = { operations: ["CREATE", "UPDATE"], ...DEPLOYMENTS }

const labels = { app: "web" }
const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } }
const workload = (name: string, replicas: number) => ({
  metadata: { name },
  spec: { replicas, selector: { matchLabels: labels }, template },
})

/** Creates a namespace with its own label, and a policy that is enforced in this namespace only. */
async function inForce(name: string, plural: "validating" | "mutating", spec: object, binding: object = {}) {
  const unique = { matchLabels: { [name]: "true" } }
  await cluster.post("/api/v1/namespaces", { metadata: { name, labels: unique.matchLabels } })
  await cluster.post(`${GROUP}/${plural}admissionpolicies`, {
    metadata: { name: `${name}.policy.example.com` },
    spec: { matchConstraints: { namespaceSelector: unique, resourceRules: [RULE] }, ...spec },
  })
  await cluster.post(`${GROUP}/${plural}admissionpolicybindings`, {
    metadata: { name: `${name}.binding.example.com` },
    spec: { policyName: `${name}.policy.example.com`, matchResources: { namespaceSelector: unique }, ...binding },
  })
  return {
    create: (kind: "deployments" | "replicasets", body: object) =>
      cluster.send("POST", `/apis/apps/v1/namespaces/${name}/${kind}`, { body }),
  }
}

describe("a ValidatingAdmissionPolicy", () => {
  test("validates Deployments, and not ReplicaSets", async () => {
    const { create } = await inForce(
      "against",
      "validating",
      {
        validations: [
          {
            expression: "object.spec.replicas > 1",
            messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
          },
          { expression: "namespaceObject.metadata.name == 'against'", message: "no other namespace" },
        ],
      },
      { validationActions: ["Deny"] },
    )
    expect(await create("deployments", workload("marker", 1))).toMatchObject({ code: 422, body: { reason: "Invalid" } })
    expect((await create("deployments", workload("replicated", 2))).code).toBe(201)
    expect((await create("replicasets", workload("non-replicated", 1))).code).toBe(201)
  })

  test("can use its variables in its expressions", async () => {
    const { create } = await inForce(
      "variables",
      "validating",
      {
        variables: [
          { name: "replicas", expression: "object.spec.replicas" },
          { name: "oddReplicas", expression: "variables.replicas % 2 == 1" },
        ],
        validations: [{ expression: "variables.replicas > 1" }, { expression: "variables.oddReplicas" }],
      },
      { validationActions: ["Deny"] },
    )
    expect(await create("deployments", workload("marker", 1))).toMatchObject({ code: 422, body: { reason: "Invalid" } })
    expect((await create("deployments", workload("even", 2))).body.reason).toBe("Invalid")
    expect((await create("deployments", workload("replicated", 3))).code).toBe(201)
    expect((await create("replicasets", workload("non-replicated", 1))).code).toBe(201)
  })

  /** Resolves to the type warnings of a policy with these validations, once they are checked. */
  async function warningsOf(name: string, rule: object, validations: readonly object[]) {
    const path = `${GROUP}/validatingadmissionpolicies/${name}`
    await cluster.post(`${GROUP}/validatingadmissionpolicies`, {
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [{ operations: ["CREATE"], ...rule }] }, validations },
    })
    const { metadata, status } = await cluster.until(path, (policy) => policy?.status?.["typeChecking"] !== undefined)
    expect(status.observedGeneration).toBe(metadata.generation)
    const { expressionWarnings = [] } = status["typeChecking"] as {
      readonly expressionWarnings?: readonly { readonly fieldRef: string; readonly warning: string }[]
    }
    return expressionWarnings
  }

  test("reports type errors in its status", async () => {
    expect(await warningsOf("correct", DEPLOYMENTS, [{ expression: "object.spec.replicas > 1" }])).toEqual([])
    const confused = await warningsOf("confused", DEPLOYMENTS, [
      {
        expression: "object.spec.replicas > '1'",
        messageExpression: "'wants replicas > 1, got ' + object.spec.replicas",
      },
    ])
    expect(confused).toEqual([
      {
        fieldRef: "spec.validations[0].expression",
        warning: expect.stringContaining("found no matching overload for '_>_' applied to '(int, string)'"),
      },
      {
        fieldRef: "spec.validations[0].messageExpression",
        warning: expect.stringContaining("found no matching overload for '_+_' applied to '(string, int)'"),
      },
    ])
  })

  test("reports type errors about a custom resource in its status", async () => {
    const spec = { type: "object", properties: { replicas: { type: "integer" } } }
    const openAPIV3Schema = { type: "object", properties: { spec } }
    await cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "crontabs.stable.example.com" },
      spec: {
        group: "stable.example.com",
        names: { plural: "crontabs", kind: "CronTab" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
      },
    })
    const crontabs = { apiGroups: ["stable.example.com"], apiVersions: ["v1"], resources: ["crontabs"] }
    expect(await warningsOf("correct-crd", crontabs, [{ expression: "object.spec.replicas > 1" }])).toEqual([])
    const confused = await warningsOf("confused-crd", crontabs, [
      { expression: "object.spec.replicas > '1'" },
      { expression: "object.spec.maxRetries < 10" },
    ])
    expect(confused).toEqual([
      {
        fieldRef: "spec.validations[0].expression",
        warning: expect.stringContaining("found no matching overload for '_>_' applied to '(int, string)'"),
      },
      {
        fieldRef: "spec.validations[1].expression",
        warning: expect.stringContaining("undefined field 'maxRetries'"),
      },
    ])
  })
})

describe("a MutatingAdmissionPolicy", () => {
  test("adds annotations to a Deployment", async () => {
    const { create } = await inForce("annotated", "mutating", {
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: {
            expression: `
              Object{
                metadata: Object.metadata{
                  annotations: {
                    "mutated-by": "admission-policy"
                  }
                }
              }`,
          },
        },
      ],
    })
    const { body } = await create("deployments", workload("marker", 1))
    expect(body.metadata.annotations).toMatchObject({ "mutated-by": "admission-policy" })
  })

  test("changes the spec of a Deployment", async () => {
    const { create } = await inForce("changed", "mutating", {
      reinvocationPolicy: "Never",
      mutations: [
        {
          patchType: "ApplyConfiguration",
          applyConfiguration: { expression: "Object{spec: Object.spec{replicas: 1337}}" },
        },
      ],
    })
    expect((await create("deployments", workload("marker", 1))).body.spec.replicas).toBe(1337)
    expect((await create("replicasets", workload("other", 1))).body.spec.replicas).toBe(1)
  })
})

const mutations = [
  {
    patchType: "ApplyConfiguration",
    applyConfiguration: { expression: "Object{spec: Object.spec{replicas: 100}}" },
  },
]
const validations = [{ expression: "object.spec.replicas <= 100" }]
const constraints = { matchConstraints: { resourceRules: [{ operations: ["CREATE"], ...DEPLOYMENTS }] } }

const KINDS = [
  {
    plural: "mutatingadmissionpolicies",
    spec: { reinvocationPolicy: "Never", mutations, ...constraints },
    field: "reinvocationPolicy",
    values: ["IfNeeded", "Never"],
  },
  {
    plural: "mutatingadmissionpolicybindings",
    spec: { policyName: "replicalimit-policy.example.com" },
    field: "policyName",
    values: ["new-policy.example.com", "replicalimit-policy.example.com"],
  },
  {
    plural: "validatingadmissionpolicies",
    spec: { validations, ...constraints },
    field: "failurePolicy",
    values: ["Ignore", "Fail"],
    hasStatus: true,
  },
  {
    plural: "validatingadmissionpolicybindings",
    spec: { policyName: "replicalimit-policy.example.com", validationActions: ["Deny"] },
    field: "policyName",
    values: ["new-policy.example.com", "replicalimit-policy.example.com"],
  },
] as const

test.each([...KINDS])("the API of $plural supports every verb", async ({ plural, spec, field, values, ...rest }) => {
  const [patchedTo, updatedTo] = values
  const path = `${GROUP}/${plural}`
  // given that discovery lists it
  const { groups } = (await cluster.get("/apis")) as unknown as {
    groups: { name: string; versions: { version: string }[] }[]
  }
  const versions = groups.find(({ name }) => name === "admissionregistration.k8s.io")?.versions
  expect(versions?.map(({ version }) => version)).toContain("v1")
  expect((await cluster.get("/apis/admissionregistration.k8s.io"))["versions"]).toContainEqual({
    groupVersion: "admissionregistration.k8s.io/v1",
    version: "v1",
  })
  const resources = (await cluster.get(GROUP))["resources"] as readonly { readonly name: string }[]
  const names = resources.map(({ name }) => name)
  expect(names).toContain(plural)
  if ("hasStatus" in rest) expect(names).toContain(`${plural}/status`)

  // when three are created
  const label = `e2e=${plural}`
  const body = { metadata: { generateName: "e2e-example-", labels: { e2e: plural } }, spec }
  await cluster.post(path, body)
  await cluster.post(path, body)
  const created = await cluster.post(path, body)
  const own = `${path}/${created.metadata.name}`
  const selected = `${path}?labelSelector=${encodeURIComponent(label)}`
  // then one can be read, and all are listed
  const read = await cluster.get(own)
  expect(read.metadata.uid).toBe(created.metadata.uid)
  expect(Number(read.metadata.resourceVersion)).toBeGreaterThan(0)
  const list = await cluster.get(selected)
  expect(list.items).toHaveLength(3)

  // when it is patched and updated
  const watch = await cluster.watch(`${selected}&resourceVersion=${list.metadata.resourceVersion}`)
  const patched = await cluster.patch(own, "merge", {
    metadata: { annotations: { patched: "true" } },
    spec: { [field]: patchedTo },
  })
  // then the answers and the watch show the change
  expect(patched.metadata.annotations).toMatchObject({ patched: "true" })
  expect(patched.spec[field]).toBe(patchedTo)
  expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(read.metadata.resourceVersion))
  // A controller writes the result of the type check after each change, so the update is retried until its revision is
  // the newest.
  const settled = (): Promise<Loose> =>
    "hasStatus" in rest
      ? cluster.until(own, (object) => object?.status.observedGeneration === object?.metadata.generation)
      : cluster.get(own)
  const now = await settled()
  const updated = await cluster.put(own, {
    ...now,
    metadata: { ...now.metadata, annotations: { ...now.metadata.annotations, updated: "true" } },
    spec: { ...now.spec, [field]: updatedTo },
  })
  expect(updated.metadata.annotations).toMatchObject({ updated: "true" })
  expect(updated.spec[field]).toBe(updatedTo)
  const events = await watch.until((seen) =>
    seen.some(({ object }) => object.metadata.annotations?.["patched"] === "true"),
  )
  watch.close()
  expect(events.every(({ type }) => type === "MODIFIED")).toBe(true)
  await settled()
  if ("hasStatus" in rest) await statusIsWhole(own, created)

  // when one is deleted, and then all of them
  await cluster.delete(own)
  // then none is left
  expect((await cluster.send("GET", own)).code).toBe(404)
  expect((await cluster.get(selected)).items).toHaveLength(2)
  await cluster.delete(selected)
  expect((await cluster.get(selected)).items).toEqual([])
})

/** Reads, patches and updates the status subresource. */
async function statusIsWhole(path: string, created: Loose): Promise<void> {
  const status = await cluster.get(`${path}/status`)
  expect(status).toMatchObject({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { uid: created.metadata.uid },
  })
  const condition = (type: string) => ({
    type,
    status: "False",
    reason: "e2e",
    message: "Set from an e2e test",
    lastTransitionTime: "2024-01-01T00:00:00Z",
  })
  const patched = await cluster.patch(`${path}/status`, "merge", {
    status: { conditions: [condition("PatchStatusFailed")] },
  })
  expect(patched.status.conditions).toContainEqual(condition("PatchStatusFailed"))
  const { code, body } = await cluster.send("PUT", `${path}/status`, {
    body: { ...patched, status: { ...patched.status, conditions: [condition("UpdateStatusFailed")] } },
  })
  expect(code).toBe(200)
  expect(body.status.conditions).toContainEqual(condition("UpdateStatusFailed"))
}
