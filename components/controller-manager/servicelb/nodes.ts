import { familyOf } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"

/**
 * If any node has this label with the value "true", only nodes with it serve load balancers. Source: k3s, Service Load
 * Balancer.
 */
export const ENABLE_LABEL = "svccontroller.k3s.cattle.io/enablelb"
/** A Service with this label is served by nodes with the same value of the label. Source: as above. */
export const POOL_LABEL = "svccontroller.k3s.cattle.io/lbpool"
/** Source: k8s.io/api core/v1 well_known_labels.go. */
const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"

/**
 * Returns a text of what decides whether and at which addresses a node serves load balancers; it changes only with
 * these.
 */
export const digestOf = (node: Node): string =>
  JSON.stringify([
    isReady(node),
    ...[ENABLE_LABEL, POOL_LABEL, EXCLUDE_LABEL].map((label) => node.metadata.labels?.[label] ?? null),
    node.status.addresses ?? [],
  ])

/**
 * The addresses at which a Service of type LoadBalancer is reached, sorted within each of its families in their order:
 * those of ready nodes, external ones where a node has any. Under externalTrafficPolicy Local of nodes with a ready
 * endpoint only, as other nodes drop what comes. A node writes its addresses itself, so those that no node can have are
 * left out (`canHave`). Source: k3s pkg/cloudprovider/servicelb.go getStatus.
 */
export function addressesFor(
  service: Service,
  nodes: readonly Node[],
  slices: readonly EndpointSlice[],
  canHave: (address: string) => boolean,
): readonly string[] {
  const isChosen = nodes.some(({ metadata }) => metadata.labels?.[ENABLE_LABEL] === "true")
  const pool = service.metadata.labels?.[POOL_LABEL]
  const serving =
    service.spec.externalTrafficPolicy === "Local"
      ? new Set(
          slices
            .flatMap(({ endpoints }) => (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false))
            .map(({ nodeName }) => nodeName),
        )
      : undefined
  const chosen = nodes.filter(
    (node) =>
      isReady(node) &&
      node.metadata.labels?.[EXCLUDE_LABEL] === undefined &&
      (!isChosen || node.metadata.labels?.[ENABLE_LABEL] === "true") &&
      (pool === undefined || node.metadata.labels?.[POOL_LABEL] === pool) &&
      (serving === undefined || serving.has(node.metadata.name)),
  )
  return (service.spec.ipFamilies ?? ["IPv4"]).flatMap((family) => {
    const addresses = chosen.flatMap(({ status }) => {
      const of = (type: string) =>
        (status.addresses ?? [])
          .filter((each) => each.type === type && familyOf(each.address) === family && canHave(each.address))
          .map(({ address }) => address)
      const external = of("ExternalIP")
      return external.length > 0 ? external : of("InternalIP")
    })
    return [...new Set(addresses)].sort()
  })
}

const isReady = ({ metadata, status }: Node): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True")
