/**
 * The resources of an extension server, as in the aggregated discovery document. The document is checked strictly: it
 * becomes part of the one that every client of the cluster reads, and clients that cannot decode a part see no group at
 * all. Source: api/apidiscovery/v2/types.go.
 */
export interface DiscoveredResource {
  readonly resource: string
  readonly responseKind: DiscoveredKind
  readonly scope: "Namespaced" | "Cluster"
  readonly singularResource: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly subresources?: readonly DiscoveredSubresource[]
}

export interface DiscoveredSubresource {
  readonly subresource: string
  readonly responseKind: DiscoveredKind
  readonly acceptedTypes?: readonly DiscoveredKind[]
  readonly verbs: readonly string[]
}

/** Empty group and version mean those of the resource itself. */
export interface DiscoveredKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** The resources of each version, by `<group>/<version>`. */
export type Discovered = ReadonlyMap<string, readonly DiscoveredResource[]>

/** Reads an APIGroupDiscoveryList. @throws Error when it is not a valid one */
export function readAggregated(body: string): Discovered {
  const { kind, items } = objectIn(JSON.parse(body))
  if (kind !== "APIGroupDiscoveryList") throw new Error(`expected an APIGroupDiscoveryList, found ${String(kind)}`)
  const found = new Map<string, readonly DiscoveredResource[]>()
  for (const group of listIn(items).map(objectIn)) {
    const name = textIn(objectIn(group["metadata"] ?? {})["name"])
    for (const version of listIn(group["versions"]).map(objectIn))
      found.set(`${name}/${textIn(version["version"])}`, listIn(version["resources"]).map(resourceIn))
  }
  return found
}

/**
 * Reads an APIResourceList, the older discovery document of one version. Source: apiserver
 * ConvertGroupVersionIntoToDiscovery.
 */
export function readLegacy(body: string): readonly DiscoveredResource[] {
  const { kind, resources } = objectIn(JSON.parse(body))
  if (kind !== "APIResourceList") throw new Error(`expected an APIResourceList, found ${String(kind)}`)
  const found = new Map<string, DiscoveredResource & { readonly subresources: DiscoveredSubresource[] }>()
  for (const each of listIn(resources).map(objectIn)) {
    const [parent = "", ...rest] = textIn(each["name"]).split("/")
    const kind = { group: textIn(each["group"]), version: textIn(each["version"]), kind: textIn(each["kind"]) }
    const verbs = textsIn(each["verbs"])
    const known = found.get(parent)
    if (rest.length === 0) {
      found.set(parent, {
        resource: parent,
        responseKind: kind,
        scope: each["namespaced"] === true ? "Namespaced" : "Cluster",
        singularResource: textIn(each["singularName"]),
        verbs,
        ...someTexts("shortNames", each["shortNames"]),
        ...someTexts("categories", each["categories"]),
        subresources: known?.subresources ?? [],
      })
      continue
    }
    const subresource = { subresource: rest.join("/"), responseKind: kind, verbs }
    if (known === undefined)
      // A subresource may be listed before its resource, or without it.
      found.set(parent, {
        resource: parent,
        responseKind: { group: "", version: "", kind: "" },
        scope: each["namespaced"] === true ? "Namespaced" : "Cluster",
        singularResource: "",
        verbs: [],
        subresources: [subresource],
      })
    else known.subresources.push(subresource)
  }
  return [...found.values()].map(({ subresources, ...resource }) =>
    subresources.length === 0 ? resource : { ...resource, subresources },
  )
}

function resourceIn(value: unknown): DiscoveredResource {
  const each = objectIn(value)
  const subresources = listIn(each["subresources"]).map(subresourceIn)
  return {
    resource: textIn(each["resource"]),
    responseKind: kindIn(each["responseKind"]),
    scope: each["scope"] === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: textIn(each["singularResource"]),
    verbs: textsIn(each["verbs"]),
    ...someTexts("shortNames", each["shortNames"]),
    ...someTexts("categories", each["categories"]),
    ...(subresources.length === 0 ? {} : { subresources }),
  }
}

function subresourceIn(value: unknown): DiscoveredSubresource {
  const each = objectIn(value)
  const acceptedTypes = listIn(each["acceptedTypes"]).map(kindIn)
  return {
    subresource: textIn(each["subresource"]),
    responseKind: kindIn(each["responseKind"]),
    ...(acceptedTypes.length === 0 ? {} : { acceptedTypes }),
    verbs: textsIn(each["verbs"]),
  }
}

function kindIn(value: unknown): DiscoveredKind {
  const { group, version, kind } = objectIn(value ?? {})
  return { group: textIn(group), version: textIn(version), kind: textIn(kind) }
}

const someTexts = <K extends string>(key: K, value: unknown): Partial<Record<K, readonly string[]>> => {
  const texts = textsIn(value)
  return texts.length === 0 ? {} : ({ [key]: texts } as Record<K, readonly string[]>)
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("expected an object")
  return value as Readonly<Record<string, unknown>>
}
function listIn(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new Error("expected a list")
  return value
}
function textIn(value: unknown): string {
  if (value === undefined || value === null) return ""
  if (typeof value !== "string") throw new Error("expected a string")
  return value
}
const textsIn = (value: unknown): readonly string[] => listIn(value).map(textIn)
