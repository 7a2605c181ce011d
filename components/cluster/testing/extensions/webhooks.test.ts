import { describe, expect, test } from "bun:test"
import { metricsOf } from "../cluster.fixtures.ts"
import { Binding } from "../../../../pkg/api/core/v1/binding.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import {
  ConfigMap,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  ServiceAccount,
  startCluster,
  ValidatingWebhookConfiguration,
  type AdmissionRequest,
  type ApiError,
  type WebhookFunction,
} from "../testing.ts"

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
const webhook = (name: string, more: object = {}) => ({
  name: `${name}.example.com`,
  clientConfig: { service: { namespace: "hooks", name, path: "/ask" } },
  rules: [RULE],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...more,
})
const validating = (...webhooks: object[]) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "policy" },
  webhooks,
})
const mutating = (...webhooks: object[]) => ({ ...validating(...webhooks), kind: "MutatingWebhookConfiguration" })
const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
})

async function clusterWith(webhooks: Readonly<Record<string, WebhookFunction>>, configuration: object) {
  const cluster = await startCluster({ webhooks, components: { controllers: false } })
  await cluster.apply(configuration as never)
  return cluster
}
const failure = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.unreachable("the request was let through"),
    (err: unknown) => err as ApiError,
  )
const add = (path: string, value: unknown) => [{ op: "add", path, value }]

describe("a validating webhook", () => {
  test("is not called for requests that its matchConditions exclude, which are counted in metrics", async () => {
    let asked = 0
    const matchConditions = [{ name: "not-left-out", expression: "object.metadata.name != 'left-out'" }]
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": () => {
          asked++
          return { allowed: true }
        },
      },
      validating(webhook("policy", { matchConditions })),
    )
    // when
    for (const name of ["a", "left-out"]) await cluster.client.create(ConfigMap, configMap(name))
    // then
    expect(asked).toBe(1)
    const of = '{kind="webhook",name="policy.example.com",operation="CREATE",type="validating"}'
    const metrics = await metricsOf(cluster)
    expect(metrics).toContain(`apiserver_admission_match_condition_exclusions_total${of} 1`)
    expect(metrics).toContain(`apiserver_admission_match_condition_evaluation_seconds_count${of} 1`)
    expect(metrics).not.toContain("match_condition_evaluation_errors_total{")
  })

  test("is called with the whole AdmissionReview, and an object that it refuses is not stored", async () => {
    const asked: AdmissionRequest[] = []
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": (request) => {
          asked.push(request)
          return { allowed: false, status: { message: "no such names", code: 403, reason: "Forbidden" } }
        },
      },
      validating(webhook("policy")),
    )
    // when
    const refused = await failure(cluster.client.create(ConfigMap, configMap("bad", { a: "1" })))
    // then
    expect(refused.toStatus()).toMatchObject({
      code: 403,
      reason: "Forbidden",
      message: 'admission webhook "policy.example.com" denied the request: no such names',
    })
    expect(await cluster.find(ConfigMap, "bad")).toBeUndefined()
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      requestKind: { group: "", version: "v1", kind: "ConfigMap" },
      name: "bad",
      namespace: "default",
      operation: "CREATE",
      object: { metadata: { name: "bad" }, data: { a: "1" } },
      oldObject: null,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    })
  })

  test("is told no name by a deletion of a collection, and is not asked about the deletion of an evicted pod", async () => {
    // given
    const asked: AdmissionRequest[] = []
    const rules = [
      { operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps", "pods"] },
      { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction", "bindings"] },
    ]
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": (request) => {
          asked.push(request)
          return { allowed: true }
        },
      },
      validating(webhook("policy", { rules })),
    )
    const { client } = cluster
    for (const name of ["a", "b"]) await client.create(ConfigMap, configMap(name))
    await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const containers = [{ name: "c", image: "i" }]
    await client.create(Pod, { metadata: { name: "p", namespace: "default" }, spec: { containers } })
    // when
    await client.deleteCollection(ConfigMap, { namespace: "default" })
    const target = { kind: "Node", name: "n" }
    await client.create(Binding, { metadata: { name: "p", namespace: "default" }, target })
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" } }
    await client.createSubresource(Pod, { namespace: "default", name: "p" }, "eviction", eviction)
    // then
    expect(
      asked.map(({ operation, resource, subResource, name, namespace, object }) => [
        operation,
        [resource.resource, subResource],
        [name, namespace, (object as KubeObject | null)?.metadata.namespace],
      ]),
    ).toEqual([
      ["DELETE", ["configmaps", undefined], [undefined, "default", undefined]],
      ["DELETE", ["configmaps", undefined], [undefined, "default", undefined]],
      ["CREATE", ["bindings", undefined], ["p", "default", "default"]],
      ["CREATE", ["pods", "eviction"], ["p", "default", "default"]],
    ])
  })

  test("has conditions that find no option which was not given", async () => {
    await using cluster = await clusterWith(
      { "hooks/policy/ask": () => ({ allowed: true }) },
      validating(
        webhook("policy", { matchConditions: [{ name: "mine", expression: 'request.options.fieldManager == "x"' }] }),
      ),
    )
    const refused = await failure(cluster.client.create(ConfigMap, configMap("a")))
    expect(refused.message).toBe(
      'configmaps "a" is forbidden: expression \'request.options.fieldManager == "x"\' resulted in error: ' +
        "no such key: fieldManager",
    )
  })

  test("is told how long a deleted pod may take, once", async () => {
    // given a pod on a node
    const asked: unknown[] = []
    const rules = [{ operations: ["DELETE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }]
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": ({ options }) => {
          asked.push((options as { readonly gracePeriodSeconds?: number }).gracePeriodSeconds)
          return { allowed: true }
        },
      },
      validating(webhook("policy", { rules })),
    )
    const { client } = cluster
    await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const containers = [{ name: "c", image: "i" }]
    const metadata = { name: "p", namespace: "default" }
    await client.create(Pod, { metadata, spec: { containers, terminationGracePeriodSeconds: 40 } })
    await client.create(Binding, { metadata, target: { kind: "Node", name: "n" } })
    const given: (readonly unknown[])[] = []
    // when it is deleted, again, with a longer time, and with a shorter one
    for (const options of [{}, {}, { gracePeriodSeconds: 50 }, { gracePeriodSeconds: 10 }]) {
      const before = asked.length
      await client.delete(Pod, metadata, options)
      // A deletion that another write of the pod comes before is begun again, with its webhooks.
      given.push([...new Set(asked.slice(before))])
    }
    // then a deletion that changes nothing asks nobody
    expect(given).toEqual([[40], [], [], [10]])
  })

  test("allows a request, with its warnings", async () => {
    await using cluster = await clusterWith(
      { "hooks/policy/ask": () => ({ allowed: true, warnings: ["old style"] }) },
      validating(webhook("policy")),
    )
    expect((await cluster.client.create(ConfigMap, configMap("good"))).metadata.name).toBe("good")
  })

  const SCOPES: readonly { title: string; given: object; wants: readonly string[] }[] = [
    { title: "the operations of a rule", given: { rules: [{ ...RULE, operations: ["UPDATE"] }] }, wants: [] },
    { title: "the groups of a rule", given: { rules: [{ ...RULE, apiGroups: ["apps"] }] }, wants: [] },
    { title: "every resource with *", given: { rules: [{ ...RULE, resources: ["*"] }] }, wants: ["labelled", "plain"] },
    { title: "the scope of a rule", given: { rules: [{ ...RULE, scope: "Cluster" }] }, wants: [] },
    { title: "an objectSelector", given: { objectSelector: { matchLabels: { a: "b" } } }, wants: ["labelled"] },
    {
      title: "a namespaceSelector",
      given: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } } },
      wants: [],
    },
    {
      title: "a selector for the name of a namespace",
      given: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } } },
      wants: ["labelled", "plain"],
    },
  ]
  test.each(SCOPES)("is called only for requests that match $title", async ({ given, wants }) => {
    const asked: string[] = []
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": ({ name = "" }) => {
          asked.push(name)
          return true
        },
      },
      validating(webhook("policy", given)),
    )
    // when
    const labelled = configMap("labelled")
    await cluster.client.create(ConfigMap, { ...labelled, metadata: { ...labelled.metadata, labels: { a: "b" } } })
    await cluster.client.create(ConfigMap, configMap("plain"))
    // then
    expect(asked).toEqual([...wants])
  })

  test("that fails is handled by failurePolicy, and one that does not answer fails after its timeout", async () => {
    const silent: WebhookFunction = () => new Promise(() => {})
    const broken: WebhookFunction = () => {
      throw new Error("out of order")
    }
    const cases: readonly { given: object; at: WebhookFunction; wants: string | undefined }[] = [
      {
        given: { failurePolicy: "Fail" },
        at: broken,
        wants:
          'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post ' +
          '"https://policy.hooks.svc:443/ask?timeout=10s": out of order',
      },
      { given: { failurePolicy: "Ignore" }, at: broken, wants: undefined },
      {
        given: { timeoutSeconds: 3 },
        at: silent,
        wants:
          'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post ' +
          '"https://policy.hooks.svc:443/ask?timeout=3s": context deadline exceeded',
      },
      { given: { timeoutSeconds: 3, failurePolicy: "Ignore" }, at: silent, wants: undefined },
    ]
    for (const { given, at, wants } of cases) {
      await using cluster = await clusterWith({ "hooks/policy/ask": at }, validating(webhook("policy", given)))
      const began = cluster.now.getTime()
      // when
      const outcome = await cluster.client.create(ConfigMap, configMap("a")).then(
        () => undefined,
        (err: ApiError) => err.message,
      )
      // then
      expect(outcome).toBe(wants)
      expect(cluster.now.getTime() - began).toBe(at === silent ? 3000 : 0)
    }
  })

  test("is called for a deletion with the old object, and never for webhook configurations", async () => {
    const asked: AdmissionRequest[] = []
    await using cluster = await clusterWith(
      {
        "hooks/policy/ask": (request) => {
          asked.push(request)
          return false
        },
      },
      validating(
        webhook("policy", {
          rules: [{ operations: ["DELETE"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
        }),
      ),
    )
    await cluster.client.create(ConfigMap, configMap("a"))
    // when
    const refused = await failure(cluster.client.delete(ConfigMap, { namespace: "default", name: "a" }))
    await cluster.client.delete(ValidatingWebhookConfiguration, { name: "policy" })
    // then
    expect(refused.message).toBe('admission webhook "policy.example.com" denied the request without explanation')
    expect(refused.code).toBe(400)
    expect(asked.map(({ operation, object, oldObject }) => [operation, object, oldObject])).toMatchObject([
      ["DELETE", null, { metadata: { name: "a" } }],
    ])
  })

  test("that has side effects makes a dry run fail", async () => {
    await using cluster = await clusterWith({ "hooks/policy/ask": () => true }, validating(webhook("policy")))
    await cluster.client.create(ConfigMap, configMap("a"), { dryRun: true })
    expect(await cluster.find(ConfigMap, "a")).toBeUndefined()
  })
})

describe("mutating webhooks", () => {
  test("change the object one after the other, and defaults are set afterwards", async () => {
    await using cluster = await clusterWith(
      {
        "hooks/first/ask": () => ({ allowed: true, patch: add("/data/first", "1") }),
        "hooks/second/ask": ({ object }) => ({
          allowed: true,
          patch: add("/data/second", Object.keys((object as ConfigMap).data ?? {}).join()),
        }),
      },
      mutating(webhook("first"), webhook("second")),
    )
    const { data } = await cluster.client.create(ConfigMap, configMap("a", { own: "0" }))
    expect(data).toEqual({ own: "0", first: "1", second: "own,first" })
  })

  test("are called again when other webhooks changed the object after them, if reinvocationPolicy says so", async () => {
    const asked: string[] = []
    const seen =
      (name: string, answer: WebhookFunction): WebhookFunction =>
      (request) => {
        asked.push(name)
        return answer(request)
      }
    await using cluster = await clusterWith(
      {
        "hooks/again/ask": seen("again", () => true),
        "hooks/never/ask": seen("never", () => true),
        "hooks/change/ask": seen("change", () => ({ allowed: true, patch: add("/data", { b: "2" }) })),
      },
      mutating(webhook("again", { reinvocationPolicy: "IfNeeded" }), webhook("never"), webhook("change")),
    )
    const { data } = await cluster.client.create(ConfigMap, configMap("a", { a: "1" }))
    expect(data).toEqual({ b: "2" })
    expect(asked).toEqual(["again", "never", "change", "again"])
  })

  test("fail with InternalError for a patch that cannot be applied or has an unknown type", async () => {
    await using cluster = await clusterWith(
      { "hooks/first/ask": () => ({ allowed: true, patch: [{ op: "remove", path: "/nothing/here" }] }) },
      mutating(webhook("first")),
    )
    const refused = await failure(cluster.client.create(ConfigMap, configMap("a")))
    expect([refused.code, refused.reason, refused.message]).toEqual([
      500,
      "InternalError",
      'Internal error occurred: remove operation does not apply: doc is missing path: "/nothing/here": missing value',
    ])
  })

  test("match the update of a Namespace by the labels that it will have", async () => {
    const asked: (string | undefined)[] = []
    await using cluster = await clusterWith(
      {
        "hooks/first/ask": ({ namespace }) => {
          asked.push(namespace)
          return true
        },
      },
      mutating(
        webhook("first", {
          rules: [{ ...RULE, resources: ["namespaces"] }],
          namespaceSelector: { matchLabels: { team: "a" } },
        }),
      ),
    )
    await cluster.client.create(Namespace, { metadata: { name: "a", labels: { team: "a" } } })
    await cluster.client.create(Namespace, { metadata: { name: "b", labels: { team: "b" } } })
    expect(asked).toEqual(["a"])
  })

  test("are not called any more after their configuration is deleted", async () => {
    await using cluster = await clusterWith({ "hooks/first/ask": () => false }, mutating(webhook("first")))
    await failure(cluster.client.create(ConfigMap, configMap("a")))
    await cluster.client.delete(MutatingWebhookConfiguration, { name: "policy" })
    expect((await cluster.client.create(ConfigMap, configMap("a"))).metadata.name).toBe("a")
  })
})
