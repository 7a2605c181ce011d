import { createHash } from "node:crypto"
import { storageVersionHash, type Scheme } from "../../../pkg/api/scheme.ts"
import type { RemoteVersion } from "../aggregator/discovery.ts"
import type { ListedGroup, ListedGroups } from "../aggregator/groups.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"

/**
 * Discovery documents, computed from the scheme. Sources: apimachinery pkg/apis/meta/v1/types.go,
 * api/apidiscovery/v2/types.go.
 */

interface SubresourceEntry {
  readonly name: string
  readonly verbs: readonly string[]
  readonly kind: string
  readonly group?: string
  readonly version?: string
}

/** The subresources of a resource, sorted by name; those of custom resources in upstream's order. */
function subresourcesOf({ kind, subresources, definition }: Resource): readonly SubresourceEntry[] {
  if (subresources === undefined) return []
  const entries: SubresourceEntry[] = Object.entries(subresources.other ?? {}).map(([name, entry]) => ({
    name,
    ...entry,
  }))
  if (subresources.status !== undefined) entries.push({ name: "status", verbs: ["get", "patch", "update"], kind })
  if (subresources.scale !== undefined)
    entries.push({
      name: "scale",
      verbs: ["get", "patch", "update"],
      kind: "Scale",
      group: "autoscaling",
      version: "v1",
    })
  return definition === undefined ? entries.sort((a, b) => (a.name < b.name ? -1 : 1)) : entries
}

/** `/api` */
export const apiVersions = (serverAddress: string) => ({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
})

/** `/apis` */
export const apiGroupList = ({ named }: ListedGroups) => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: named.filter(({ name }) => name !== "").map(groupEntry),
})

/** `/apis/<group>`; undefined when there is no such group. */
export function apiGroup({ named }: ListedGroups, name: string) {
  const group = name === "" ? undefined : named.find((one) => one.name === name)
  return group === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) }
}

function groupEntry({ name, versions }: ListedGroup) {
  const entries = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: entries, preferredVersion: entries[0]! }
}

/** `/api/v1` and `/apis/<group>/<version>`; undefined when there is no such version. */
export function apiResourceList(scheme: Scheme, group: string, version: string) {
  const served = scheme.resourcesOf(group, version)
  if (served.length === 0) return undefined
  const resources = served.flatMap((resource) => {
    const { plural, singular, scope, kind, verbs, shortNames, categories } = resource
    const namespaced = scope === "Namespaced"
    const hash = storageVersionHash(resource)
    return [
      {
        name: plural,
        singularName: singular,
        namespaced,
        kind,
        verbs: inOrder(verbs, resource),
        ...nonEmpty("shortNames", shortNames),
        ...nonEmpty("categories", categories),
        ...(hash === undefined ? {} : { storageVersionHash: hash }),
      },
      ...subresourcesOf(resource).map((sub) => ({
        name: `${plural}/${sub.name}`,
        singularName: "",
        namespaced,
        ...(sub.group === undefined ? {} : { group: sub.group, version: sub.version ?? version }),
        kind: sub.kind,
        verbs: [...sub.verbs].sort(),
      })),
    ]
  })
  return {
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: group === "" ? version : `${group}/${version}`,
    resources: served[0]!.definition === undefined ? resources.sort((a, b) => (a.name < b.name ? -1 : 1)) : resources,
  }
}

/** Sorted by name; those of custom resources in upstream's order. Source: customresource_discovery_controller.go. */
const inOrder = (verbs: readonly string[], { definition }: Resource): readonly string[] =>
  definition === undefined ? [...verbs].sort() : verbs

const nonEmpty = <K extends string>(
  key: K,
  values: readonly string[] | undefined,
): Partial<Record<K, readonly string[]>> =>
  values === undefined || values.length === 0 ? {} : ({ [key]: values } as Record<K, readonly string[]>)

export interface Document {
  readonly text: string
  /** The ETag with its quotes, as in the header. */
  readonly etag: string
}

/**
 * Returns one document for all groups and resources: `/api` for the core group, `/apis` for the others. Versions of
 * extension API servers are shown as these describe them.
 */
export function aggregated(
  scheme: Scheme,
  listed: ListedGroups,
  which: "api" | "apis",
  version: "v2" | "v2beta1",
): Document {
  const groups = listed.aggregated.filter(({ name }) => (name === "") === (which === "api"))
  const items = groups.map(({ name, versions }) => ({
    metadata: name === "" ? {} : { name },
    versions: versions.map(({ version, remote }) =>
      remote === undefined ? ownVersion(scheme, name, version) : remoteVersion(version, remote),
    ),
  }))
  const text = JSON.stringify({
    kind: "APIGroupDiscoveryList",
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items,
  })
  return { text, etag: `"${createHash("sha256").update(text).digest("hex").toUpperCase()}"` }
}

const ownVersion = (scheme: Scheme, group: string, version: string) => ({
  version,
  resources: scheme
    .resourcesOf(group, version)
    .map(aggregatedResource)
    .sort((a, b) => (a.resource < b.resource ? -1 : 1)),
  freshness: "Current",
})

const remoteVersion = (version: string, { resources, freshness }: RemoteVersion) => ({
  version,
  ...(resources.length === 0 ? {} : { resources }),
  freshness,
})

function aggregatedResource(resource: Resource) {
  const { plural, kind, scope, singular, verbs, shortNames, categories } = resource
  const subresources = subresourcesOf(resource).map((sub) => ({
    subresource: sub.name,
    responseKind: {
      group: sub.group ?? "",
      version: sub.group === undefined ? "" : (sub.version ?? ""),
      kind: sub.kind,
    },
    verbs: [...sub.verbs].sort(),
  }))
  return {
    resource: plural,
    responseKind: { group: "", version: "", kind },
    scope,
    singularResource: singular,
    verbs: inOrder(verbs, resource),
    ...nonEmpty("shortNames", shortNames),
    ...nonEmpty("categories", categories),
    ...(subresources.length === 0 ? {} : { subresources }),
  }
}
