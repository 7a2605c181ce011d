import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodGroup } from "../../../pkg/api/scheduling/v1alpha2/podgroup.ts"
import type { Cache } from "../cache.ts"
import type { NodeInfo } from "../node-info.ts"

/** Nodes among which a group is placed. */
export interface Placement {
  /** The value of the topology's label; empty for all nodes. */
  readonly domain: string
  /** As the trial wants them: name → additional score; undefined for all nodes. */
  readonly nodes: ReadonlyMap<string, number> | undefined
}

const EVERYWHERE: Placement = { domain: "", nodes: undefined }

/** Returns the label of nodes whose value must be the same for all pods of the group; undefined for none. */
export const topologyKeyOf = (group: PodGroup | undefined): string | undefined =>
  group?.spec.schedulingConstraints?.topology?.[0]?.key

/**
 * Returns the domains of a topology, each with its nodes: only the one in which pods of the group run already, if any
 * do. Without a topology they are one placement, with all nodes. Source: plugins/topologyaware.
 * @param scheduled the pods of the group that have a node, with that
 * @returns the fault where pods of the group run in several domains, or on a node without the label
 */
export function placementsOf(
  key: string | undefined,
  cache: Cache,
  scheduled: readonly (readonly [Pod, NodeInfo | undefined])[],
): readonly Placement[] | { readonly fault: string } {
  if (key === undefined) return [EVERYWHERE]
  const found = domainsOf(key, scheduled)
  if ("fault" in found) return found
  const domains = new Map<string, Map<string, number>>()
  for (const { name, node } of cache.list) {
    const domain = node.metadata.labels?.[key]
    if (domain === undefined || (found.required !== undefined && domain !== found.required)) continue
    const nodes = domains.get(domain)
    if (nodes === undefined) domains.set(domain, new Map([[name, 0]]))
    else nodes.set(name, 0)
  }
  return [...domains].map(([domain, nodes]) => ({ domain, nodes }))
}

function domainsOf(
  key: string,
  scheduled: readonly (readonly [Pod, NodeInfo | undefined])[],
): { readonly required: string | undefined } | { readonly fault: string } {
  let required: string | undefined
  const fault = (why: string) => ({ fault: `cannot determine domain for already scheduled pods: ${why}` })
  for (const [{ metadata }, node] of scheduled) {
    const domain = node?.node.metadata.labels?.[key]
    if (domain === undefined) return fault(`no topology domain found for pod ${metadata.namespace}/${metadata.name}`)
    if (required !== undefined && required !== domain)
      return fault(`more than 1 domain found for pod group: ${required}, ${domain}`)
    required = domain
  }
  return { required }
}
