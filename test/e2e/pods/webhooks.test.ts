/**
 * An admission webhook that runs in a pod on Bun, called through a Service with TLS, together with admission policies.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { MutatingAdmissionPolicy } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicy.ts"
import { MutatingAdmissionPolicyBinding } from "../../../pkg/api/admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { MutatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/mutatingwebhookconfiguration.ts"
import { ValidatingWebhookConfiguration } from "../../../pkg/api/admissionregistration/v1/validatingwebhookconfiguration.ts"
import { APIService } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { serverCertificate } from "../../conformance/node/programs/certificates.ts"
import { program, programVolumes } from "../../conformance/node/programs/programs.ts"
import { BUSYBOX, describeOnNode, hasIPv6, startCluster, type Cluster } from "../../harness/cluster.ts"

const NAME = "hook"
const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }

describeOnNode("a webhook in a pod", () => webhookIn([]))

describe.skipIf(!hasIPv6)("with IPv6 alone", () =>
  describeOnNode("a webhook in a pod", () => webhookIn(["--cluster-cidr=fd42::/56", "--service-cidr=fd43::/112"])),
)

/** The tests, in a cluster that is started with these flags. */
function webhookIn(flags: readonly string[]): void {
  let cluster: Cluster
  let caBundle: string
  beforeAll(async () => {
    cluster = await startCluster({ flags })
    const { certPem, keyPem, caPem } = serverCertificate(`${NAME}.default.svc`)
    caBundle = Buffer.from(caPem).toString("base64")
    const metadata = { name: NAME, namespace: "default" }
    await cluster.create(Secret, { metadata, stringData: { "tls.crt": certPem, "tls.key": keyPem } })
    await cluster.create(Service, {
      metadata,
      spec: { selector: { app: NAME }, ports: [{ port: 443, targetPort: 8443 }] },
    })
    const { env, command, volumeMounts } = program("webhook.ts")
    await cluster.runPod(
      NAME,
      {
        volumes: [...programVolumes, { name: "tls", secret: { secretName: NAME } }],
        containers: [
          {
            name: "hook",
            image: BUSYBOX,
            command: command!,
            env: env!,
            volumeMounts: [...volumeMounts!, { name: "tls", mountPath: "/tls", readOnly: true }],
            readinessProbe: { httpGet: { scheme: "HTTPS", path: "/readyz", port: 8443 }, periodSeconds: 1 },
          },
        ],
      },
      { labels: { app: NAME } },
    )
    const hook = (path: string) => ({
      name: `${NAME}.example.com`,
      clientConfig: {
        service: { namespace: "default", name: NAME, path },
        caBundle,
      },
      rules: [RULE],
      objectSelector: { matchLabels: { asked: "yes" } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    })
    await cluster.create(MutatingWebhookConfiguration, {
      metadata: { name: NAME },
      webhooks: [hook("/mutating-configmaps")],
    })
    await cluster.create(ValidatingWebhookConfiguration, { metadata: { name: NAME }, webhooks: [hook("/configmaps")] })
    await cluster.create(MutatingAdmissionPolicy, {
      metadata: { name: "start" },
      spec: {
        matchConstraints: { resourceRules: [RULE], objectSelector: { matchLabels: { asked: "yes" } } },
        reinvocationPolicy: "Never",
        mutations: [
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: `Object{data: {"mutation-start": "yes"}}` },
          },
        ],
      },
    })
    await cluster.create(MutatingAdmissionPolicyBinding, { metadata: { name: "start" }, spec: { policyName: "start" } })
  }, 60_000)
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  const create = (name: string, data: Readonly<Record<string, string>>): Promise<ConfigMap | string> =>
    cluster.client
      .create(ConfigMap, { metadata: { name, namespace: "default", labels: { asked: "yes" } }, data })
      .catch((err: ApiError) => err.message)
  /** Resolves when kube-proxy leads the Service to the pod. */
  const reached = async (): Promise<void> => {
    const deadline = performance.now() + 20_000
    for (let i = 0; ; i++) {
      const made = await create(`probe-${i}`, {})
      if (typeof made !== "string") return
      if (performance.now() > deadline) throw new Error(`The webhook was not reached: ${made}`)
      await Bun.sleep(50)
    }
  }

  test("is also reached as the server of an API group", async () => {
    await cluster.create(APIService, {
      metadata: { name: "v1.hook.example.com" },
      spec: {
        group: "hook.example.com",
        version: "v1",
        service: { namespace: "default", name: NAME, port: 443 },
        caBundle,
        groupPriorityMinimum: 1000,
        versionPriority: 10,
      },
    })
    const { status } = await cluster.until(APIService, "v1.hook.example.com", (one) =>
      (one.status.conditions ?? []).some(({ type, reason }) => type === "Available" && reason === "Passed"),
    )
    expect(status.conditions).toMatchObject([{ type: "Available", status: "True" }])
    await cluster.client.delete(APIService, { name: "v1.hook.example.com" })
  }, 30_000)

  test("changes what a mutating policy has changed before, refuses objects, and makes requests fail when it is gone", async () => {
    await reached()
    // the policy comes first: the webhook gets the object as the policy has changed it
    expect(await create("changed", {})).toMatchObject({
      data: { "mutation-start": "yes", "mutation-stage-1": "yes" },
    })
    expect(await create("refused", { "webhook-e2e-test": "webhook-disallow" })).toBe(
      `admission webhook "${NAME}.example.com" denied the request: the configmap contains unwanted key and value`,
    )
    // when its pod is deleted, requests for which it is responsible fail, once its container has ended too
    await cluster.client.delete(Pod, { name: NAME, namespace: "default" }, { gracePeriodSeconds: 0 })
    await cluster.gone(Pod, NAME)
    let made = await create("alone", {})
    for (let i = 0; typeof made !== "string"; i++) made = await create(`alone-${i}`, {})
    expect(made).toStartWith(
      `Internal error occurred: failed calling webhook "${NAME}.example.com": failed to call webhook: Post `,
    )
  }, 60_000)
}
