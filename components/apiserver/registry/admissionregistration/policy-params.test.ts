import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  ClusterRole,
  ClusterRoleBinding,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  startCluster,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  type ApiError,
  type Cluster,
  type TestClient,
} from "../../../cluster/testing/testing.ts"

/** Alice may write policies, and read one Secret by its name. */
const ALICE = "&{alice  [team system:authenticated] map[]}"
let cluster: Cluster
let alice: TestClient
beforeAll(async () => {
  cluster = await startCluster({ components: { controllers: false } })
  alice = cluster.as("alice", ["team"])
  await cluster.client.create(ClusterRole, {
    metadata: { name: "alice" },
    rules: [
      { apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"], verbs: ["get"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] },
    ],
  })
  await cluster.client.create(ClusterRoleBinding, {
    metadata: { name: "alice" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "alice" },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "alice" }],
  })
  for (const [name, paramKind] of Object.entries(KINDS))
    for (const [resource, spec] of [
      [ValidatingAdmissionPolicy, { ...CONSTRAINTS, validations: [{ expression: "true" }] }],
      [MutatingAdmissionPolicy, { ...CONSTRAINTS, ...MUTATION }],
    ] as const)
      await cluster.client.create(resource as never, { metadata: { name }, spec: { ...spec, paramKind } } as never)
})
afterAll(() => cluster.stop())

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const CONSTRAINTS = { matchConstraints: { resourceRules: [RULE] } }
const MUTATION = {
  reinvocationPolicy: "Never",
  mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
}
const KINDS: Readonly<Record<string, { readonly apiVersion: string; readonly kind: string } | undefined>> = {
  none: undefined,
  secrets: { apiVersion: "v1", kind: "Secret" },
  deployments: { apiVersion: "apps/v1", kind: "Deployment" },
  unknown: { apiVersion: "no.example.com/v1", kind: "Nothing" },
}

/** The words of the one cause; undefined where the write succeeds. */
const causeOf = (written: Promise<unknown>): Promise<string | undefined> =>
  written.then(
    () => undefined,
    ({ code, details }: ApiError) => {
      expect(code).toBe(422)
      const [cause] = details?.causes ?? []
      return `${cause?.field}: ${cause?.message}`
    },
  )

describe("a policy", () => {
  const lacksGet = (kind: string, apiVersion: string) =>
    `spec.paramKind: Forbidden: user ${ALICE} must have "get" permission on all objects of the referenced paramKind ` +
    `(kind=${kind}, apiVersion=${apiVersion})`
  const CASES = [
    { kind: "none", wants: undefined },
    { kind: "deployments", wants: undefined },
    { kind: "secrets", wants: lacksGet("Secret", "v1") },
    { kind: "unknown", wants: lacksGet("Nothing", "no.example.com/v1") },
  ]
  test.each(CASES)(
    "with parameters of kind $kind can be created only by users who may read all objects of the kind",
    async ({ kind, wants }) => {
      const spec = { ...CONSTRAINTS, validations: [{ expression: "true" }], paramKind: KINDS[kind] }
      const dryRun = { dryRun: true }
      expect(await causeOf(alice.create(ValidatingAdmissionPolicy, { metadata: { name: "new" }, spec }, dryRun))).toBe(
        wants,
      )
      const mutating = { ...CONSTRAINTS, ...MUTATION, paramKind: KINDS[kind] }
      expect(
        await causeOf(alice.create(MutatingAdmissionPolicy, { metadata: { name: "new" }, spec: mutating }, dryRun)),
      ).toBe(wants)
    },
  )

  test("can be changed by other users as long as its paramKind stays", async () => {
    const policy = await cluster.client.get(ValidatingAdmissionPolicy, { name: "secrets" })
    const labelled = { ...policy, metadata: { ...policy.metadata, labels: { a: "b" } } }
    expect(await causeOf(alice.update(ValidatingAdmissionPolicy, labelled, { dryRun: true }))).toBeUndefined()
    const moved = { ...policy, spec: { ...policy.spec, paramKind: { apiVersion: "v1", kind: "ConfigMap" } } }
    expect(await causeOf(alice.update(ValidatingAdmissionPolicy, moved, { dryRun: true }))).toBe(
      lacksGet("ConfigMap", "v1"),
    )
  })
})

describe("a binding", () => {
  const byName = (name: string) => ({ name, namespace: "default", parameterNotFoundAction: "Deny" })
  const all = { selector: {}, parameterNotFoundAction: "Deny" }
  const lacks = (verb: string) =>
    `and user ${ALICE} does not have "${verb}" permission for all groups, versions and resources`
  const CASES = [
    { policyName: "deployments", paramRef: byName("x"), wants: undefined },
    { policyName: "deployments", paramRef: all, wants: undefined },
    { policyName: "secrets", paramRef: undefined, wants: undefined },
    { policyName: "secrets", paramRef: byName("mine"), wants: undefined },
    {
      policyName: "secrets",
      paramRef: byName("other"),
      wants: `user ${ALICE} does not have "get" permission on the object referenced by paramRef`,
    },
    {
      policyName: "secrets",
      paramRef: all,
      wants: `user ${ALICE} does not have "list" permission on the object referenced by paramRef`,
    },
    {
      policyName: "missing",
      paramRef: byName("x"),
      wants: `unable to get policy missing to determine minimum required permissions ${lacks("get")}`,
    },
    {
      policyName: "unknown",
      paramRef: byName("x"),
      wants: `unable to resolve paramKind &{no.example.com/v1 Nothing} to determine minimum required permissions ${lacks("get")}`,
    },
  ]
  test.each(CASES)(
    "of the policy $policyName can be created only by users who may read its parameters (%#)",
    async (given) => {
      const { policyName, paramRef, wants } = given
      const cause = wants === undefined ? undefined : `spec.paramRef: Forbidden: ${wants}`
      const binding = { metadata: { name: "new" }, spec: { policyName, paramRef } }
      const validating = { ...binding, spec: { ...binding.spec, validationActions: ["Deny"] } }
      expect(await causeOf(alice.create(ValidatingAdmissionPolicyBinding, validating, { dryRun: true }))).toBe(cause)
      const isTaken =
        (await causeOf(alice.create(MutatingAdmissionPolicyBinding, binding, { dryRun: true }))) === undefined
      expect(isTaken).toBe(cause === undefined)
    },
  )
})
