import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { Cache } from "../cache.ts"
import type { NodeInfo } from "../node-info.ts"

/** Nodes among which a group is placed, as the trial wants them: name → additional score. */
export type Placement = ReadonlyMap<string, number>

/** Returns the label of nodes whose value must be the same for all pods of the group; undefined for none. */
export const topologyKeyOf = (group: PodGroup | undefined): string | undefined =>
  group?.spec.schedulingConstraints?.topology?.[0]?.key

/**
 * Returns the domains of a topology, each with its nodes: only the one in which pods of the group run already, if any
 * do. Source: plugins/topologyaware.
 * @param scheduled the pods of the group that have a node, with its name
 * @throws Error where pods of the group run in several domains, or on a node without the label
 */
export function placementsOf(
  key: string,
  cache: Cache,
  scheduled: readonly (readonly [Pod, NodeInfo | undefined])[],
): readonly Placement[] {
  const required = domainOf(key, scheduled)
  const domains = new Map<string, Map<string, number>>()
  for (const { name, node } of cache.list) {
    const domain = node.metadata.labels?.[key]
    if (domain === undefined || (required !== undefined && domain !== required)) continue
    const nodes = domains.get(domain)
    if (nodes === undefined) domains.set(domain, new Map([[name, 0]]))
    else nodes.set(name, 0)
  }
  return [...domains.values()]
}

function domainOf(key: string, scheduled: readonly (readonly [Pod, NodeInfo | undefined])[]): string | undefined {
  let found: string | undefined
  const fault = (why: string) => new Error(`cannot determine domain for already scheduled pods: ${why}`)
  for (const [{ metadata }, node] of scheduled) {
    const domain = node?.node.metadata.labels?.[key]
    if (domain === undefined) throw fault(`no topology domain found for pod ${metadata.namespace}/${metadata.name}`)
    if (found !== undefined && found !== domain)
      throw fault(`more than 1 domain found for pod group: ${found}, ${domain}`)
    found = domain
  }
  return found
}
