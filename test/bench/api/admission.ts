import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import {
  ConfigMap,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  startCluster,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  type Cluster,
} from "../../../components/cluster/testing/testing.ts"
import { serverCertificate } from "../../conformance/node/programs/certificates.ts"
import { median, type Benchmark } from "../figure.ts"

/** Creates of one round: enough for a median, few enough to alternate between the ways often. */
const ROUND = 200
const ROUNDS = 7

const RULE = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }
/** What a way is for: ConfigMaps with its label. */
const only = (way: string) => ({ objectSelector: { matchLabels: { way } } })
const constraints = (way: string) => ({ matchConstraints: { ...only(way), resourceRules: [RULE] } })

async function configure({ client }: Cluster, url: string, caBundle: string): Promise<void> {
  await client.create(ValidatingAdmissionPolicy, {
    metadata: { name: "checks" },
    spec: { ...constraints("validating"), validations: [{ expression: "object.data.all(k, k.size() < 64)" }] },
  })
  await client.create(ValidatingAdmissionPolicyBinding, {
    metadata: { name: "checks" },
    spec: { policyName: "checks", validationActions: ["Deny"] },
  })
  const expression = `Object{metadata: Object.metadata{labels: {"team": "storage"}}}`
  await client.create(MutatingAdmissionPolicy, {
    metadata: { name: "changes" },
    spec: {
      ...constraints("mutating"),
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
    },
  })
  await client.create(MutatingAdmissionPolicyBinding, {
    metadata: { name: "changes" },
    spec: { policyName: "changes" },
  })
  await client.create(MutatingWebhookConfiguration, {
    metadata: { name: "hook" },
    webhooks: [
      {
        name: "hook.example.com",
        clientConfig: { url, caBundle },
        rules: [RULE],
        ...only("webhook"),
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  })
}

/** A webhook on loopback, in this process, that lets everything in. */
async function startWebhook() {
  const { certPem, keyPem, caPem } = serverCertificate("localhost")
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    let text = ""
    request.on("data", (part: Buffer) => (text += part.toString()))
    request.on("end", () => {
      const { apiVersion, kind, request } = JSON.parse(text) as { apiVersion: string; kind: string; request: Review }
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: request.uid, allowed: true } }))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { url: `https://localhost:${port}/ask`, caBundle: Buffer.from(caPem).toString("base64"), server }
}
interface Review {
  readonly uid: string
}

type Way = "none" | "validating" | "mutating" | "webhook"
/** Milliseconds. */
interface Taken {
  readonly wall: number
  readonly processor: number
}

/** What admission adds to the creation of a ConfigMap: a policy, or a webhook on loopback. */
export const admission: Benchmark = {
  name: "admission",
  async *run() {
    const { url, caBundle, server } = await startWebhook()
    await using cluster = await startCluster({ clock: "real", components: { controllers: false } })
    const data = { text: "x".repeat(500) }
    let count = 0
    /** What a create takes, one after the other. */
    const round = async (way: Way): Promise<Taken> => {
      const [began, used] = [performance.now(), process.cpuUsage()]
      for (let i = 0; i < ROUND; i++)
        await cluster.client.create(ConfigMap, {
          metadata: { name: `c${count++}`, namespace: "default", labels: { way } },
          data,
        })
      const { user, system } = process.cpuUsage(used)
      return { wall: (performance.now() - began) / ROUND, processor: (user + system) / 1000 / ROUND }
    }
    const measured = async (ways: readonly Way[]): Promise<ReadonlyMap<Way, Taken>> => {
      const taken = new Map<Way, Taken[]>(ways.map((way) => [way, []]))
      // The first round of each is the engine's.
      for (let i = 0; i <= ROUNDS; i++)
        for (const way of ways) {
          const each = await round(way)
          if (i > 0) taken.get(way)!.push(each)
        }
      const medianOf = (all: readonly Taken[]): Taken => ({
        wall: median(all.map(({ wall }) => wall)),
        processor: median(all.map(({ processor }) => processor)),
      })
      return new Map(Array.from(taken, ([way, all]) => [way, medianOf(all)]))
    }
    const bare = (await measured(["none"])).get("none")!
    await configure(cluster, url, caBundle)
    const found = await measured(["none", "validating", "mutating", "webhook"])
    const none = found.get("none")!
    const figure = (name: string, value: number, goal?: number) =>
      ({ name, unit: "ms", value: Math.max(0, value), better: "less", goal }) as const
    yield figure("Admission, processor time: a ConfigMap without any", bare.processor)
    yield figure("… added by policies and webhooks for other objects", none.processor - bare.processor)
    yield figure("… added by a validating policy", found.get("validating")!.processor - none.processor)
    yield figure(
      "… added by a mutating policy, with its second round",
      found.get("mutating")!.processor - none.processor,
    )
    const webhook = found.get("webhook")!.processor - none.processor
    yield figure("… added by a webhook, the webhook's own included", webhook)
    yield figure("A webhook on loopback adds", found.get("webhook")!.wall - none.wall, 2)
    server.close()
  },
}
