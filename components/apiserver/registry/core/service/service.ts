/**
 * Cluster IPs and node ports. They are held in memory only: what is taken is what stored Services say, read at the start and followed by events, so nothing can
 * leak or drift. In between stands a reservation, from the choice of a number to the commit of its Service.
 * Source: pkg/registry/core/service/storage/alloc.go.
 */
import { Service, type ServiceSpec } from "../../../../../pkg/api/core/v1/service.ts"
import { invalid, type Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { at, invalidValue } from "../../../../../pkg/apimachinery/field-errors.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import type { Storage } from "../../../../../pkg/storage/storage.ts"
import { storageKey, storagePrefix } from "../../../cacher/view.ts"
import type { KindHooks, Reservation } from "../../context.ts"
import { Allotment } from "./allotment.ts"
import { ipNumber, ipText, type IpRange } from "./ip-range.ts"

export interface ServiceRanges {
  readonly ips: IpRange
  readonly nodePorts: { readonly first: number; readonly last: number }
}

const RESOURCE = Service as unknown as Resource
const keyOfService = ({ metadata }: KubeObject): string => storageKey(RESOURCE, metadata)

export function serviceHooks(storage: Storage, { ips, nodePorts }: ServiceRanges, random: Random): KindHooks {
  const addresses = new Allotment({ first: ips.base + 1, last: ips.base + ips.size - 2, band: Math.min(Math.max(16, Math.floor(ips.size / 16)), 256), random })
  const portCount = nodePorts.last - nodePorts.first + 1
  const ports = new Allotment({ ...nodePorts, band: portCount < 32 ? 0 : Math.min(Math.max(16, Math.floor(portCount / 32)), 128), random })

  const held = ({ spec }: Service) => ({
    ips: (spec.clusterIPs ?? []).flatMap((ip) => ipNumber(ip) ?? []),
    ports: [...(spec.ports ?? []).flatMap(({ nodePort }) => nodePort || []), ...(spec.healthCheckNodePort ? [spec.healthCheckNodePort] : [])],
  })
  const drop = (service: Service, key: string) => {
    const { ips, ports: nodePorts } = held(service)
    for (const ip of ips) addresses.release(ip, key)
    for (const port of nodePorts) ports.release(port, key)
  }
  const restore = (service: Service, key: string) => {
    const { ips, ports: nodePorts } = held(service)
    for (const ip of ips) addresses.restore(ip, key)
    for (const port of nodePorts) ports.restore(port, key)
  }
  const prefix = storagePrefix(RESOURCE, undefined)
  for (const { key, object } of storage.list(prefix)) restore(object as Service, key)
  storage.subscribe((events) => {
    for (const { key, type, stored, previous } of events) {
      if (!key.startsWith(prefix)) continue
      if (previous !== undefined) drop(previous.object as Service, key)
      if (type !== "delete") restore(stored.object as Service, key)
    }
  })

  return {
    returnsDeleted: true,
    allocateForCreate: (object) => allocate(object as Service, undefined),
    allocateForUpdate: (object, old) => allocate(object as Service, old as Service),
  }

  function allocate(service: Service, old: Service | undefined): Reservation {
    const key = keyOfService(service)
    const undo: (() => void)[] = []
    const causes: Cause[] = []
    /** Node ports this Service asks for itself: two protocols may ask for the same. */
    const asked = new Set<number>()
    const before = old === undefined ? undefined : held(old)
    const spec = withNodePorts(withAddresses(withFamilies(service.spec)))
    if (causes.length > 0) {
      for (const step of undo) step()
      throw invalid(RESOURCE, service.metadata.name ?? "", causes)
    }
    return {
      object: spec === service.spec ? service : ({ ...service, spec } as Service),
      settle: (written) => {
        if (!written) for (const step of undo) step()
      },
    }

    function withAddresses(spec: ServiceSpec): ServiceSpec {
      if (spec.type === "ExternalName") return spec.clusterIP === undefined && spec.clusterIPs === undefined ? spec : without(spec, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
      if (spec.clusterIP === "None" || spec.clusterIPs?.[0] === "None") return { ...spec, clusterIP: "None", clusterIPs: ["None"] }
      const wish = spec.clusterIP || spec.clusterIPs?.[0]
      if (wish === undefined || wish === "") {
        const drawn = addresses.draw(key)
        if (drawn === undefined) {
          causes.push({ reason: "InternalError", field: "spec.clusterIPs", message: `Internal error: failed to allocate a serviceIP: range is full` })
          return spec
        }
        undo.push(() => addresses.release(drawn, key))
        return { ...spec, clusterIP: ipText(drawn), clusterIPs: [ipText(drawn)] }
      }
      const number = ipNumber(wish)
      const kept = number !== undefined && before?.ips.includes(number) === true
      if (!kept) {
        const refusal = number === undefined ? "out of range" : addresses.take(number, key)
        if (refusal === undefined) undo.push(() => addresses.release(number!, key))
        else {
          const why = refusal === "taken" ? "provided IP is already allocated" : `the provided IP (${wish}) is not in the valid range. The range of valid IPs is ${ips.cidr}`
          causes.push(invalidValue("spec.clusterIPs", [wish], `failed to allocate IP ${wish}: ${why}`))
        }
      }
      return { ...spec, clusterIP: wish, clusterIPs: spec.clusterIPs ?? [wish] }
    }

    function withNodePorts(spec: ServiceSpec): ServiceSpec {
      const exposes = spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
      const healthWanted = spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local"
      // TCP and UDP of one port number may share a node port.
      const byPort = new Map<number, number>()
      const list = spec.ports?.map((port, i) => {
        if (port.nodePort) {
          if (spec.type !== "NodePort" && spec.type !== "LoadBalancer") {
            // A Service that is no longer exposed gives back the ports it had; others were not its to ask for.
            return before?.ports.includes(port.nodePort) === true ? without(port, "nodePort") : port
          }
          takePort(port.nodePort, at("spec.ports", i, "nodePort"))
          byPort.set(port.port, port.nodePort)
          return port
        }
        if (!exposes) return port
        const shared = byPort.get(port.port)
        const nodePort = shared ?? drawPort(at("spec.ports", i, "nodePort"))
        if (nodePort === undefined) return port
        byPort.set(port.port, nodePort)
        return { ...port, nodePort }
      })
      const health = !healthWanted ? undefined : spec.healthCheckNodePort ? takePort(spec.healthCheckNodePort, "spec.healthCheckNodePort") : drawPort("spec.healthCheckNodePort")
      return { ...spec, ...(list === undefined ? {} : { ports: list }), ...(health === undefined ? {} : { healthCheckNodePort: health }) }
    }

    function drawPort(field: string): number | undefined {
      const drawn = ports.draw(key)
      if (drawn === undefined) causes.push({ reason: "InternalError", field, message: "Internal error: failed to allocate a nodePort: range is full" })
      else undo.push(() => ports.release(drawn, key))
      return drawn
    }

    function takePort(port: number, field: string): number {
      if (before?.ports.includes(port) === true || asked.has(port)) return port
      const refusal = ports.take(port, key)
      if (refusal === undefined) {
        asked.add(port)
        undo.push(() => ports.release(port, key))
      } else causes.push(invalidValue(field, port, refusal === "taken" ? "provided port is already allocated" : `provided port is not in the valid range. The range of valid ports is ${nodePorts.first}-${nodePorts.last}`))
      return port
    }
  }
}

/** One family is served, IPv4. A headless Service without selector takes whatever endpoints it is given. */
function withFamilies(spec: ServiceSpec): ServiceSpec {
  if (spec.type === "ExternalName") return spec
  const anyFamily = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0
  const families = (spec.ipFamilies ?? []).length > 0 ? spec.ipFamilies : anyFamily ? ["IPv4", "IPv6"] : ["IPv4"]
  return { ...spec, ipFamilies: families, ipFamilyPolicy: spec.ipFamilyPolicy ?? (anyFamily ? "RequireDualStack" : "SingleStack") } as ServiceSpec
}

function without<T extends object, K extends keyof T>(value: T, ...keys: readonly K[]): T {
  const copy = { ...value }
  for (const key of keys) delete copy[key]
  return copy
}
