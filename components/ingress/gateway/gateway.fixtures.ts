/** A cluster without nodes and controllers, whose Gateways are served on ports of this machine. */
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { networkInterfaces } from "node:os"
import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { DEFINITIONS } from "../../../pkg/gateway-api/definitions.ts"
import { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import { GatewayClass } from "../../../pkg/gateway-api/gatewayclass.ts"
import { HTTPRoute } from "../../../pkg/gateway-api/httproute.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { createIngress } from "../ingress.ts"
import type { Condition } from "./status/conditions.ts"

/** An IPv4 address of this machine other than loopback: the proxy sends no requests to loopback endpoints. */
export const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address
if (OWN_ADDRESS === undefined)
  console.warn("SKIPPED: Gateways with backends need an address of this machine other than loopback")

const USER = "system:serviceaccount:kube-system:k3ts-ingress"
const NODE_IP = "192.0.2.1"
const RESERVED = 22

/** Starts a cluster and the proxy. `definitions` are created before the proxy starts. */
export async function servingGateways(definitions: readonly object[] = DEFINITIONS) {
  const cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
  for (const each of definitions)
    await cluster.client.create(CustomResourceDefinition, each as unknown as CustomResourceDefinition)
  const fieldSelectors = new Map([[Secret as unknown as Resource, "type=kubernetes.io/tls"]])
  const context = cluster.contextFor(USER, ["system:serviceaccounts"], { fieldSelectors })
  const registry = new Registry()
  const ingress = createIngress(context, {
    nodeIps: [NODE_IP],
    apiPort: 6443,
    httpPort: 0,
    httpsPort: 0,
    host: "0.0.0.0",
    metrics: registry,
    gateway: { addresses: [], reserved: (port) => (port === RESERVED ? "SSH" : undefined) },
  })
  await ingress.start(new AbortController().signal)
  const { client } = cluster
  return {
    cluster,
    client,
    figures: () => registry.text(),
    /** Resolves when the definitions are served and the class is accepted. */
    installed: () =>
      cluster.eventually(async () => {
        const found = await client.get(GatewayClass, { name: "k3ts" }).catch(() => undefined)
        return (found?.status?.conditions ?? []).some(({ reason }) => reason === "Accepted")
      }),
    /** Resolves when a condition of the Gateway's current generation has this type and reason; returns the Gateway. */
    gatewayWith: async (name: string, type: string, reason: string) => {
      const find = () => client.get(Gateway, { namespace: "default", name })
      await cluster.eventually(async () => {
        const { metadata, status } = await find()
        return isToldOf(metadata.generation, status?.conditions, type, reason)
      })
      return find()
    },
    /** Resolves when a condition of the route's first parent has this type and reason. */
    routeWith: (name: string, type: string, reason: string, namespace = "default") =>
      cluster.eventually(async () => {
        const { metadata, status } = await client.get(HTTPRoute, { namespace, name })
        return isToldOf(metadata.generation, status?.parents[0]?.conditions, type, reason)
      }),
    async [Symbol.asyncDispose]() {
      await ingress.stop()
      await cluster.stop()
    },
  }
}

const isToldOf = (
  generation: number | undefined,
  conditions: readonly Condition[] | undefined,
  type: string,
  reason: string,
): boolean =>
  (conditions ?? []).some(
    (each) => each.type === type && each.reason === reason && each.observedGeneration === generation,
  )

export type Served = Awaited<ReturnType<typeof servingGateways>>

type InputOf<R> = R extends Resource<infer _T, infer I> ? I : never
type GatewaySpec = InputOf<typeof Gateway>["spec"]
type RouteSpec = InputOf<typeof HTTPRoute>["spec"]

export const gatewayOf = (name: string, listeners: GatewaySpec["listeners"], spec: Partial<GatewaySpec> = {}) => ({
  metadata: { name, namespace: "default" },
  spec: { gatewayClassName: "k3ts", listeners, ...spec },
})

export const routeOf = (name: string, spec: RouteSpec, namespace = "default") => ({
  metadata: { name, namespace },
  spec: { parentRefs: [{ name: "web", namespace: "default" }], ...spec },
})

/**
 * Creates a Service with one endpoint, a server that answers with the Service's name and the URL and headers of the
 * request.
 */
export async function serviceOf(
  { client }: Pick<Served, "client">,
  name: string,
  namespace = "default",
  spec: Partial<Service["spec"]> = {},
) {
  const server = createServer((request: IncomingMessage, answer: ServerResponse) => {
    answer.setHeader("x-of", name)
    answer.end(JSON.stringify({ service: name, url: request.url, headers: request.headers }))
  })
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve))
  await client.create(Service, {
    metadata: { name, namespace },
    spec: { ...spec, ports: [{ port: 80, name: "http" }] },
  })
  await client.create(EndpointSlice, {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: [{ addresses: [OWN_ADDRESS!] }],
    ports: [{ name: "http", port: (server.address() as AddressInfo).port }],
  })
  return { [Symbol.dispose]: () => void server.close() }
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** The request as the backend received it; undefined when the proxy answered by itself. */
  readonly asked:
    | { readonly service: string; readonly url: string; readonly headers: Record<string, string> }
    | undefined
}

export const get = (port: number, host: string, path = "/", headers: OutgoingHttpHeaders = {}) =>
  new Promise<Answered>((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, headers: { host, ...headers }, agent: false }
    const asked = httpRequest(options, (answer) => {
      let body = ""
      answer
        .on("data", (chunk) => (body += String(chunk)))
        .on("end", () =>
          resolve({
            status: answer.statusCode!,
            headers: answer.headers,
            asked: body.startsWith("{") ? (JSON.parse(body) as Answered["asked"]) : undefined,
          }),
        )
    })
    asked.on("error", reject).end()
  })
