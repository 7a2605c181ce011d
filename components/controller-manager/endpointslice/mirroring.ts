import { type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isIP } from "node:net"
import { endpointAddressFaults } from "../../../pkg/api/core/v1/service/endpointaddress.ts"
import { Endpoints, type EndpointAddress, type EndpointSubset } from "../../../pkg/api/core/v1/service/endpoints.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice, MANAGED_BY, SERVICE_NAME } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Endpoint } from "../../../pkg/api/discovery/v1/endpoint.ts"
import { splitKey } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { owned } from "../../../pkg/controller/owned.ts"
import { TRIGGER_TIME } from "./endpoint-ports.ts"
import { portsKey, reconcileSlices, removeSlice, slicesOf, type Group } from "./slices.ts"

/** Source of these: pkg/controller/endpointslicemirroring. */
const MANAGER = "endpointslicemirroring-controller.k8s.io"
const SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
/** Old leader elections kept their lock in Endpoints with this annotation, which are not mirrored. */
const LEADER = "control-plane.alpha.kubernetes.io/leader"
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
const MOST_PER_SUBSET = 1000

/**
 * Mirrors Endpoints that users write for Services without a selector into EndpointSlices, because proxies and DNS read
 * only those. Source: pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go.
 */
export const endpointSliceMirroringController = defineController<Endpoints>({
  name: "endpointslice-mirroring-controller",
  eventSource: "endpoint-slice-mirroring-controller",
  reconciles: Endpoints,
  watches: [
    { resource: Service, keys: ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    owned(EndpointSlice, Endpoints),
  ],
  async reconcile(key, context) {
    const { informers, client } = context
    const { name } = splitKey(key)
    const mirrored = slicesOf(key, MANAGER, informers)
    const endpoints = informers.of(Endpoints).get(key)
    const service = informers.of(Service).get(key)
    const wanted =
      endpoints !== undefined &&
      service !== undefined &&
      endpoints.metadata.deletionTimestamp === undefined &&
      service.spec.selector === undefined &&
      endpoints.metadata.labels?.[SKIP_MIRROR] !== "true" &&
      endpoints.metadata.annotations?.[LEADER] === undefined
    if (!wanted) {
      for (const slice of mirrored) await removeSlice(slice, client)
      return
    }
    for (const family of ["IPv4", "IPv6"] as const) {
      const {
        [LAST_APPLIED]: _applied,
        [TRIGGER_TIME]: _trigger,
        ...annotations
      } = endpoints.metadata.annotations ?? {}
      await reconcileSlices(
        {
          owner: endpoints,
          family,
          wanted: grouped(endpoints, family, context),
          existing: mirrored.filter(({ addressType }) => addressType === family),
          labels: { ...endpoints.metadata.labels, [SERVICE_NAME]: name, [MANAGED_BY]: MANAGER },
          annotations,
          maxEndpoints: MOST_PER_SUBSET,
          keyOf,
        },
        client,
      )
    }
  },
})

const keyOf = ({ addresses, targetRef }: Endpoint): string => `${addresses[0]} ${targetRef?.uid ?? ""}`

function grouped(endpoints: Endpoints, family: Family, { events }: ReconcileContext): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  for (const subset of endpoints.subsets ?? []) {
    const ports = (subset.ports ?? []).map(({ name = "", protocol, port, appProtocol }) => ({
      name,
      protocol,
      port,
      appProtocol,
    }))
    const all = endpointsOf(subset).filter(
      ([{ ip }]) => endpointAddressFaults(ip, "").length === 0 && isIP(ip) === (family === "IPv4" ? 4 : 6),
    )
    if (all.length === 0) continue
    if (all.length > MOST_PER_SUBSET) {
      events.event(
        endpoints,
        "Warning",
        "TooManyAddressesToMirror",
        `A max of ${MOST_PER_SUBSET} addresses can be mirrored to EndpointSlices per Endpoints subset. ` +
          `${all.length - MOST_PER_SUBSET} addresses were skipped`,
      )
    }
    const group = groups.get(portsKey(ports)) ?? { ports, endpoints: new Map<string, Endpoint>() }
    groups.set(portsKey(ports), group)
    for (const [address, ready] of all.slice(0, MOST_PER_SUBSET)) {
      const endpoint = endpointOf(address, ready)
      group.endpoints.set(keyOf(endpoint), endpoint)
    }
  }
  return groups
}

const endpointsOf = ({
  addresses = [],
  notReadyAddresses = [],
}: EndpointSubset): readonly (readonly [EndpointAddress, boolean])[] => [
  ...addresses.map((address) => [address, true] as const),
  ...notReadyAddresses.map((address) => [address, false] as const),
]

const endpointOf = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint => ({
  addresses: [ip],
  conditions: { ready },
  ...(hostname === undefined || hostname === "" ? {} : { hostname }),
  ...(targetRef === undefined ? {} : { targetRef }),
  ...(nodeName === undefined ? {} : { nodeName }),
})
