import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, request } from "node:https"
import { createApiServer, type ApiServer } from "../../../components/apiserver/apiserver.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { newClient } from "../../../pkg/client/new-client.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { customKind } from "../../../pkg/operator/custom-kind.ts"
import { defineCustomResource } from "../../../pkg/operator/custom-resource/define-custom-resource.ts"
import { s } from "../../../pkg/operator/custom-resource/fields.ts"
import { median, type Benchmark } from "../figure.ts"

const GROUP = "bench.example.com"
const FIELDS = Array.from({ length: 30 }, (_, i) => `field${i}`)
/** Objects of one round, and rounds: the two kinds take turns. */
const ROUND = 300
const ROUNDS = 9
const DEFINITIONS = 1000
const IDLE_MS = 10_000

/** Thirty fields that are looked at, and five rules. */
const field = (name: string) => s.object({ [name]: s.string({ minLength: 1, maxLength: 40, pattern: "^[a-z0-9-]+$" }) })
const checked = () => {
  const fields = Object.fromEntries(FIELDS.map((name) => [name, field(name).schema.properties![name]!]))
  const spec = s.any()
  const rules = FIELDS.slice(0, 5).map((name, i) => ({ rule: `self.${name} != self.${FIELDS[i + 5]!}` }))
  const schema = { type: "object", properties: fields, required: FIELDS, "x-kubernetes-validations": rules }
  return { ...spec, schema }
}
const { crd, kinds } = defineCustomResource({
  group: GROUP,
  kind: "Checked",
  plural: "checked",
  versions: { v1: { spec: checked() } },
})
const values = Object.fromEntries(FIELDS.map((name, i) => [name, `value-${i}`]))

async function start(dataDir: string): Promise<{ readonly server: ApiServer; readonly client: Client }> {
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log: silent },
    {
      listen: { host: "127.0.0.1", port: 0 },
      dataDir,
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes: new NodeConnectors(),
    },
  )
  await server.start(new AbortController().signal)
  const user = { name: "admin", groups: ["system:masters", "system:authenticated"] }
  return { server, client: newClient(server.transportFor(user)) }
}

/** Calls in a second of the processor. */
async function rate(count: number, call: (i: number) => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage()
  for (let i = 0; i < count; i++) await call(i)
  const { user, system } = process.cpuUsage(began)
  return (count * 1e6) / (user + system)
}

/** The time until the whole answer to a GET is there, in milliseconds, by a connection that may be open already. */
async function timeOf(
  { port, files }: ApiServer,
  { path, accept, etag }: { readonly path: string; readonly accept: string; readonly etag?: string },
  agent: Agent,
): Promise<{ readonly ms: number; readonly etag: string }> {
  const began = performance.now()
  const found = await new Promise<string>((resolve, reject) => {
    const known = etag === undefined ? {} : { "if-none-match": etag }
    const headers = { authorization: `Bearer ${files!.adminToken}`, accept, ...known }
    const outgoing = request({ host: "127.0.0.1", port, path, agent, headers }, (incoming) => {
      incoming.resume()
      incoming.once("end", () => resolve(incoming.headers.etag ?? ""))
    })
    outgoing.once("error", reject)
    outgoing.end()
  })
  return { ms: performance.now() - began, etag: found }
}

const megabytes = () => {
  Bun.gc(true)
  return process.memoryUsage().rss / 2 ** 20
}

/** Custom resources beside a built-in kind of the same size, and a server with a thousand definitions. */
export const customResources: Benchmark = {
  name: "custom-resources",
  async *run() {
    const dataDir = mkdtempSync(join(tmpdir(), "k3ts-bench-"))
    let { server, client } = await start(dataDir)
    try {
      await client.create(CustomResourceDefinition, crd as never)
      const kind = kinds.v1
      const ofCustom: Record<string, number[]> = { create: [], get: [], list: [] }
      const ofBuiltin: Record<string, number[]> = { create: [], get: [], list: [] }
      for (let round = 0; round < ROUNDS; round++) {
        const name = (i: number) => `o-${round}-${i}`
        const ref = (i: number) => ({ namespace: "default", name: name(i % ROUND) })
        const metadata = (i: number) => ({ namespace: "default", name: name(i) })
        ofCustom["create"]!.push(
          await rate(ROUND, (i) => client.create(kind, { metadata: metadata(i), spec: values } as never)),
        )
        ofBuiltin["create"]!.push(
          await rate(ROUND, (i) => client.create(ConfigMap, { metadata: metadata(i), data: values })),
        )
        ofCustom["get"]!.push(await rate(ROUND * 20, (i) => client.get(kind, ref(i))))
        ofBuiltin["get"]!.push(await rate(ROUND * 20, (i) => client.get(ConfigMap, ref(i))))
        ofCustom["list"]!.push(await rate(100, () => client.list(kind, { namespace: "default" })))
        ofBuiltin["list"]!.push(await rate(100, () => client.list(ConfigMap, { namespace: "default" })))
      }
      for (const verb of ["create", "get", "list"]) {
        const limit = median(ofBuiltin[verb]!)
        yield {
          name: `custom resource, 30 fields and 5 rules: ${verb}`,
          unit: "/s",
          value: median(ofCustom[verb]!),
          limit: { what: "a ConfigMap of the same size", value: limit },
          goal: 0.7 * limit,
          better: "more",
        }
      }

      const firstObjects: number[] = []
      for (let i = 0; i < 20; i++) {
        const quick = customKind({
          group: GROUP,
          version: "v1",
          kind: `Quick${i}`,
          plural: `quick${i}`,
          scope: "Cluster",
        })
        const began = performance.now()
        await client.create(CustomResourceDefinition, definitionOf(`quick${i}`, `Quick${i}`) as never)
        await client.create(quick, { metadata: { name: "first" } })
        firstObjects.push(performance.now() - began)
      }
      yield {
        name: "definition created to first object",
        unit: "ms",
        value: median(firstObjects),
        goal: 20,
        better: "less",
      }

      const before = megabytes()
      for (let i = 0; i < DEFINITIONS; i++)
        await client.create(CustomResourceDefinition, definitionOf(`many${i}`, `Many${i}`) as never)
      yield { name: "memory of 1,000 definitions", unit: "MB", value: megabytes() - before, goal: 150, better: "less" }
      await server.stop()
      const began = performance.now()
      ;({ server, client } = await start(dataDir))
      yield {
        name: "start with 1,000 definitions",
        unit: "s",
        value: (performance.now() - began) / 1000,
        goal: 2,
        better: "less",
      }

      const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
      const documents = [
        {
          name: "discovery",
          path: "/apis",
          accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        },
        { name: "OpenAPI v3 of a group", path: `/openapi/v3/apis/${GROUP}/v1`, accept: "application/json" },
        { name: "OpenAPI v2", path: "/openapi/v2", accept: "application/json" },
      ]
      for (const { name, path, accept } of documents) {
        const { ms, etag } = await timeOf(server, { path, accept }, agent)
        yield { name: `${name} with 1,000 definitions, first`, unit: "ms", value: ms, better: "less" }
        const times: number[] = []
        for (let i = 0; i < 15; i++) times.push((await timeOf(server, { path, accept, etag }, agent)).ms)
        yield {
          name: `${name} with 1,000 definitions, to who has it`,
          unit: "ms",
          value: median(times),
          goal: 5,
          better: "less",
        }
      }
      agent.destroy()

      const idle = process.cpuUsage()
      await Bun.sleep(IDLE_MS)
      const { user, system } = process.cpuUsage(idle)
      yield {
        name: "idle with 1,000 definitions",
        unit: "% of a core",
        value: (user + system) / 10 / IDLE_MS,
        goal: 1,
        better: "less",
      }
    } finally {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  },
}

const definitionOf = (plural: string, kind: string) => ({
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Cluster" as const,
    names: { plural, kind },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: Object.fromEntries(FIELDS.slice(0, 10).map((name) => [name, { type: "string" }])),
              },
            },
          },
        },
      },
    ],
  },
})
