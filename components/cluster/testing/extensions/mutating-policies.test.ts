import { describe, expect, test } from "bun:test"
import { metricsOf } from "../cluster.fixtures.ts"
import { ConfigMap, Deployment, Namespace, startCluster, type ApiError, type WebhookFunction } from "../testing.ts"

const RULE = { operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const REGISTRATION = "admissionregistration.k8s.io/v1"

/** A policy of this name that makes one change, bound everywhere. */
const policy = (name: string, expression: string, more: object = {}) => [
  {
    apiVersion: REGISTRATION,
    kind: "MutatingAdmissionPolicy",
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [RULE] },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
      ...more,
    },
  },
  {
    apiVersion: REGISTRATION,
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name },
    spec: { policyName: name },
  },
]
/** A mutation that puts a letter behind the others in `data.trace`. */
const traced = (letter: string) => `Object{data: {"trace": object.data.?trace.orValue("") + "${letter}"}}`

const webhook = (name: string, reinvocationPolicy: string) => ({
  apiVersion: REGISTRATION,
  kind: "MutatingWebhookConfiguration",
  metadata: { name },
  webhooks: [
    {
      name: `${name}.example.com`,
      clientConfig: { service: { namespace: "hooks", name, path: "/ask" } },
      rules: [RULE],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      reinvocationPolicy,
    },
  ],
})
const tracing =
  (letter: string): WebhookFunction =>
  ({ object }) => {
    const { data } = object as { readonly data?: Readonly<Record<string, string>> }
    return { allowed: true, patch: [{ op: "add", path: "/data/trace", value: `${data?.["trace"] ?? ""}${letter}` }] }
  }

async function clusterWith(objects: readonly object[], webhooks: Readonly<Record<string, WebhookFunction>> = {}) {
  const cluster = await startCluster({ webhooks, components: { controllers: false } })
  await cluster.apply(objects as never)
  return cluster
}
const configMap = (name: string, data: Readonly<Record<string, string>> = { a: "1" }) => ({
  metadata: { name, namespace: "default" },
  data,
})

describe("MutatingAdmissionPolicies", () => {
  const ORDERS: readonly {
    title: string
    objects: readonly object[]
    webhooks?: Readonly<Record<string, WebhookFunction>>
    wants: string
  }[] = [
    {
      title: "change an object one after the other, in the order of their names",
      objects: [...policy("b", traced("b")), ...policy("a", traced("a"))],
      wants: "ab",
    },
    {
      title: "come before webhooks",
      objects: [webhook("hook", "Never"), ...policy("a", traced("a"))],
      webhooks: { "hooks/hook/ask": tracing("W") },
      wants: "aW",
    },
    {
      title: "run again after a webhook has changed the object, if reinvocationPolicy says so",
      objects: [
        webhook("hook", "Never"),
        ...policy("a", traced("a"), { reinvocationPolicy: "IfNeeded" }),
        ...policy("b", traced("b")),
      ],
      webhooks: { "hooks/hook/ask": tracing("W") },
      wants: "abWa",
    },
    {
      title: "make webhooks with reinvocationPolicy IfNeeded run again when they changed the object after them",
      objects: [webhook("hook", "IfNeeded"), ...policy("a", traced("a"), { reinvocationPolicy: "IfNeeded" })],
      webhooks: { "hooks/hook/ask": tracing("W") },
      wants: "aWaW",
    },
    {
      title: "run again after another policy has changed the object, if reinvocationPolicy says so",
      objects: [...policy("a", traced("a"), { reinvocationPolicy: "IfNeeded" }), ...policy("b", traced("b"))],
      wants: "aba",
    },
  ]
  test.each([...ORDERS])("$title", async ({ objects, webhooks, wants }) => {
    await using cluster = await clusterWith(objects, webhooks)
    const { data } = await cluster.client.create(ConfigMap, configMap("x"))
    expect(data).toEqual({ a: "1", trace: wants })
  })

  test("cannot move an object to another namespace", async () => {
    await using cluster = await clusterWith(policy("away", `Object{metadata: Object.metadata{namespace: "other"}}`))
    await cluster.client.create(Namespace, { metadata: { name: "other" } })
    const refused = await cluster.client.create(ConfigMap, configMap("x")).catch((err: unknown) => err as ApiError)
    expect([(refused as ApiError).code, (refused as ApiError).reason]).toEqual([400, "BadRequest"])
    expect((await cluster.client.list(ConfigMap, { namespace: "other" })).items).toEqual([])
  })

  test("do not apply to policies and their bindings", async () => {
    const all = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }
    await using cluster = await clusterWith(
      policy("all", `Object{metadata: Object.metadata{labels: {"made": "yes"}}}`, {
        matchConstraints: { resourceRules: [all] },
      }),
    )
    const [, binding] = await cluster.apply(policy("another", "Object{}") as never)
    expect(binding?.metadata.labels).toBeUndefined()
    expect((await cluster.client.create(ConfigMap, configMap("x"))).metadata.labels).toEqual({ made: "yes" })
  })

  test("can change the bodies of subresources by a JSON patch, not by an apply configuration", async () => {
    const scales = { operations: ["*"], apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments/scale"] }
    const constraints = { matchConstraints: { resourceRules: [scales] } }
    await using cluster = await clusterWith([])
    await cluster.client.create(Deployment, {
      metadata: { name: "web", namespace: "default" },
      spec: {
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "web", image: "web" }] },
        },
      },
    })
    const scale = () =>
      cluster.client
        .updateSubresource<{ readonly spec: { readonly replicas: number } }>(
          Deployment,
          { name: "web", namespace: "default" },
          "scale",
          {
            apiVersion: "autoscaling/v1",
            kind: "Scale",
            metadata: { name: "web", namespace: "default" },
            spec: { replicas: 3 },
          },
        )
        .then(
          ({ spec }) => spec.replicas,
          (err: ApiError) => err.message,
        )
    await cluster.apply(policy("merging", "Object{spec: Object.spec{replicas: 7}}", constraints) as never)
    expect(await scale()).toBe(
      "policy 'merging' with binding 'merging' denied request: error applying patch: failed to convert patch object " +
        "to typed object: no corresponding type for autoscaling/v1, Kind=Scale",
    )
    const jsonPatch = { expression: `[JSONPatch{op: "replace", path: "/spec/replicas", value: 7}]` }
    const mutations = [{ patchType: "JSONPatch", jsonPatch }]
    await cluster.apply(policy("merging", "", { ...constraints, mutations }) as never)
    expect(await scale()).toBe(7)
  })

  test("are counted in metrics, with the failed ones", async () => {
    await using cluster = await clusterWith([
      ...policy("good", traced("a")),
      ...policy("bad", "Object{nothing: 1}", { failurePolicy: "Ignore" }),
    ])
    await cluster.client.create(ConfigMap, configMap("x"))
    const metrics = await metricsOf(cluster)
    const counted = (policy: string, error: string) =>
      `apiserver_mutating_admission_policy_check_total{error_type="${error}",policy="${policy}",policy_binding="${policy}"} 1`
    expect(metrics).toContain(counted("good", "no_error"))
    expect(metrics).toContain(counted("bad", "invalid_error"))
  })
})

test("a cluster with definitions, policies and webhooks has the same history with the same seed, byte for byte", async () => {
  const gadgets = { ...RULE, apiGroups: ["example.com"], resources: ["gadgets"] }
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Gadget", plural: "gadgets" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: open } }],
    },
  }
  const checks = [
    {
      apiVersion: REGISTRATION,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "checks" },
      spec: {
        matchConstraints: { resourceRules: [RULE, gadgets] },
        validations: [{ expression: "object.metadata.name != 'refused'", messageExpression: "'not ' + request.name" }],
      },
    },
    {
      apiVersion: REGISTRATION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "checks" },
      spec: { policyName: "checks", validationActions: ["Deny"] },
    },
  ]
  const gadget = (name: string) => ({
    apiVersion: "example.com/v1",
    kind: "Gadget",
    metadata: { name, namespace: "default" },
  })
  const run = async (): Promise<string> => {
    await using cluster = await startCluster({
      seed: 11,
      nodes: 1,
      webhooks: { "hooks/hook/ask": ({ uid }) => ({ allowed: true, patch: addAnnotation(uid) }) },
    })
    await cluster.apply([definition] as never)
    await cluster.apply([
      ...checks,
      webhook("hook", "Never"),
      ...policy("trace", traced("a"), { reinvocationPolicy: "IfNeeded" }),
      ...policy("label", `Object{metadata: Object.metadata{labels: {"by": request.operation}}}`, {
        matchConstraints: { resourceRules: [gadgets] },
      }),
    ] as never)
    await cluster.client.create(ConfigMap, configMap("x"))
    const refused = await cluster.client.create(ConfigMap, configMap("refused")).catch((err: ApiError) => err.message)
    expect(refused).toContain("not refused")
    await cluster.apply([gadget("one"), gadget("two")] as never)
    await cluster.advance("10m")
    return JSON.stringify(cluster.history())
  }
  const first = await run()
  expect(first).toContain('"by":"')
  expect(await run()).toBe(first)
})

/** The uid of a review is chance that must come from the seed. */
const addAnnotation = (uid: string) => [{ op: "add", path: "/metadata/annotations", value: { asked: uid } }]
