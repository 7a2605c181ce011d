/**
 * The webhooks of stand-ins: they run in a pod behind a Service, which all stand-ins of a server share. After
 * test/e2e/apimachinery/webhook.go.
 */
import { expect } from "bun:test"
import type { Answer, ConformanceCluster, Loose } from "../cluster.ts"
import { TestNamespace, until } from "./namespace.ts"
import { serverCertificate } from "./programs/certificates.ts"
import { program, programVolumes } from "./programs/programs.ts"

export const GROUP = "/apis/admissionregistration.k8s.io/v1"
type Kind = "validating" | "mutating"
export const pathOf = (kind: Kind) => `${GROUP}/${kind}webhookconfigurations`

interface Server {
  readonly namespace: string
  readonly caBundle: string
}
const servers = new WeakMap<ConformanceCluster, Promise<Server>>()

/** The webhook's pod and Service, which all stand-ins of a server share. */
export function serverOf(cluster: ConformanceCluster): Promise<Server> {
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

/** A webhook, by the path of its handler. */
export interface Hook {
  readonly name: string
  readonly path: string
  readonly operations?: readonly string[]
  readonly group?: string
  readonly versions?: readonly string[]
  readonly resources: readonly string[]
  readonly more?: object
}
export async function hooksOf(ns: TestNamespace, hooks: readonly Hook[]): Promise<readonly object[]> {
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
export async function withHooks(
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

export const post = (ns: TestNamespace, plural: string, body: object): Promise<Answer> =>
  ns.cluster.send("POST", `${ns.path}/${plural}`, { body })
export const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({ metadata: { name }, data })
export const unwanted = { "webhook-e2e-test": "webhook-disallow" }
export const started = { "mutation-start": "yes" }
export const expectDenied = ({ code, body }: Answer, message: string) => {
  expect(code).toBeGreaterThanOrEqual(400)
  expect(body.message).toContain(message)
  expect(body.message).toContain("denied the request")
}

export const denyConfigMaps: Hook = {
  name: "deny-unwanted-configmap-data",
  path: "/configmaps",
  operations: ["CREATE", "UPDATE", "DELETE"],
  resources: ["configmaps"],
}
export const mutateConfigMaps = (stage: number): Hook => ({
  name: `adding-configmap-data-stage-${stage}`,
  path: "/mutating-configmaps",
  resources: ["configmaps"],
})
