import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CONFIGMAPS, cm, json, startHttpServer } from "../serving/http-server.fixtures.ts"
import { startWebhook } from "../webhooks/kubeconfig-webhook.fixtures.ts"

const dir = mkdtempSync(join(tmpdir(), "admission-"))
afterAll(() => rmSync(dir, { recursive: true }))
const PODS = "/api/v1/namespaces/default/pods"

/** Starts a server with these plugins and configurations of plugins. */
async function start(enabled: readonly string[], plugins: Readonly<Record<string, object>> = {}) {
  const configFile = join(dir, `${Object.keys(plugins).join("-") || "none"}.yaml`)
  const configured = Object.entries(plugins).map(([name, configuration]) => ({ name, configuration }))
  writeFileSync(
    configFile,
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AdmissionConfiguration", plugins: configured }),
  )
  return startHttpServer({ admission: { enabled, disabled: [], configFile } })
}
type Api = Awaited<ReturnType<typeof start>>

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
})

/** Creates a pod, and returns its spec, or the code and the message of the refusal. */
async function create(api: Api, body: object, path = PODS): Promise<Readonly<Record<string, unknown>>> {
  const { code, text } = await api.call("POST", path, json(body))
  const { spec, message } = JSON.parse(text) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  return code === 201 ? (spec ?? {}) : { code, message }
}
const annotated = (api: Api, annotations: Readonly<Record<string, string>>) =>
  api.call("PATCH", "/api/v1/namespaces/default", {
    headers: { "content-type": "application/merge-patch+json" },
    body: JSON.stringify({ metadata: { annotations } }),
  })

test("AlwaysPullImages has all images pulled, those of volumes too", async () => {
  const api = await start(["AlwaysPullImages"])
  const container = { name: "c", image: "i", imagePullPolicy: "Never" }
  const volumes = [{ name: "v", image: { reference: "i", pullPolicy: "Never" } }]
  expect(await create(api, pod("a", { containers: [container], volumes }))).toMatchObject({
    containers: [{ imagePullPolicy: "Always" }],
    volumes: [{ image: { pullPolicy: "Always" } }, {}],
  })
  await api.stop()
})

test("LimitPodHardAntiAffinityTopology refuses required anti-affinity beyond the node", async () => {
  const api = await start(["LimitPodHardAntiAffinityTopology"])
  const apart = (topologyKey: string) => ({
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }] },
    },
  })
  expect(await create(api, pod("a", apart("kubernetes.io/hostname")))).toHaveProperty("containers")
  expect(await create(api, pod("b", apart("zone")))).toEqual({
    code: 403,
    message:
      'pods "b" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key ' +
      "kubernetes.io/hostname is allowed",
  } as never)
  await api.stop()
})

test("ExtendedResourceToleration lets pods that request a device onto the nodes that have it", async () => {
  const api = await start(["ExtendedResourceToleration"])
  const resources = { limits: { "example.com/gpu": "1", "example.com/fpga": "1" } }
  const { tolerations } = await create(api, pod("a", { containers: [{ name: "c", image: "i", resources }] }))
  expect((tolerations as readonly { readonly key: string; readonly effect: string }[]).slice(-2)).toMatchObject([
    { key: "example.com/fpga", operator: "Exists", effect: "NoSchedule" },
    { key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" },
  ])
  await api.stop()
})

test("DenyServiceExternalIPs refuses new external addresses, and lets known ones stay", async () => {
  const api = await start(["DenyServiceExternalIPs"])
  const path = "/api/v1/namespaces/default/services"
  const service = (name: string, externalIPs: readonly string[]) => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], externalIPs },
  })
  expect(await create(api, service("a", []), path)).toHaveProperty("ports")
  expect(await create(api, service("b", ["192.0.2.1"]), path)).toEqual({
    code: 403,
    message: 'services "b" is forbidden: Use of external IPs is denied by admission control',
  } as never)
  await api.stop()
})

test("NamespaceAutoProvision creates the namespace of an object, except in a dry run", async () => {
  const api = await start(["NamespaceAutoProvision", "NamespaceExists"])
  const path = "/api/v1/namespaces/fresh/configmaps"
  expect((await api.call("POST", `${path}?dryRun=All`, json(cm("a")))).code).toBe(404)
  expect((await api.call("POST", path, json(cm("a")))).code).toBe(201)
  expect((await api.call("GET", "/api/v1/namespaces/fresh")).code).toBe(200)
  await api.stop()
})

test("AlwaysDeny refuses what changes something, and nothing that is read", async () => {
  const api = await startHttpServer({ admission: { enabled: ["AlwaysAdmit", "AlwaysDeny"], disabled: [] } })
  const { code, text } = await api.call("POST", CONFIGMAPS, json(cm("a")))
  expect(code).toBe(403)
  expect(text).toContain('configmaps \\"a\\" is forbidden: admission control is denying all modifications')
  expect((await api.call("GET", CONFIGMAPS)).code).toBe(200)
  await api.stop()
})

test("a plugin that is on by default can be turned off", async () => {
  const api = await startHttpServer({ admission: { enabled: [], disabled: ["ServiceAccount"] } })
  expect((await create(api, pod("a")))["serviceAccountName"]).toBeUndefined()
  await api.stop()
})

describe("PodNodeSelector", () => {
  const selectors = { clusterDefaultNodeSelector: "disk=ssd", default: "disk=ssd,zone=a" }
  const settings = { PodNodeSelector: { podNodeSelectorPluginConfig: selectors } }

  test("gives pods the node selector of the cluster, and refuses others than the namespace may have", async () => {
    const api = await start(["PodNodeSelector"], settings)
    expect(await create(api, pod("a", { nodeSelector: { zone: "a" } }))).toMatchObject({
      nodeSelector: { disk: "ssd", zone: "a" },
    })
    expect(await create(api, pod("b", { nodeSelector: { disk: "hdd" } }))).toEqual({
      code: 403,
      message: 'pods "b" is forbidden: pod node label selector conflicts with its namespace node label selector',
    } as never)
    expect(await create(api, pod("c", { nodeSelector: { cpu: "fast" } }))).toEqual({
      code: 403,
      message: 'pods "c" is forbidden: pod node label selector labels conflict with its namespace whitelist',
    } as never)
    await api.stop()
  })

  test("gives pods the node selector of their namespace, where it has one", async () => {
    const api = await start(["PodNodeSelector"])
    await annotated(api, { "scheduler.alpha.kubernetes.io/node-selector": "env = test" })
    expect(await create(api, pod("a"))).toMatchObject({ nodeSelector: { env: "test" } })
    await annotated(api, { "scheduler.alpha.kubernetes.io/node-selector": "env" })
    expect(await create(api, pod("b"))).toEqual({ code: 500, message: "invalid selector: [env]" } as never)
    await api.stop()
  })
})

test("PodTolerationRestriction gives the tolerations of the namespace or the cluster, and refuses others", async () => {
  const api = await start(["PodTolerationRestriction"], {
    PodTolerationRestriction: {
      apiVersion: "podtolerationrestriction.admission.k8s.io/v1alpha1",
      kind: "Configuration",
      default: [{ key: "team", operator: "Equal", value: "a" }],
      whitelist: [
        { key: "team", operator: "Exists" },
        { operator: "Exists", effect: "NoExecute" },
      ],
    },
  })
  // given the tolerations of the cluster
  const { tolerations } = await create(api, pod("a"))
  expect(tolerations).toContainEqual({ key: "team", operator: "Equal", value: "a" })
  expect(await create(api, pod("b", { tolerations: [{ key: "other", operator: "Exists" }] }))).toEqual({
    code: 500,
    message: "pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist",
  } as never)
  // and those of the namespace
  await annotated(api, {
    "scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"own","operator":"Exists"}]',
    "scheduler.alpha.kubernetes.io/tolerationsWhitelist": "[]",
  })
  const { tolerations: own } = await create(api, pod("c", { tolerations: [{ key: "other", operator: "Exists" }] }))
  expect(own).toContainEqual({ key: "own", operator: "Exists" })
  await api.stop()
})

test("EventRateLimit refuses Events that come too fast, by namespace and by user, but none of a dry run", async () => {
  const limits = [
    { type: "Namespace", qps: 1, burst: 2, cacheSize: 10 },
    { type: "User", qps: 1, burst: 10 },
  ]
  const api = await start(["EventRateLimit"], {
    EventRateLimit: { apiVersion: "eventratelimit.admission.k8s.io/v1alpha1", kind: "Configuration", limits },
  })
  const path = "/api/v1/namespaces/default/events"
  const event = (name: string) => json({ metadata: { name }, involvedObject: { namespace: "default" } })
  const codes: number[] = []
  for (let i = 0; i < 5; i++) codes.push((await api.call("POST", `${path}?dryRun=All`, event(`d${i}`))).code)
  let refused = ""
  for (let i = 0; i < 30 && refused === ""; i++) {
    const { code, text } = await api.call("POST", path, event(`e${i}`))
    if (code === 429) refused = (JSON.parse(text) as { readonly message: string }).message
  }
  expect(codes).toEqual([201, 201, 201, 201, 201])
  expect(refused).toBe("Too many requests: limit reached on type Namespace for key default")
  await api.stop()
})

test("EventRateLimit gives an Event the bucket of its own source and object, however their texts are cut", async () => {
  // given
  const limits = [{ type: "SourceAndObject", qps: 1, burst: 1 }]
  const api = await start(["EventRateLimit"], {
    EventRateLimit: { apiVersion: "eventratelimit.admission.k8s.io/v1alpha1", kind: "Configuration", limits },
  })
  const code = async (name: string, source: object, of: string) => {
    const involvedObject = { namespace: "default", name: of }
    const path = "/api/v1/namespaces/default/events"
    return (await api.call("POST", path, json({ metadata: { name }, source, involvedObject }))).code
  }
  const long = "x".repeat(5000)
  // when, then: texts that are the same one after the other
  expect(await code("a", { component: "ab", host: "c" }, "web")).toBe(201)
  expect(await code("b", { component: "a", host: "bc" }, "web")).toBe(201)
  // and long texts that differ at their ends
  expect(await code("c", { component: "ab" }, `${long}1`)).toBe(201)
  expect(await code("d", { component: "ab" }, `${long}2`)).toBe(201)
  // and the same Event again, which is refused at some time
  let last = 201
  for (let i = 0; i < 30 && last === 201; i++) last = await code(`e${i}`, { component: "ab" }, `${long}1`)
  expect(last).toBe(429)
  await api.stop()
})

describe("ImagePolicyWebhook", () => {
  const settings = (kubeConfigFile: string, more: object = {}) => ({
    ImagePolicyWebhook: { imagePolicy: { kubeConfigFile, retryBackoff: 1, ...more } },
  })

  test("asks a webhook about the images of a pod, and remembers its answer", async () => {
    const webhook = await startWebhook((body) => {
      const { spec } = body as { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
      const allowed = spec.containers[0]!.image === "good"
      return { body: JSON.stringify({ kind: "ImageReview", status: { allowed, reason: "not scanned" } }) }
    })
    const api = await start(["ImagePolicyWebhook"], settings(webhook.kubeconfig))
    const of = (name: string, image: string) => pod(name, { containers: [{ name: "c", image }] })
    expect(await create(api, of("a", "good"))).toHaveProperty("containers")
    expect(await create(api, of("b", "good"))).toHaveProperty("containers")
    expect(await create(api, of("c", "bad"))).toEqual({
      code: 403,
      message: 'pods "c" is forbidden: image policy webhook backend denied one or more images: not scanned',
    } as never)
    expect(webhook.sent.map(({ body }) => body)).toEqual([
      expect.objectContaining({ kind: "ImageReview", spec: { containers: [{ image: "good" }], namespace: "default" } }),
      expect.objectContaining({ spec: { containers: [{ image: "bad" }], namespace: "default" } }),
    ])
    await api.stop()
    webhook.stop()
  })

  test.each([
    { defaultAllow: true, passes: true },
    { defaultAllow: false, passes: false },
  ])(
    "with a webhook that fails passes all or nothing: defaultAllow $defaultAllow",
    async ({ defaultAllow, passes }) => {
      const webhook = await startWebhook(() => ({ code: 500, body: "broken" }))
      const api = await start(["ImagePolicyWebhook"], settings(webhook.kubeconfig, { defaultAllow }))
      const answer = await create(api, pod("a"))
      expect("containers" in answer).toBe(passes)
      expect(webhook.sent).toHaveLength(5)
      await api.stop()
      webhook.stop()
    },
  )
})

test("OwnerReferencesPermissionEnforcement lets only those change owners who may delete the object", async () => {
  const api = await start(["OwnerReferencesPermissionEnforcement"])
  const as = (user: string, body: object, type = "application/json") => ({
    headers: { "content-type": type, "impersonate-user": user },
    body: JSON.stringify(body),
  })
  const role = (name: string, verbs: readonly string[]) => [
    { metadata: { name }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs }] },
    { metadata: { name }, roleRef: { kind: "ClusterRole", name }, subjects: [{ kind: "User", name }] },
  ]
  for (const [name, verbs] of [
    ["writer", ["create", "patch", "get"]],
    ["deleter", ["create", "patch", "get", "delete"]],
  ] as const)
    for (const [i, object] of role(name, verbs).entries())
      await api.call(
        "POST",
        `/apis/rbac.authorization.k8s.io/v1/${i === 0 ? "clusterroles" : "clusterrolebindings"}`,
        json(object),
      )
  await api.call("POST", CONFIGMAPS, json(cm("a")))
  const owned = (more: object = {}) => ({
    metadata: { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u", ...more }] },
  })
  const patch = async (user: string, body: object) => {
    const { code, text } = await api.call("PATCH", `${CONFIGMAPS}/a`, as(user, body, "application/merge-patch+json"))
    return [code, (JSON.parse(text) as { readonly message?: string }).message ?? ""] as const
  }
  // then
  const [code, message] = await patch("writer", owned())
  expect(code).toBe(403)
  expect(message).toContain("cannot set an ownerRef on a resource you can't delete: ")
  expect((await patch("deleter", owned()))[0]).toBe(200)
  expect((await patch("deleter", owned({ blockOwnerDeletion: true })))[1]).toContain(
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ",
  )
  expect(
    (await api.call("POST", CONFIGMAPS, as("writer", { ...cm("b"), ...owned(), metadata: { name: "b" } }))).code,
  ).toBe(201)
  await api.stop()
})

describe("PodSecurity", () => {
  test("applies the defaults of its configuration, except to what is exempt", async () => {
    const api = await start([], {
      PodSecurity: {
        apiVersion: "pod-security.admission.config.k8s.io/v1",
        kind: "PodSecurityConfiguration",
        defaults: { enforce: "baseline" },
        exemptions: { namespaces: ["free"], usernames: ["root"], runtimeClasses: ["vm"] },
      },
    })
    const host = { hostNetwork: true }
    expect(await create(api, pod("a", host))).toMatchObject({
      code: 403,
      message: 'pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    })
    await api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", json({ metadata: { name: "vm" }, handler: "vm" }))
    expect(await create(api, pod("b", { ...host, runtimeClassName: "vm" }))).toHaveProperty("containers")
    const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
    const { headers } = await api.call("POST", "/api/v1/namespaces", json({ metadata: { name: "free", labels } }))
    expect(headers["warning"]).toContain(
      'namespace \\"free\\" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored',
    )
    await api.stop()
  })
})

test("ResourceQuota refuses the use of what is limited by default and has no quota", async () => {
  const api = await start([], {
    ResourceQuota: {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "ResourceQuotaConfiguration",
      limitedResources: [
        { resource: "configmaps", matchContains: ["configmaps"] },
        {
          resource: "pods",
          matchScopes: [{ scopeName: "PriorityClass", operator: "In", values: ["system-cluster-critical"] }],
        },
      ],
    },
  })
  const refused = await api.call("POST", CONFIGMAPS, json(cm("a")))
  expect(refused.code).toBe(403)
  expect(refused.text).toContain(
    'configmaps \\"a\\" is forbidden: insufficient quota to consume: configmaps,count/configmaps',
  )
  const quota = { metadata: { name: "q" }, spec: { hard: { configmaps: "5", "count/configmaps": "5" } } }
  await api.call("POST", "/api/v1/namespaces/default/resourcequotas", json(quota))
  expect((await api.call("POST", CONFIGMAPS, json(cm("a")))).code).toBe(201)
  expect(await create(api, pod("p", { priorityClassName: "system-cluster-critical" }))).toEqual({
    code: 500,
    message: "insufficient quota to match these scopes: [{PriorityClass In [system-cluster-critical]}]",
  } as never)
  await api.stop()
})

test("admission webhooks get the credentials that a kubeconfig has for their hosts", async () => {
  // given a webhook whose certificate is checked by its caBundle
  const webhook = await startWebhook((body) => {
    const { apiVersion, request } = body as { readonly apiVersion: string; readonly request: { readonly uid: string } }
    const response = { uid: request.uid, allowed: true }
    return { body: JSON.stringify({ apiVersion, kind: "AdmissionReview", response }) }
  })
  const kubeConfigFile = join(dir, "credentials.yaml")
  writeFileSync(kubeConfigFile, "users: [{name: '*', user: {token: general}}, {name: '*.0.0.1', user: {token: t}}]")
  const api = await start([], {
    ValidatingAdmissionWebhook: {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "WebhookAdmissionConfiguration",
      kubeConfigFile,
    },
  })
  const at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
  const hook = {
    name: "hook.example.com",
    clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  }
  await api.call("POST", at, json({ metadata: { name: "hook" }, webhooks: [hook] }))
  // when
  expect((await api.call("POST", CONFIGMAPS, json(cm("a")))).code).toBe(201)
  // then
  expect(webhook.sent.map(({ authorization }) => authorization)).toEqual(["Bearer general"])
  await api.stop()
  webhook.stop()
})
