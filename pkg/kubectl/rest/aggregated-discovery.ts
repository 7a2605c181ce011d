import type { ApiGroup, ApiResource, ApiResourceList } from "./api-resource.ts"
import { groupVersionText } from "./json.ts"

/** apidiscovery.k8s.io/v2 APIGroupDiscoveryList, as far as it is read. */
export interface AggregatedDiscovery {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string }
    readonly versions?: readonly {
      readonly version: string
      readonly freshness?: string
      readonly resources?: readonly AggregatedResource[]
    }[]
  }[]
}

interface AggregatedResource {
  readonly resource: string
  readonly responseKind?: ResponseKind | null
  readonly scope?: string
  readonly singularResource?: string
  readonly verbs?: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly {
    readonly subresource: string
    readonly responseKind?: ResponseKind | null
    readonly verbs?: readonly string[]
  }[]
}

interface ResponseKind {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
}

export interface SplitDiscovery {
  readonly groups: readonly ApiGroup[]
  readonly lists: ReadonlyMap<string, ApiResourceList>
  /** Versions of groups whose server did not answer. */
  readonly stale: readonly string[]
}

/** Returns groups and resources. Source: client-go discovery/aggregated_discovery.go. */
export function splitDiscovery({ items = [] }: AggregatedDiscovery): SplitDiscovery {
  const groups: ApiGroup[] = []
  const lists = new Map<string, ApiResourceList>()
  const stale: string[] = []
  for (const { metadata, versions = [] } of items) {
    const name = metadata?.name ?? ""
    const known = versions.map(({ version }) => ({ groupVersion: groupVersionText(name, version), version }))
    if (known.length === 0) continue
    for (const { version, freshness, resources = [] } of versions) {
      const groupVersion = groupVersionText(name, version)
      if (freshness === "Stale") stale.push(groupVersion)
      else lists.set(groupVersion, { groupVersion, resources: resources.flatMap(withSubresources) })
    }
    groups.push({ name, versions: known, preferredVersion: known[0]! })
  }
  return { groups, lists, stale }
}

const isKnown = (kind: ResponseKind | null | undefined): kind is ResponseKind => (kind?.kind ?? "") !== ""

function withSubresources(resource: AggregatedResource): readonly ApiResource[] {
  const { resource: name, singularResource = "", responseKind, verbs = [], subresources = [] } = resource
  const common = { singularName: singularResource, namespaced: resource.scope === "Namespaced" }
  const main = isKnown(responseKind)
    ? [
        {
          name,
          ...common,
          ...kindOf(responseKind),
          verbs,
          ...(resource.shortNames === undefined ? {} : { shortNames: resource.shortNames }),
          ...(resource.categories === undefined ? {} : { categories: resource.categories }),
        },
      ]
    : []
  const below = subresources.flatMap((sub) =>
    isKnown(sub.responseKind)
      ? [{ name: `${name}/${sub.subresource}`, ...common, ...kindOf(sub.responseKind), verbs: sub.verbs ?? [] }]
      : [],
  )
  return [...main, ...below]
}

const kindOf = ({
  group = "",
  version = "",
  kind = "",
}: ResponseKind): Pick<ApiResource, "group" | "version" | "kind"> => ({
  ...(group === "" ? {} : { group }),
  ...(version === "" ? {} : { version }),
  kind,
})
