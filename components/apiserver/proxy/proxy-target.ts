import { lookup } from "node:dns/promises"
import { ApiError, badRequest, notFound } from "../../../pkg/apimachinery/errors.ts"
import { parseAddress, joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isGlobalUnicast } from "../../../pkg/apimachinery/addresses/global-unicast.ts"
import { Endpoints, type EndpointAddress } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { KUBELET_PORT } from "../../../pkg/component/node-connector.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import type { RequestInfo } from "../call/request-info.ts"

/** The target of a proxied request. */
export interface ProxyTarget {
  readonly scheme: "http" | "https"
  /** A global unicast IP address. Names are resolved before, so that the address that was checked is dialled. */
  readonly host: string
  /** From 1 to 65535. */
  readonly port: number
  /** The node of the pod with this address. */
  readonly node?: string | undefined
}

/** `[scheme:]name[:port]`, as it stands in a proxy's path. Source: apimachinery pkg/util/net/port_split.go. */
export function splitProxyName(
  text: string,
  kind: "pod" | "service" | "node",
): { readonly scheme: "http" | "https"; readonly name: string; readonly port: string } {
  const parts = text.split(":")
  const scheme = parts.length === 3 ? parts.shift()! : ""
  const [name = "", port = ""] = parts
  if (parts.length > 2 || name === "" || !["", "http", "https"].includes(scheme))
    throw badRequest(`invalid ${kind} request ${JSON.stringify(text)}`)
  return { scheme: scheme === "https" ? "https" : "http", name, port }
}

/**
 * Returns the pod's address with the given port, or its first port. Source: pkg/registry/core/pod/strategy.go
 * ResourceLocation. Differs from upstream: a port may be given by its name.
 */
export function podTarget({ namespace, name: text }: RequestInfo, objects: ObjectReader): ProxyTarget {
  const { scheme, name, port } = splitProxyName(text, "pod")
  const pod = objects.get(Pod, { namespace, name })
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name)
  const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? ""
  if (!isGlobalUnicast(host)) throw notAllowed()
  const ports = pod.spec.containers.flatMap(({ ports }) => ports ?? [])
  const number =
    port === ""
      ? (ports[0]?.containerPort ?? (scheme === "https" ? 443 : 80))
      : (numberOf(port, host) ?? ports.find((one) => one.name === port)?.containerPort)
  if (number === undefined) throw badRequest(`pod ${JSON.stringify(name)} has no port ${JSON.stringify(port)}`)
  return { scheme, host, port: number, node: pod.spec.nodeName }
}

/**
 * Returns the node whose kubelet is the target, or the address of another port of the node. Source:
 * pkg/registry/core/node/strategy.go ResourceLocation.
 */
export async function nodeTarget(
  { name: text }: RequestInfo,
  objects: ObjectReader,
): Promise<{ readonly kubelet: string } | { readonly kubelet?: undefined; readonly address: ProxyTarget }> {
  const { scheme, name, port } = splitProxyName(text, "node")
  const node = objects.get(Node, { name })
  if (node === undefined) throw notFound({ group: "", plural: "nodes" }, name)
  const { daemonEndpoints } = node.status
  if (port === "" || Number(port) === (daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT)) return { kubelet: name }
  const host = await proxyableAddress(addressOf(node))
  const number = numberOf(port, host)
  if (number === undefined) throw badRequest(`node ${JSON.stringify(name)} has no port ${JSON.stringify(port)}`)
  return { address: { scheme, host, port: number } }
}

/** The order in which the addresses of a node are tried, which is that of k3s. */
const ADDRESS_TYPES: readonly string[] = ["InternalIP", "ExternalIP", "InternalDNS", "ExternalDNS", "Hostname"]

export function addressOf({ metadata, status: { addresses = [] } }: Node): string {
  for (const type of ADDRESS_TYPES) {
    const found = addresses.find((one) => one.type === type)?.address
    if (found !== undefined && found !== "") return found
  }
  throw badRequest(`node ${JSON.stringify(metadata.name)} has no address`)
}

/**
 * Resolves an address and checks that the proxy may connect to it. A kubelet writes the addresses of its Node itself,
 * so they cannot be trusted.
 */
export async function proxyableAddress(host: string): Promise<string> {
  const addresses =
    parseAddress(host) === undefined
      ? await lookup(host, { all: true }).then(
          (found) => found.map(({ address }) => address),
          () => {
            throw badRequest(`lookup ${host}: no such host`)
          },
        )
      : [host]
  if (addresses.length === 0) throw badRequest("no addresses for hostname")
  if (!addresses.every(isGlobalUnicast)) throw notAllowed()
  return addresses[0]!
}

/**
 * Returns one of the service's ready endpoints that is a pod. Source: pkg/registry/core/service/storage/storage.go
 * ResourceLocation.
 */
export function serviceTarget(
  { namespace, name: text }: RequestInfo,
  objects: ObjectReader,
  random: Random,
): ProxyTarget {
  const { scheme, name, port } = splitProxyName(text, "service")
  const service = objects.get(Service, { namespace, name })
  if (service === undefined) throw notFound({ group: "", plural: "services" }, name)
  const targets = readyAddresses(service, objects.get(Endpoints, { namespace, name }), port)
    .filter(({ address }) => isPodAddress(address, namespace, objects))
    .map(({ address: { ip, nodeName: node }, port }) => ({ scheme, host: ip, port, node }))
  if (targets.length === 0)
    throw new ApiError("ServiceUnavailable", `no endpoints available for service ${JSON.stringify(text)}`)
  return targets[Math.floor(random.next() * targets.length)]!
}

/**
 * Returns the ready addresses behind a port of a service, given by number or name.
 * @throws ApiError ServiceUnavailable when the service has no such port
 */
export function readyAddresses(
  service: Service,
  endpoints: Endpoints | undefined,
  port: string,
): readonly { readonly address: EndpointAddress; readonly port: number }[] {
  const portName = portNameOf(service, port)
  return (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const found = ports.find((one) => (one.name ?? "") === portName)
    return found === undefined ? [] : addresses.map((address) => ({ address, port: found.port }))
  })
}

/**
 * Returns the name of a service's port given by number, because endpoints know ports by name only. No port means the
 * port without a name.
 */
function portNameOf({ metadata, spec }: Service, port: string): string {
  if (!/^\d+$/.test(port)) return port
  const found = (spec.ports ?? []).find((one) => one.port === Number(port))
  if (found === undefined)
    throw new ApiError(
      "ServiceUnavailable",
      `no service port ${port} found for service ${JSON.stringify(metadata.name)}`,
    )
  return found.name ?? ""
}

/**
 * Whether the address is that of a pod of the namespace: a user who writes Endpoints must not lead the API server
 * anywhere else.
 */
function isPodAddress({ ip, targetRef }: EndpointAddress, namespace: string, objects: ObjectReader): boolean {
  if (targetRef?.name === undefined || targetRef.namespace !== namespace || !isGlobalUnicast(ip)) return false
  const pod = objects.get(Pod, { namespace, name: targetRef.name })
  return pod?.status?.podIPs?.some((one) => one.ip === ip) === true
}

const notAllowed = (): ApiError => badRequest("address not allowed")

/**
 * Parses a port in digits; undefined for a name.
 * @throws ApiError ServiceUnavailable, in the words of Go's dialer, for a number that is no port
 */
function numberOf(port: string, host: string): number | undefined {
  if (!/^\d+$/.test(port)) return undefined
  const number = Number(port)
  if (number > 65535) throw unreachable(`dial tcp: address ${port}: invalid port`)
  if (number === 0) throw unreachable(`dial tcp ${joinHostPort(host, 0)}: connect: connection refused`)
  return number
}

/** The error for a client when the target cannot be reached. */
export const unreachable = (why: string): ApiError =>
  new ApiError("ServiceUnavailable", `error trying to reach service: ${why}`)
