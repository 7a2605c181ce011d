import { ApiError, badRequest, notFound } from "../../../pkg/apimachinery/errors.ts"
import type { Endpoints } from "../../../pkg/api/core/v1/endpoints.ts"
import type { Node } from "../../../pkg/api/core/v1/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod.ts"
import type { Service } from "../../../pkg/api/core/v1/service.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { RequestInfo } from "../http/request-info.ts"
import type { Live } from "./connect.ts"

/** Where a proxied request goes. */
export interface ProxyTarget {
  readonly scheme: "http" | "https"
  readonly host: string
  readonly port: number
  /** Where the pod runs that this is an address of. */
  readonly node?: string | undefined
}

/** `[scheme:]name[:port]`, as it stands in a proxy's path. Source: apimachinery pkg/util/net/port_split.go. */
export function splitProxyName(text: string): {
  readonly scheme: "http" | "https"
  readonly name: string
  readonly port: string
} {
  const parts = text.split(":")
  const scheme = parts.length === 3 ? parts.shift()! : ""
  const [name = "", port = ""] = parts
  if (parts.length > 2 || name === "" || !["", "http", "https"].includes(scheme))
    throw badRequest(`invalid proxy target ${JSON.stringify(text)}: must be [http:|https:]name[:port]`)
  return { scheme: scheme === "https" ? "https" : "http", name, port }
}

/** The pod's address, and the port named or its first one. Source: pkg/registry/core/pod/strategy.go ResourceLocation. */
export function podTarget({ namespace, name: text }: RequestInfo, live: Live): ProxyTarget {
  const { scheme, name, port } = splitProxyName(text)
  const pod = live("pods", { namespace, name }) as Pod | undefined
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name)
  const host = pod.status?.podIP ?? ""
  if (host === "") throw badRequest("address not allowed")
  const ports = pod.spec.containers.flatMap(({ ports }) => ports ?? [])
  const number =
    port === ""
      ? (ports[0]?.containerPort ?? (scheme === "https" ? 443 : 80))
      : /^\d+$/.test(port)
        ? Number(port)
        : ports.find((one) => one.name === port)?.containerPort
  if (number === undefined) throw badRequest(`pod ${JSON.stringify(name)} has no port ${JSON.stringify(port)}`)
  return { scheme, host, port: number, node: pod.spec.nodeName }
}

const KUBELET_PORT = 10250

/** The kubelet of a node, by the node's name, or another port of the machine. Source: pkg/registry/core/node/strategy.go ResourceLocation. */
export function nodeTarget(
  { name: text }: RequestInfo,
  live: Live,
): { readonly kubelet: string } | { readonly kubelet?: undefined; readonly address: ProxyTarget } {
  const { scheme, name, port } = splitProxyName(text)
  const node = live("nodes", { name }) as Node | undefined
  if (node === undefined) throw notFound({ group: "", plural: "nodes" }, name)
  const { daemonEndpoints, addresses = [] } = node.status
  if (port === "" || Number(port) === (daemonEndpoints?.kubeletEndpoint?.Port || KUBELET_PORT)) return { kubelet: name }
  const host = addresses.find(({ type }) => type === "InternalIP")?.address
  if (host === undefined) throw badRequest(`node ${JSON.stringify(name)} has no address`)
  if (!/^\d+$/.test(port)) throw badRequest(`node ${JSON.stringify(name)} has no port ${JSON.stringify(port)}`)
  return { address: { scheme, host, port: Number(port) } }
}

/** One of the service's ready endpoints. Source: pkg/registry/core/service/storage/storage.go ResourceLocation. */
export function serviceTarget({ namespace, name: text }: RequestInfo, live: Live, random: Random): ProxyTarget {
  const { scheme, name, port } = splitProxyName(text)
  const service = live("services", { namespace, name }) as Service | undefined
  if (service === undefined) throw notFound({ group: "", plural: "services" }, name)
  const none = new ApiError("ServiceUnavailable", `no endpoints available for service ${JSON.stringify(text)}`)
  const servicePorts = service.spec.ports ?? []
  // A number is one of the service's ports; the endpoints know it by its name only.
  const wanted =
    port === "" && servicePorts.length === 1
      ? (servicePorts[0]!.name ?? "")
      : /^\d+$/.test(port)
        ? (servicePorts.find((one) => one.port === Number(port))?.name ??
          (servicePorts.some((one) => one.port === Number(port)) ? "" : undefined))
        : port
  if (wanted === undefined)
    throw new ApiError("ServiceUnavailable", `no service port ${port} found for service ${JSON.stringify(name)}`)
  const endpoints = live("endpoints", { namespace, name }) as Endpoints | undefined
  const addresses = (endpoints?.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const found = ports.find((one) => (one.name ?? "") === wanted)
    return found === undefined
      ? []
      : addresses.map(({ ip, nodeName: node }) => ({ scheme, host: ip, port: found.port, node }))
  })
  if (addresses.length === 0) throw none
  return addresses[Math.floor(random.next() * addresses.length)]!
}
