/** Ingresses that are served on ports of this machine, and Services whose endpoints are servers here. */
import { createServer, request as httpRequest, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { networkInterfaces } from "node:os"
import { createServer as createTlsServer } from "node:tls"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../pkg/api/networking/v1/ingressclass.ts"
import { k3tsIngressClass } from "../../pkg/api/networking/v1/k3ts-class.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { OwnPorts } from "../../pkg/component/own-ports.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { createCa, issueCertificate } from "../../pkg/pki/certificate.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { createIngress } from "./ingress.ts"

export const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address
if (OWN_ADDRESS === undefined)
  console.warn("SKIPPED: Ingresses with backends need an address of this machine other than loopback")

const USER = "system:serviceaccount:kube-system:k3ts-ingress"

/** A cluster without nodes and controllers, whose Ingresses are served on ports of this machine. */
export async function serving(config: { readonly httpPort?: number } = {}) {
  const cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
  const { client } = cluster
  await client.create(IngressClass, k3tsIngressClass)
  const fieldSelectors = new Map([[Secret as unknown as Resource, "type=kubernetes.io/tls"]])
  const context = cluster.contextFor(USER, ["system:serviceaccounts"], { fieldSelectors })
  const registry = new Registry()
  const ownPorts = new OwnPorts()
  const ingress = createIngress(context, {
    nodeIps: ["192.0.2.1"],
    apiPort: 6443,
    httpPort: 0,
    httpsPort: 0,
    host: "0.0.0.0",
    metrics: registry,
    ownPorts,
    ...config,
  })
  await ingress.start(new AbortController().signal)
  const addressOf = async (name: string) =>
    (await client.get(Ingress, { namespace: "default", name })).status.loadBalancer.ingress ?? []
  return {
    cluster,
    client,
    ingress,
    ownPorts,
    figures: () => registry.text(),
    /** Resolves when the Ingress is served. */
    served: (name: string) => cluster.eventually(async () => (await addressOf(name)).length > 0),
    addressOf,
    /** The reasons and messages of all Events. */
    told: async () => (await client.list(Event)).items.map(({ reason, message }) => `${reason}: ${message}`),
    get: (host: string, path = "/") => get(ingress.ports[0]!, host, path),
    async [Symbol.asyncDispose]() {
      await ingress.stop()
      await cluster.stop()
    },
  }
}

export const get = (port: number, host: string, path: string) =>
  new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
    const asked = httpRequest({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (answer) => {
      let body = ""
      answer
        .on("data", (chunk) => (body += String(chunk)))
        .on("end", () => resolve({ status: answer.statusCode!, body }))
    })
    asked.on("error", reject).end()
  })

export const rule = (host: string | undefined, service: string, path = "/") => ({
  ...(host === undefined ? {} : { host }),
  http: {
    paths: [{ path, pathType: "Prefix" as const, backend: { service: { name: service, port: { number: 80 } } } }],
  },
})
export const ingressOf = (
  name: string,
  spec: object,
  namespace = "default",
  annotations: Record<string, string> = {},
) => ({
  metadata: { name, namespace, annotations },
  spec: { ingressClassName: "k3ts", ...spec },
})

/**
 * A Service with an endpoint for each name, which is a server here that answers with its name; over TLS with an
 * `appProtocol`.
 */
export async function serviceOf(
  client: Awaited<ReturnType<typeof serving>>["client"],
  name: string,
  pods: readonly string[],
  { appProtocol, ...spec }: Partial<Service["spec"]> & { readonly appProtocol?: string } = { clusterIP: "None" },
) {
  const servers = await Promise.all(
    pods.map(async (pod) => {
      const answer = (_req: unknown, res: ServerResponse) => void res.end(pod)
      const server =
        appProtocol === undefined
          ? createServer(answer)
          : createTlsServer(pairFor(name), (socket) => {
              socket.on("error", () => undefined)
              socket.once("data", () => {
                socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${pod.length}\r\n\r\n${pod}`)
              })
            })
      await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve))
      return server
    }),
  )
  const ports = [{ port: 80, name: "http", ...(appProtocol === undefined ? {} : { appProtocol }) }]
  await client.create(Service, { metadata: { name, namespace: "default" }, spec: { ...spec, ports } })
  for (const [i, server] of servers.entries())
    await client.create(EndpointSlice, {
      metadata: { name: `${name}-${i}`, namespace: "default", labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [{ addresses: [OWN_ADDRESS!] }],
      ports: [{ name: "http", port: (server.address() as AddressInfo).port }],
    })
  return { [Symbol.dispose]: () => servers.forEach((server) => server.close()) }
}

const validity = { notBefore: new Date(Date.now() - 1000), notAfter: new Date(Date.now() + 86_400_000) }
const ca = createCa({ commonName: "test", validity })
export function pairFor(commonName: string) {
  const { certPem: cert, keyPem: key } = issueCertificate(ca, {
    subject: { commonName, organizations: [] },
    usages: ["server"],
    dnsNames: [commonName],
    validity,
  })
  return { cert, key }
}
