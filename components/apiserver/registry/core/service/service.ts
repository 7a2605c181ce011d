/**
 * Allocates what a Service gets when it is written: families, cluster IPs, node ports. Allocated node ports are kept in
 * memory: they are read from the stored Services at the start and follow the store's events, so none can leak. From the
 * choice of a port to the commit of its Service a reservation holds it; servers that share the store agree by a key for
 * each port (node-port.ts). Source:
 * pkg/registry/core/service/storage/alloc.go.
 */
import { Service } from "../../../../../pkg/api/core/v1/service/service.ts"
import type { ServiceSpec } from "../../../../../pkg/api/core/v1/service/servicespec.ts"
import type { Family } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { ApiError, invalid, type Cause } from "../../../../../pkg/apimachinery/errors.ts"
import { at, invalidValue } from "../../../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import type { Storage } from "../../../../../pkg/storage/storage.ts"
import { StoredKind } from "../../../cacher/stored-kind.ts"
import { storageKey } from "../../../cacher/view.ts"
import type { KindHooks, Reservation } from "../../context.ts"
import { Allotment } from "./allotment.ts"
import { keepsPreference, withFamilies } from "./families.ts"
import { addressWrites } from "./ip-address.ts"
import { nodePortKey, nodePortsOf, nodePortWrites } from "./node-port.ts"
import { ServiceAddresses } from "./service-addresses.ts"

export interface ServiceHookOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly nodePorts: { readonly first: number; readonly last: number }
  /** The families of Services, the primary one first. */
  readonly serviceFamilies: readonly Family[]
}

const keyOfService = ({ metadata }: KubeObject): string => storageKey(Service, metadata)

export function serviceHooks({
  storage,
  clock,
  random,
  nodePorts,
  serviceFamilies,
}: ServiceHookOptions): KindHooks<Service> {
  const addresses = new ServiceAddresses(storage, random)
  const isShared = storage.freshen !== undefined
  const portCount = nodePorts.last - nodePorts.first + 1
  const ports = new Allotment({
    ...nodePorts,
    band: portCount < 32 ? 0 : Math.min(Math.max(16, Math.floor(portCount / 32)), 128),
    random,
    ...(isShared ? { isTakenElsewhere: (port) => storage.get(nodePortKey(port)) !== undefined } : {}),
  })

  const services = new StoredKind(storage, Service)
  for (const { key, object } of services.list()) for (const port of nodePortsOf(object)) ports.restore(port, key)
  services.subscribe(({ key, type, stored, previous }) => {
    if (previous !== undefined) for (const port of nodePortsOf(previous.object)) ports.release(port, key)
    if (type !== "delete") for (const port of nodePortsOf(stored.object)) ports.restore(port, key)
  })

  return {
    allocateForCreate: (service, dryRun) => allocate(service, undefined, dryRun),
    allocateForUpdate: (service, old, dryRun) => allocate(service, old, dryRun),
    alongside: (next, old) => [
      ...addressWrites(storage, { clock, random }, next, old),
      ...(isShared ? nodePortWrites(storage, clock, next, old) : []),
    ],
  }

  function allocate(service: Service, old: Service | undefined, dryRun: boolean): Reservation {
    const key = keyOfService(service)
    const name = service.metadata.name ?? ""
    /**
     * Steps that end the reservations. `settled` runs in any case: after a write the store holds the address, after a
     * failure nobody does. `undo` releases the ports when the write failed.
     */
    const settled: (() => void)[] = []
    const undo: (() => void)[] = []
    const causes: Cause[] = []
    /** Node ports that this Service names: two protocols may name the same. */
    const asked = new Set<number>()
    const before = old === undefined ? [] : nodePortsOf(old)
    const settle = (written: boolean) => {
      for (const step of settled) step()
      if (!written) for (const step of undo) step()
    }
    try {
      const families = withFamilies(service.spec, old?.spec, serviceFamilies)
      if (!("type" in families)) throw invalid(Service, name, families)
      const spec = withNodePorts(withAddresses(families))
      if (causes.length > 0) throw invalid(Service, name, causes)
      return { object: spec === service.spec ? service : { ...service, spec }, settle }
    } catch (err) {
      settle(false)
      throw err
    }

    function withAddresses(spec: ServiceSpec): ServiceSpec {
      if (spec.type === "ExternalName")
        return spec.internalTrafficPolicy === undefined ? spec : without(spec, "internalTrafficPolicy")
      if (keepsPreference(spec, old?.spec)) return spec
      if (spec.clusterIP === "None") return { ...spec, clusterIPs: ["None"] }
      const { ipFamilies = [], clusterIPs: asked = [] } = spec
      const held = old === undefined || old.spec.type === "ExternalName" ? 0 : (old.spec.ipFamilies ?? []).length
      // Addresses never change: validation refuses others. Only a second one may come, or go.
      if (held >= ipFamilies.length || old?.spec.clusterIP === "None") return spec
      const requested = ipFamilies.map((_, i) => asked[i] ?? "")
      const clusterIPs = ipFamilies.map((family, i) =>
        i < held ? requested[i]! : addressFor(family as Family, requested[i]!, requested),
      )
      return { ...spec, clusterIP: clusterIPs[0]!, clusterIPs }
    }

    /** Reserves the address `wanted`, or any when it is empty. `requested` is what a message shows. */
    function addressFor(family: Family, wanted: string, requested: readonly string[]): string {
      const ip = wanted === "" ? addresses.draw(family) : wanted
      if (ip === undefined)
        throw new ApiError(
          "InternalError",
          `Internal error occurred: failed to allocate a serviceIP for Service ${JSON.stringify(name)}: range is full`,
        )
      const refusal = wanted === "" ? undefined : addresses.take(wanted, dryRun)
      if (refusal !== undefined)
        throw invalid(Service, name, [
          invalidValue("spec.clusterIPs", requested, `failed to allocate IP ${ip}: ${refusal}`),
        ])
      if (wanted === "" || !dryRun) settled.push(() => addresses.release(ip))
      return ip
    }

    function withNodePorts(spec: ServiceSpec): ServiceSpec {
      const exposes =
        spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
      const healthWanted = spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local"
      // TCP and UDP of one port number may share a node port.
      const byPort = new Map<number, number>()
      const list = spec.ports?.map((port, i) => {
        if (port.nodePort) {
          if (spec.type !== "NodePort" && spec.type !== "LoadBalancer") {
            // A Service that is no longer exposed releases its ports; it may not name other ones.
            return before.includes(port.nodePort) ? without(port, "nodePort") : port
          }
          if (byPort.get(port.port) !== port.nodePort) takePort(port.nodePort, at("spec.ports", i, "nodePort"))
          byPort.set(port.port, port.nodePort)
          return port
        }
        if (!exposes) return port
        const shared = byPort.get(port.port) ?? requestedFor(port.port, i)
        const nodePort = shared ?? drawPort(at("spec.ports", i, "nodePort"))
        if (nodePort === undefined) return port
        byPort.set(port.port, nodePort)
        return { ...port, nodePort }
      })
      /** Returns the node port that a later port of the same number names: two protocols share it. */
      function requestedFor(number: number, i: number): number | undefined {
        const named = old === undefined && spec.ports?.find(({ port, nodePort }) => port === number && nodePort)
        if (!named) return undefined
        return takePort(named.nodePort!, at("spec.ports", i, "nodePort"))
      }
      const health = !healthWanted
        ? undefined
        : spec.healthCheckNodePort
          ? takeHealthPort(spec.healthCheckNodePort)
          : drawPort("spec.healthCheckNodePort")
      return {
        ...spec,
        ...(list === undefined ? {} : { ports: list }),
        ...(health === undefined ? {} : { healthCheckNodePort: health }),
      }
    }

    function drawPort(field: string): number | undefined {
      const drawn = ports.draw(key)
      if (drawn === undefined)
        causes.push({
          reason: "InternalError",
          field,
          message: "Internal error: failed to allocate a nodePort: range is full",
        })
      else undo.push(() => ports.release(drawn, key))
      return drawn
    }

    function takeHealthPort(port: number): number {
      const refusal = causes.length > 0 ? undefined : refusalOf(port)
      if (refusal !== undefined)
        throw ApiError.from(new Error(`failed to allocate requested HealthCheck NodePort ${port}: ${refusal}`))
      return port
    }

    function takePort(port: number, field: string): number {
      // As upstream, allocation stops at the first port that cannot be allocated.
      const refusal = causes.length > 0 ? undefined : refusalOf(port)
      if (refusal !== undefined) causes.push(invalidValue(field, port, refusal))
      return port
    }

    /** Allocates a port that the Service names; returns why it cannot be had. */
    function refusalOf(port: number): string | undefined {
      if (before.includes(port) === true || (old !== undefined && asked.has(port))) return undefined
      // A new Service allocates each port once.
      const refusal = asked.has(port) ? "taken" : ports.take(port, key)
      // As upstream, a dry run accepts a port outside of the range.
      if (refusal === undefined || (refusal === "out of range" && dryRun)) {
        asked.add(port)
        if (refusal === undefined) undo.push(() => ports.release(port, key))
        return undefined
      }
      return refusal === "taken"
        ? "provided port is already allocated"
        : `provided port is not in the valid range. The range of valid ports is ${nodePorts.first}-${nodePorts.last}`
    }
  }
}

function without<T extends object, K extends keyof T>(value: T, ...keys: readonly K[]): T {
  const copy = { ...value }
  for (const key of keys) delete copy[key]
  return copy
}
