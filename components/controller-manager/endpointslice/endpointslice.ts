import { fromLabels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { EndpointSlice, MANAGED_BY, SERVICE_NAME } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Endpoint } from "../../../pkg/api/discovery/v1/endpoint.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import { splitKey } from "../../../pkg/client/informer.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { selectedPods } from "../selection/selected-pods.ts"
import { owned } from "../../../pkg/controller/owned.ts"
import {
  addressOf,
  canBeEndpoint,
  HEADLESS_LABEL,
  hostnameOf,
  isHeadless,
  portResolver,
  readinessOf,
  TRIGGER_TIME,
} from "./endpoint-ports.ts"
import { servicesOfPod } from "./services-of-pod.ts"
import { portsKey, reconcileSlices, removeSlice, slicesOf, type Group, type SliceChanges } from "./slices.ts"
import { TopologyHints, wantsTopologyHints, ZONE, type HintEvent } from "./topology-hints.ts"

const MANAGER = "endpointslice-controller.k8s.io"
/** Most endpoints of a slice. Source: --max-endpoints-per-slice. */
const MAX_ENDPOINTS = 100

/**
 * Keeps the EndpointSlices of each Service with a selector. Source: pkg/controller/endpointslice,
 * k8s.io/endpointslice/reconciler.go.
 */
export function endpointSliceController(): Controller<Service> {
  const topology = new TopologyHints()
  /** Whether the nodes have changed since `topology` got them. */
  let isStale = true
  const withNodes = ({ informers }: ReconcileContext): TopologyHints => {
    if (isStale) topology.setNodes(informers.of(Node).list())
    isStale = false
    return topology
  }
  return defineController<Service>({
    name: "endpointslice-controller",
    eventSource: "endpoint-slice-controller",
    reconciles: Service,
    watches: [
      servicesOfPod,
      owned(EndpointSlice, Service),
      watching(Node, (node, context, old, deleted) => {
        if (old !== undefined && !deleted && !changesZones(old, node)) return []
        isStale = true
        return topology.isUsed ? withNodes(context).overloaded : []
      }),
    ],
    async reconcile(key, context) {
      const { informers, client, events } = context
      const { namespace = "" } = splitKey(key)
      const service = informers.of(Service).get(key)
      if (service === undefined) topology.forget(key)
      if (service === undefined || service.metadata.deletionTimestamp !== undefined) return
      if (
        service.spec.type === "ExternalName" ||
        service.spec.selector === undefined ||
        Object.keys(service.spec.selector).length === 0
      )
        return
      const existing = slicesOf(key, MANAGER, informers)
      const selector = fromLabels(service.spec.selector)
      const pods = selectedPods(informers.of(Pod), namespace, selector).filter((pod) => canBeEndpoint(pod, true))
      const families = (service.spec.ipFamilies ?? ["IPv4"]) as readonly EndpointSlice["addressType"][]
      for (const family of families) {
        let event: HintEvent | undefined
        const hinted = (changes: SliceChanges): SliceChanges => {
          const added = withNodes(context).add(key, family, changes)
          event = added.event
          return added.changes
        }
        const isHinted = wantsTopologyHints(service)
        if (!isHinted) event = topology.drop(key, family)
        await reconcileSlices(
          {
            owner: service,
            family,
            wanted: grouped(pods, service, family, context),
            existing: existing.filter((slice) => slice.addressType === family),
            labels: labelsOf(service),
            annotations: { [TRIGGER_TIME]: timestamp(context.clock) },
            maxEndpoints: MAX_ENDPOINTS,
            keyOf: ({ targetRef }) => targetRef?.uid ?? "",
            ...(isHinted ? { hinted } : {}),
          },
          client,
        )
        if (event !== undefined) events.event(service, event.type, event.reason, event.message)
      }
      for (const slice of existing) {
        if (families.includes(slice.addressType)) continue
        topology.drop(key, slice.addressType)
        await removeSlice(slice, client)
      }
    },
  })
}

/** Source: updateNode, pkg/controller/endpointslice/endpointslice_controller.go. */
const changesZones = (old: Node, node: Node): boolean =>
  old.metadata.labels?.[ZONE] !== node.metadata.labels?.[ZONE] || isReady(old) !== isReady(node)

const isReady = ({ status }: Node): boolean =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true

/** Groups endpoints that serve the same ports. */
function grouped(
  pods: readonly Pod[],
  service: Service,
  family: string,
  context: ReconcileContext,
): ReadonlyMap<string, Group> {
  const groups = new Map<Group["ports"], Group>()
  const portsOn = portResolver(service)
  for (const pod of pods) {
    const address = addressOf(pod, family)
    if (address === undefined) continue
    const ports = portsOn(pod)
    const group = groups.get(ports) ?? { ports, endpoints: new Map<string, Endpoint>() }
    groups.set(ports, group)
    group.endpoints.set(pod.metadata.uid ?? "", endpointOf(pod, service, address, context))
  }
  // A Service without pods has an empty slice, so that clients can tell "no endpoints" from "not reconciled yet".
  if (groups.size === 0) groups.set([], { ports: [], endpoints: new Map() })
  return new Map([...groups.values()].map((group) => [portsKey(group.ports), group]))
}

function endpointOf(pod: Pod, service: Service, address: string, { informers }: ReconcileContext): Endpoint {
  const node = pod.spec.nodeName === undefined ? undefined : informers.of(Node).get(pod.spec.nodeName)
  const zone = node?.metadata.labels?.[ZONE] === "" ? undefined : node?.metadata.labels?.[ZONE]
  const hostname = hostnameOf(pod, service)
  return {
    addresses: [address],
    conditions: readinessOf(pod, service),
    targetRef: { kind: "Pod", namespace: pod.metadata.namespace, name: pod.metadata.name, uid: pod.metadata.uid },
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    ...(zone === undefined ? {} : { zone }),
    ...hintsFor(pod, service, zone),
    ...(hostname === undefined ? {} : { hostname }),
  }
}

/** The values of trafficDistribution that keep traffic close. Source: endpointslice/trafficdist. */
const CLOSE: ReadonlySet<string> = new Set(["PreferClose", "PreferSameZone", "PreferSameNode"])

/** Returns the zone and node for which a ready endpoint is meant: proxies prefer close ones. Source: as above. */
function hintsFor(pod: Pod, service: Service, zone: string | undefined): Pick<Endpoint, "hints"> {
  const { trafficDistribution = "" } = service.spec
  // Hints by zone follow from all endpoints together: TopologyHints sets them.
  if (wantsTopologyHints(service)) return {}
  if (!CLOSE.has(trafficDistribution) || readinessOf(pod, service).ready !== true) return {}
  const { nodeName = "" } = pod.spec
  const forZones = zone === undefined ? [] : [{ name: zone }]
  const forNodes = trafficDistribution === "PreferSameNode" && nodeName !== "" ? [{ name: nodeName }] : []
  if (forZones.length + forNodes.length === 0) return {}
  return {
    hints: { ...(forZones.length > 0 ? { forZones } : {}), ...(forNodes.length > 0 ? { forNodes } : {}) },
  }
}

function labelsOf(service: Service): Readonly<Record<string, string>> {
  const { [HEADLESS_LABEL]: _, ...own } = service.metadata.labels ?? {}
  return {
    ...own,
    ...(isHeadless(service) ? { [HEADLESS_LABEL]: "" } : {}),
    [SERVICE_NAME]: service.metadata.name ?? "",
    [MANAGED_BY]: MANAGER,
  }
}
