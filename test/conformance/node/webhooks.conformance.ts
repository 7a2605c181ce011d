/**
 * Webhooks of admission and conversion that run in a pod behind a Service. After test/e2e/apimachinery/webhook.go and
 * crd_conversion_webhook.go.
 */
import { expect } from "bun:test"
import type { Answer, ConformanceCluster, Loose } from "../cluster.ts"
import { condition } from "../workload-cluster.ts"
import { withKubectl } from "./kubectl.ts"
import { TestNamespace, until } from "./namespace.ts"
import { serverCertificate } from "./programs/certificates.ts"
import { program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const GROUP = "/apis/admissionregistration.k8s.io/v1"
type Kind = "validating" | "mutating"
const pathOf = (kind: Kind) => `${GROUP}/${kind}webhookconfigurations`

interface Server {
  readonly namespace: string
  readonly caBundle: string
}
const servers = new WeakMap<ConformanceCluster, Promise<Server>>()

/** The webhook's pod and Service, which all stand-ins of a server share. */
function serverOf(cluster: ConformanceCluster): Promise<Server> {
  const started = servers.get(cluster) ?? startWebhook(cluster)
  servers.set(cluster, started)
  return started
}

async function startWebhook(cluster: ConformanceCluster): Promise<Server> {
  const ns = await TestNamespace.make(cluster, "e2e-webhook")
  const { certPem, keyPem, caPem } = serverCertificate("e2e-test-webhook.e2e-webhook.svc")
  await ns.create("secrets", "tls", {
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": certPem, "tls.key": keyPem },
  })
  await ns.create("services", "e2e-test-webhook", {
    spec: { selector: { app: "webhook" }, ports: [{ port: 8443, targetPort: 8443 }] },
  })
  const container = program("webhook.ts")
  await ns.runPod("webhook", {
    metadata: { labels: { app: "webhook" } },
    volumes: [...programVolumes, { name: "tls", secret: { secretName: "tls" } }],
    containers: [
      {
        ...container,
        volumeMounts: [...container.volumeMounts!, { name: "tls", mountPath: "/tls", readOnly: true }],
        readinessProbe: { httpGet: { scheme: "HTTPS", path: "/readyz", port: 8443 }, periodSeconds: 1 },
      },
    ],
  })
  const caBundle = Buffer.from(caPem).toString("base64")
  const webhook = { namespace: ns.name, caBundle }
  // The first call may come before kube-proxy knows the Service.
  const path = `${ns.path}/services/https:e2e-test-webhook:8443/proxy/readyz`
  await until(
    "the webhook",
    () => cluster.send("GET", path),
    ({ code }) => code === 200,
  )
  return webhook
}

interface Hook {
  readonly name: string
  readonly path: string
  readonly operations?: readonly string[]
  readonly group?: string
  readonly versions?: readonly string[]
  readonly resources: readonly string[]
  readonly more?: object
}
async function hooksOf(ns: TestNamespace, hooks: readonly Hook[]): Promise<readonly object[]> {
  const { namespace, caBundle } = await serverOf(ns.cluster)
  return hooks.map(({ name, path, operations = ["CREATE"], group = "", versions = ["v1"], resources, more = {} }) => ({
    name: `${name}.k8s.io`,
    rules: [{ operations, apiGroups: [group], apiVersions: versions, resources }],
    clientConfig: { service: { namespace, name: "e2e-test-webhook", path, port: 8443 }, caBundle },
    sideEffects: "None",
    admissionReviewVersions: ["v1", "v1beta1"],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": ns.name } },
    ...more,
  }))
}
/** Registers webhooks for one namespace while the body runs. */
async function withHooks(
  ns: TestNamespace,
  kind: Kind,
  hooks: readonly Hook[],
  body: (configuration: Loose) => Promise<void>,
): Promise<void> {
  const webhooks = await hooksOf(ns, hooks)
  const made = await ns.cluster.post(pathOf(kind), { metadata: { name: ns.name }, webhooks })
  try {
    await body(made)
  } finally {
    await ns.cluster.send("DELETE", `${pathOf(kind)}/${ns.name}`)
  }
}
const post = (ns: TestNamespace, plural: string, body: object): Promise<Answer> =>
  ns.cluster.send("POST", `${ns.path}/${plural}`, { body })
const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({ metadata: { name }, data })
const unwanted = { "webhook-e2e-test": "webhook-disallow" }
const started = { "mutation-start": "yes" }
const expectDenied = ({ code, body }: Answer, message: string) => {
  expect(code).toBeGreaterThanOrEqual(400)
  expect(body.message).toContain(message)
  expect(body.message).toContain("denied the request")
}

const denyConfigMaps: Hook = {
  name: "deny-unwanted-configmap-data",
  path: "/configmaps",
  operations: ["CREATE", "UPDATE", "DELETE"],
  resources: ["configmaps"],
}
const mutateConfigMaps = (stage: number): Hook => ({
  name: `adding-configmap-data-stage-${stage}`,
  path: "/mutating-configmaps",
  resources: ["configmaps"],
})
/** A webhook that nobody can ask: its certificate is not believed. */
const unreachable = (name: string, failurePolicy: string, more: object = {}): Hook => ({
  name,
  path: "/configmaps",
  resources: ["configmaps"],
  more: { failurePolicy, ...more },
})

/** Whether a ConfigMap with unwanted data is let in; it is removed again. */
async function letsIn(ns: TestNamespace): Promise<boolean> {
  const { code, body } = await post(ns, "configmaps", configMap("probe", unwanted))
  if (code !== 201) {
    expect(body.message).toContain("denied")
    return false
  }
  await ns.cluster.delete(`${ns.path}/configmaps/probe`)
  return true
}
async function mutates(ns: TestNamespace): Promise<boolean> {
  const made = await ns.cluster.post(`${ns.path}/configmaps`, configMap("probe", started))
  await ns.cluster.delete(`${ns.path}/configmaps/probe`)
  return made.data?.["mutation-stage-1"] === "yes"
}
const untilIt = (what: string, is: () => Promise<boolean>, wanted: boolean) =>
  until(what, is, (found) => found === wanted)

/** A definition with a free-form `data`, for one stand-in; its resources' path. */
async function withDefinition(
  ns: TestNamespace,
  versions: readonly { readonly name: string; readonly storage: boolean; readonly schema?: object }[],
  body: (group: string, path: (version: string) => string, definition: string) => Promise<void>,
  spec: object = {},
): Promise<void> {
  const group = `${ns.name}.example.com`
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
  const name = `e2e-test-crds.${group}`
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  await ns.cluster.post(definitions, {
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "e2e-test-crds", singular: "e2e-test-crd", kind: "E2eTestCrd", listKind: "E2eTestCrdList" },
      versions: versions.map(({ schema = open, ...version }) => ({
        ...version,
        served: true,
        schema: { openAPIV3Schema: schema },
      })),
      ...spec,
    },
  })
  await ns.cluster.until(`${definitions}/${name}`, (found) => condition(found, "Established")?.status === "True")
  try {
    await body(group, (version) => `${ns.at(`${group}/${version}`)}/e2e-test-crds`, `${definitions}/${name}`)
  } finally {
    await ns.cluster.send("DELETE", `${definitions}/${name}`)
  }
}
const custom = (group: string, name: string, data: object, version = "v1") => ({
  apiVersion: `${group}/${version}`,
  kind: "E2eTestCrd",
  metadata: { name },
  ...data,
})

describeStandIns(
  "webhooks",
  (standIn, alone) => {
    standIn("AdmissionWebhook should include webhook resources in discovery documents", async ({ cluster }) => {
      const { groups } = (await cluster.get("/apis")) as unknown as { groups: { name: string; versions: object[] }[] }
      const wanted = { groupVersion: "admissionregistration.k8s.io/v1", version: "v1" }
      expect(groups.find(({ name }) => name === "admissionregistration.k8s.io")?.versions).toContainEqual(wanted)
      const group = (await cluster.get("/apis/admissionregistration.k8s.io")) as unknown as { versions: object[] }
      expect(group.versions).toContainEqual(wanted)
      const list = (await cluster.get(GROUP)) as unknown as { groupVersion: string; resources: { name: string }[] }
      expect(list.groupVersion).toBe("admissionregistration.k8s.io/v1")
      expect(list.resources.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]),
      )
    })

    standIn("AdmissionWebhook should be able to deny pod and configmap creation", (ns) =>
      withHooks(
        ns,
        "validating",
        [
          { name: "deny-unwanted-pod-container-name-and-label", path: "/pods", resources: ["pods"] },
          denyConfigMaps,
          unreachable("fail-open", "Ignore", { clientConfig: { url: "https://127.0.0.1:1/configmaps" } }),
        ],
        async () => {
          const pod = (name: string, label: string) =>
            ns.podOf(name, { metadata: { labels: { "webhook-e2e-test": label } }, containers: [{ name: label }] })
          const denied = await post(ns, "pods", pod("disallowed-pod", "webhook-disallow"))
          expectDenied(denied, "the pod contains unwanted container name")
          expectDenied(denied, "the pod contains unwanted label")
          const hanging = await post(ns, "pods", pod("hanging-pod", "wait-forever"))
          expect([hanging.code, hanging.body.message]).toEqual([500, expect.stringContaining("webhook")])
          expect(hanging.body.message).toContain("deadline")
          expect((await ns.cluster.send("GET", `${ns.path}/pods/hanging-pod`)).code).toBe(404)

          const words = "the configmap contains unwanted key and value"
          expectDenied(await post(ns, "configmaps", configMap("disallowed", unwanted)), words)
          const allowed = await ns.cluster.post(`${ns.path}/configmaps`, configMap("allowed", { admit: "this" }))
          const path = `${ns.path}/configmaps/allowed`
          expectDenied(await ns.cluster.send("PUT", path, { body: { ...allowed, data: unwanted } }), words)
          expectDenied(
            await ns.cluster.send("PATCH", path, {
              body: { data: unwanted },
              type: "application/strategic-merge-patch+json",
            }),
            words,
          )
          const skipped = `${ns.name}-skipped`
          await ns.cluster.post("/api/v1/namespaces", { metadata: { name: skipped } })
          await ns.cluster.post(`/api/v1/namespaces/${skipped}/configmaps`, configMap("disallowed", unwanted))
          await ns.cluster.delete(`/api/v1/namespaces/${skipped}`)
        },
      ),
    )

    standIn("AdmissionWebhook should be able to deny attaching pod", (ns) =>
      withHooks(
        ns,
        "validating",
        [{ name: "deny-attaching-pod", path: "/pods/attach", operations: ["CONNECT"], resources: ["pods/attach"] }],
        async () => {
          await ns.runPod("to-be-attached-pod")
          const { code, err } = await withKubectl(ns, (kubectl) =>
            kubectl.run(["attach", "-n", ns.name, "to-be-attached-pod", "-i", "-c=c"]),
          )
          expect(code).not.toBe(0)
          expect(err).toContain("attaching to pod 'to-be-attached-pod' is not allowed")
        },
      ),
    )

    standIn("AdmissionWebhook should be able to deny custom resource creation, update and deletion", (ns) =>
      withDefinition(ns, [{ name: "v1", storage: true }], (group, path) =>
        withHooks(
          ns,
          "validating",
          [
            {
              name: "deny-unwanted-custom-resource-data",
              path: "/custom-resource",
              operations: ["CREATE", "UPDATE", "DELETE"],
              group,
              resources: ["e2e-test-crds"],
            },
          ],
          async () => {
            const words = "the custom resource contains unwanted data"
            const object = (data: object) => custom(group, "instance", { data })
            expectDenied(await ns.cluster.send("POST", path("v1"), { body: object(unwanted) }), words)
            const made = await ns.cluster.post(path("v1"), object({ "webhook-e2e-test": "webhook-nondeletable" }))
            const one = `${path("v1")}/instance`
            expectDenied(await ns.cluster.send("PUT", one, { body: { ...made, data: unwanted } }), words)
            expectDenied(
              await ns.cluster.send("DELETE", one),
              "the custom resource cannot be deleted because it contains unwanted key and value",
            )
            await ns.cluster.put(one, { ...made, data: { "webhook-e2e-test": "webhook-allow" } })
            await ns.cluster.delete(one)
          },
        ),
      ),
    )

    standIn("AdmissionWebhook should unconditionally reject operations on fail closed webhook", (ns) =>
      withHooks(
        ns,
        "validating",
        [unreachable("fail-closed", "Fail", { clientConfig: { service: { namespace: ns.name, name: "nobody" } } })],
        async () => {
          const { code, body } = await post(ns, "configmaps", configMap("foo"))
          expect([code, body.reason]).toEqual([500, "InternalError"])
        },
      ),
    )

    standIn("AdmissionWebhook should mutate configmap", (ns) =>
      withHooks(ns, "mutating", [mutateConfigMaps(1), mutateConfigMaps(2)], async () => {
        const made = await ns.cluster.post(`${ns.path}/configmaps`, configMap("to-be-mutated", started))
        expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes" })
      }),
    )

    standIn("AdmissionWebhook should mutate pod and apply defaults after mutation", (ns) =>
      withHooks(
        ns,
        "mutating",
        [{ name: "adding-init-container", path: "/mutating-pods", resources: ["pods"] }],
        async () => {
          const made = await ns.createPod("webhook-to-be-mutated")
          expect(made.spec["initContainers"]).toMatchObject([
            { name: "webhook-added-init-container", terminationMessagePolicy: "File" },
          ])
        },
      ),
    )

    alone(
      "AdmissionWebhook should not be able to mutate or prevent deletion of webhook configuration objects",
      async (ns) => {
        const ours = { namespaceSelector: {}, failurePolicy: "Fail" }
        const rule = {
          group: "admissionregistration.k8s.io",
          versions: ["*"],
          resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
        }
        const deny = { name: "deny-webhook-configuration-deletions", path: "/always-deny", operations: ["DELETE"] }
        const label = { name: "add-label-to-webhook-configurations", path: "/add-label", operations: ["CREATE"] }
        await withHooks(ns, "validating", [{ ...deny, ...rule, more: ours }], () =>
          withHooks(ns, "mutating", [{ ...label, ...rule, more: ours }], async () => {
            for (const kind of ["validating", "mutating"] as const) {
              const [hook] = await hooksOf(ns, [{ name: "dummy", path: "", resources: ["invalid"] }])
              const name = `${ns.name}-dummy`
              const made = await ns.cluster.post(pathOf(kind), { metadata: { name }, webhooks: [hook] })
              expect(made.metadata.labels).toBeUndefined()
              await ns.cluster.delete(`${pathOf(kind)}/${name}`)
              expect((await ns.cluster.send("GET", `${pathOf(kind)}/${name}`)).code).toBe(404)
            }
          }),
        )
      },
    )

    const mutateCustom = (group: string, versions = ["v1"]): readonly Hook[] =>
      [1, 2].map((stage) => ({
        name: `mutate-custom-resource-data-stage-${stage}`,
        path: "/mutating-custom-resource",
        operations: ["CREATE", "UPDATE"],
        group,
        versions,
        resources: ["e2e-test-crds"],
      }))

    standIn("AdmissionWebhook should mutate custom resource", (ns) =>
      withDefinition(ns, [{ name: "v1", storage: true }], (group, path) =>
        withHooks(ns, "mutating", mutateCustom(group), async () => {
          const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
          expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes" })
        }),
      ),
    )

    const pruned = {
      type: "object",
      properties: {
        data: {
          type: "object",
          properties: { "mutation-start": { type: "string" }, "mutation-stage-1": { type: "string" } },
        },
      },
    }
    standIn("AdmissionWebhook should mutate custom resource with pruning", (ns) =>
      withDefinition(
        ns,
        [
          { name: "v1", storage: true, schema: pruned },
          { name: "v2", storage: false, schema: pruned },
        ],
        (group, path) =>
          withHooks(ns, "mutating", mutateCustom(group), async () => {
            const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
            expect(made.data).toEqual({ ...started, "mutation-stage-1": "yes" })
          }),
      ),
    )

    standIn("AdmissionWebhook should mutate custom resource with different stored version", (ns) =>
      withDefinition(
        ns,
        [
          { name: "v1", storage: true },
          { name: "v2", storage: false },
        ],
        (group, path, definition) =>
          withHooks(ns, "mutating", mutateCustom(group), async () => {
            const made = await ns.cluster.post(path("v1"), custom(group, "mutated", { data: started }))
            expect(made.data).toMatchObject(started)
            await ns.cluster.patch(definition, "json", [
              { op: "test", path: "/spec/versions/0/name", value: "v1" },
              { op: "replace", path: "/spec/versions/0/storage", value: false },
              { op: "test", path: "/spec/versions/1/name", value: "v2" },
              { op: "replace", path: "/spec/versions/1/storage", value: true },
            ])
            const patched = await ns.cluster.patch(`${path("v2")}/mutated`, "merge", { data: { dummy: "test" } })
            const all = { ...started, "mutation-stage-1": "yes", "mutation-stage-2": "yes", dummy: "test" }
            expect(patched.data).toEqual(all)
            // and by the old version, which the webhook is asked in as the rule says
            const again = await ns.cluster.patch(`${path("v1")}/mutated`, "merge", { data: { dummy: "test2" } })
            expect(again.data).toEqual({ ...all, dummy: "test2" })
          }),
      ),
    )

    standIn("AdmissionWebhook should deny crd creation", async (ns) => {
      const labels = { "webhook-e2e-test": "webhook-disallow", ns: ns.name }
      const more = { namespaceSelector: {}, objectSelector: { matchLabels: { ns: ns.name } } }
      const hook = {
        name: "deny-crd-with-unwanted-label",
        path: "/crd",
        group: "apiextensions.k8s.io",
        versions: ["*"],
      }
      await withHooks(ns, "validating", [{ ...hook, resources: ["customresourcedefinitions"], more }], async () => {
        const group = `${ns.name}.example.com`
        expectDenied(
          await ns.cluster.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
            body: {
              metadata: { name: `denieds.${group}`, labels },
              spec: {
                group,
                scope: "Namespaced",
                names: { plural: "denieds", kind: "Denied" },
                versions: [
                  {
                    name: "v1",
                    served: true,
                    storage: true,
                    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
                  },
                ],
              },
            },
          }),
          "the crd contains unwanted label",
        )
      })
    })

    standIn("AdmissionWebhook should honor timeout", async (ns) => {
      const create = async (name: string, more: object) => {
        const hook = { name: "allow-configmap-with-delay-webhook", path: "/always-allow-delay-5s" }
        let answer: Answer | undefined
        await withHooks(ns, "validating", [{ ...hook, resources: ["configmaps"], more }], async () => {
          answer = await post(ns, "configmaps", configMap(name))
        })
        return answer!
      }
      const early = await create("early", { timeoutSeconds: 1, failurePolicy: "Fail" })
      expect(early.code).toBe(500)
      expect(early.body.message).toContain("context deadline exceeded")
      expect((await create("ignored", { timeoutSeconds: 1, failurePolicy: "Ignore" })).code).toBe(201)
      expect((await create("longer", { timeoutSeconds: 10, failurePolicy: "Fail" })).code).toBe(201)
      expect((await create("default", { failurePolicy: "Fail" })).code).toBe(201)
    })

    standIn("AdmissionWebhook patching/updating a validating webhook should work", (ns) =>
      withHooks(ns, "validating", [denyConfigMaps], async (made) => {
        await untilIt("denial", () => letsIn(ns), false)
        const path = `${pathOf("validating")}/${ns.name}`
        const [hook] = (made["webhooks"] as { rules: object[] }[])!
        const updated = await ns.cluster.put(path, {
          ...made,
          webhooks: [{ ...hook, rules: [{ ...hook!.rules[0], operations: ["UPDATE"] }] }],
        })
        await untilIt("creation", () => letsIn(ns), true)
        const patched = await ns.cluster.patch(path, "json", [
          { op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] },
        ])
        expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(updated.metadata.resourceVersion))
        await untilIt("denial again", () => letsIn(ns), false)
      }),
    )

    standIn("AdmissionWebhook patching/updating a mutating webhook should work", (ns) =>
      withHooks(ns, "mutating", [mutateConfigMaps(1)], async (made) => {
        const path = `${pathOf("mutating")}/${ns.name}`
        const [hook] = (made["webhooks"] as { rules: object[] }[])!
        await ns.cluster.put(path, {
          ...made,
          webhooks: [{ ...hook, rules: [{ ...hook!.rules[0], operations: ["UPDATE"] }] }],
        })
        await untilIt("no change", () => mutates(ns), false)
        const patched = await ns.cluster.patch(path, "json", [
          { op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] },
        ])
        expect(Number(patched.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion))
        await untilIt("a change", () => mutates(ns), true)
      }),
    )

    for (const [title, kind, hook, is] of [
      ["AdmissionWebhook listing validating webhooks should work", "validating", denyConfigMaps, letsIn],
      ["AdmissionWebhook listing mutating webhooks should work", "mutating", mutateConfigMaps(1), mutates],
    ] as const)
      standIn(title, async (ns) => {
        const selector = `labelSelector=e2e-list-test%3D${ns.name}`
        const webhooks = await hooksOf(ns, [hook])
        for (let i = 0; i < 10; i++)
          await ns.cluster.post(pathOf(kind), {
            metadata: { name: `${ns.name}-${i}`, labels: { "e2e-list-test": ns.name } },
            webhooks,
          })
        expect((await ns.cluster.get(`${pathOf(kind)}?${selector}`)).items).toHaveLength(10)
        await untilIt("the webhooks", () => is(ns), kind === "mutating")
        await ns.cluster.delete(`${pathOf(kind)}?${selector}`)
        await untilIt("no webhooks", () => is(ns), kind === "validating")
      })

    const production = { name: "expression-1", expression: "object.metadata.namespace == 'production'" }
    const staging = { name: "expression-2", expression: "object.metadata.namespace == 'staging'" }
    for (const [title, kind] of [
      [
        "AdmissionWebhook should be able to create and update validating webhook configurations with match conditions",
        "validating",
      ],
      [
        "AdmissionWebhook should be able to create and update mutating webhook configurations with match conditions",
        "mutating",
      ],
    ] as const)
      standIn(title, (ns) => {
        const hook = kind === "validating" ? denyConfigMaps : mutateConfigMaps(1)
        return withHooks(ns, kind, [{ ...hook, more: { matchConditions: [production] } }], async () => {
          const conditions = (configuration: Loose) =>
            (configuration["webhooks"] as { matchConditions: object[] }[])[0]!.matchConditions
          const path = `${pathOf(kind)}/${ns.name}`
          const made = await ns.cluster.get(path)
          expect(conditions(made)).toEqual([production])
          const [webhook] = made["webhooks"] as object[]
          const wanted = [production, staging]
          await ns.cluster.put(path, { ...made, webhooks: [{ ...webhook, matchConditions: wanted }] })
          expect(conditions(await ns.cluster.get(path))).toEqual(wanted)
        })
      })

    for (const [title, kind] of [
      ["AdmissionWebhook should reject validating webhook configurations with invalid match conditions", "validating"],
      ["AdmissionWebhook should reject mutating webhook configurations with invalid match conditions", "mutating"],
    ] as const)
      standIn(title, async (ns) => {
        const hook = kind === "validating" ? denyConfigMaps : mutateConfigMaps(1)
        const matchConditions = [{ name: "invalid-expression-1", expression: "... [] bad expression" }]
        const webhooks = await hooksOf(ns, [{ ...hook, more: { matchConditions } }])
        const { code, body } = await ns.cluster.send("POST", pathOf(kind), {
          body: { metadata: { name: ns.name }, webhooks },
        })
        expect([code, body.message]).toEqual([422, expect.stringContaining("compilation failed")])
      })

    standIn("AdmissionWebhook should mutate everything except 'skip-me' configmaps", (ns) => {
      const matchConditions = [{ name: "skip-me", expression: "object.metadata.name != 'skip-me'" }]
      return withHooks(ns, "mutating", [{ ...mutateConfigMaps(1), more: { matchConditions } }], async () => {
        const made = async (name: string) =>
          (await ns.cluster.post(`${ns.path}/configmaps`, configMap(name, started))).data
        expect(await made("skip-me")).toEqual(started)
        expect(await made("to-be-mutated")).toEqual({ ...started, "mutation-stage-1": "yes" })
      })
    })

    /** A definition of two versions that the webhook converts between. */
    const converting = async (
      ns: TestNamespace,
      body: (group: string, path: (version: string) => string, definition: string) => Promise<void>,
      selectable: readonly (readonly string[])[] = [[], []],
    ) => {
      const fields = selectable.map((paths) =>
        paths.length === 0 ? {} : { selectableFields: paths.map((jsonPath) => ({ jsonPath })) },
      )
      const { namespace, caBundle } = await serverOf(ns.cluster)
      const text = { type: "string" }
      const schema = (properties: object) => ({ type: "object", properties })
      await withDefinition(
        ns,
        [
          { name: "v1", storage: true, schema: schema({ hostPort: text }), ...fields[0] },
          { name: "v2", storage: false, schema: schema({ host: text, port: text }), ...fields[1] },
        ],
        body,
        {
          conversion: {
            strategy: "Webhook",
            webhook: {
              clientConfig: {
                service: { namespace, name: "e2e-test-webhook", path: "/crdconvert", port: 8443 },
                caBundle,
              },
              conversionReviewVersions: ["v1", "v1beta1"],
            },
          },
        },
      )
    }
    standIn(
      "CustomResourceFieldSelectors CustomResourceFieldSelectors MUST list and watch custom resources matching the field selector",
      (ns) =>
        converting(
          ns,
          async (group, path) => {
            const watches = await Promise.all(
              [
                `${path("v2")}?fieldSelector=host%3Dhost1`,
                `${path("v2")}?fieldSelector=host%3Dhost1,port%3D80`,
                `${path("v1")}?fieldSelector=hostPort%3Dhost1:80`,
              ].map((address) => ns.cluster.watch(address)),
            )
            for (const [name, data] of [
              ["cr-0", { host: "host1", port: "80" }],
              ["cr-1", { host: "host1", port: "8080" }],
              ["cr-2", { host: "host2", port: "80" }],
            ] as const)
              await ns.cluster.post(path("v2"), custom(group, name, data, "v2"))
            const list = async (version: string, selector: string) =>
              (await ns.cluster.get(`${path(version)}?fieldSelector=${encodeURIComponent(selector)}`)).items.map(
                ({ metadata }) => metadata.name,
              )
            expect(await list("v2", "host=host1")).toEqual(["cr-0", "cr-1"])
            expect(await list("v2", "host=host1,port=80")).toEqual(["cr-0"])
            expect(await list("v1", "hostPort=host1:80")).toEqual(["cr-0"])
            expect(await list("v1", "hostPort=host1:8080")).toEqual(["cr-1"])
            const wants = [["cr-0", "cr-1"], ["cr-0"], ["cr-0"]]
            const seen = async (type: string) => {
              for (const [i, watch] of watches.entries()) {
                const names = () =>
                  watch.events.filter((event) => event.type === type).map(({ object }) => object.metadata.name)
                await watch.until(() => names().length >= wants[i]!.length)
                expect(names().toSorted()).toEqual(wants[i]!)
              }
            }
            await seen("ADDED")
            await ns.cluster.delete(`${path("v2")}?fieldSelector=host%3Dhost1,port%3D80`, { gracePeriodSeconds: 0 })
            const left = await ns.cluster.get(`${path("v2")}/cr-1`)
            await ns.cluster.put(`${path("v2")}/cr-1`, { ...left, host: "host2" })
            expect([await list("v2", "host=host1"), await list("v2", "host=host1,port=80")]).toEqual([[], []])
            await seen("DELETED")
            for (const watch of watches) watch.close()
          },
          [[".hostPort"], [".host", ".port"]],
        ),
    )

    const first = { hostPort: "localhost:8080" }
    const second = { host: "localhost", port: "8080" }

    standIn("CustomResourceConversionWebhook should be able to convert from CR v1 to CR v2", (ns) =>
      converting(ns, async (group, path) => {
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-1", first))
        const two = await ns.cluster.get(`${path("v2")}/cr-instance-1`)
        expect(two).toMatchObject({ apiVersion: `${group}/v2`, ...second })
        expect(two["hostPort"]).toBeUndefined()
      }),
    )

    standIn("CustomResourceConversionWebhook should be able to convert a non homogeneous list of CRs", (ns) =>
      converting(ns, async (group, path, definition) => {
        // given one object that is stored as v1 and one that is stored as v2
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-1", first))
        await ns.cluster.patch(definition, "json", [
          { op: "replace", path: "/spec/versions/0/storage", value: false },
          { op: "replace", path: "/spec/versions/1/storage", value: true },
        ])
        await ns.cluster.post(path("v1"), custom(group, "cr-instance-2", first))
        const list = async (version: string) => (await ns.cluster.get(path(version))).items
        expect(await list("v1")).toMatchObject([first, first])
        expect(await list("v2")).toMatchObject([second, second])
      }),
    )
  },
  { width: 6 },
)
