import { NoKindMatchError, NoResourceMatchError, type PartialResource } from "../errors/errors.ts"
import type { ApiResource, ApiResourceList } from "./api-resource.ts"
import type { Discovery } from "./discovery.ts"
import { parseGroupVersion } from "./json.ts"

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface GroupVersionResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** A resource of the server with its kind. */
export interface RestMapping {
  readonly resource: GroupVersionResource
  readonly kind: GroupVersionKind
  readonly namespaced: boolean
}

interface Entry extends RestMapping {
  readonly api: ApiResource
}

/** Every version has lists of any objects, which discovery does not say. Source: client-go restmapper/discovery.go. */
const LIST: ApiResource = { name: "lists", singularName: "list", namespaced: false, kind: "List", verbs: [] }

/** Finds resources and kinds by their names, as people write them. Source: client-go restmapper, apimachinery meta. */
export class RestMapper {
  readonly #discovery: Discovery
  readonly #warn: (message: string) => void
  #entries: readonly Entry[] | undefined

  constructor(discovery: Discovery, warn: (message: string) => void) {
    this.#discovery = discovery
    this.#warn = warn
  }

  /** The kind that a resource is of. @throws NoResourceMatchError */
  async kindFor(wanted: PartialResource): Promise<GroupVersionKind> {
    return (await this.#first(wanted)).kind
  }

  /** @throws NoResourceMatchError */
  async resourceFor(wanted: PartialResource): Promise<GroupVersionResource> {
    return (await this.#first(wanted)).resource
  }

  /** The resources that a name may mean, the preferred one first. @throws NoResourceMatchError */
  async resourcesFor(wanted: PartialResource): Promise<readonly GroupVersionResource[]> {
    return (await this.#matching(wanted)).map(({ resource }) => resource)
  }

  /** The kinds that a resource may be of, the preferred one first. @throws NoResourceMatchError */
  async kindsFor(wanted: PartialResource): Promise<readonly GroupVersionKind[]> {
    return (await this.#matching(wanted)).map(({ kind }) => kind)
  }

  /** The resource of a kind, in the version or in the one that the server prefers. @throws NoKindMatchError */
  restMapping(group: string, kind: string, version = ""): Promise<RestMapping> {
    return this.#again(async () => {
      const all = (await this.#all()).filter((entry) => entry.kind.group === group)
      const own = all.filter((entry) => entry.kind.kind === kind || entry.kind.kind.toLowerCase() === kind)
      // Each kind has a list of its own, which is not in discovery.
      const entries = own.length > 0 ? own : all.filter((entry) => `${entry.kind.kind}List` === kind).map(listOf)
      const found = version === "" ? entries[0] : entries.find((entry) => entry.kind.version === version)
      if (found === undefined) throw new NoKindMatchError(group, kind, version === "" ? [] : [version])
      return { resource: found.resource, kind: { ...found.kind, kind }, namespaced: found.namespaced }
    })
  }

  /** Every resource of the server with its kind, the preferred versions first. */
  async mappings(): Promise<readonly RestMapping[]> {
    return this.#all()
  }

  async #first(wanted: PartialResource): Promise<Entry> {
    return (await this.#matching(wanted))[0]!
  }

  async #matching(wanted: PartialResource): Promise<readonly Entry[]> {
    return this.#again(async () => {
      const expanded = await this.#expand(wanted)
      const found = matches(await this.#all(), expanded)
      if (found.length === 0) throw new NoResourceMatchError(expanded)
      return found
    })
  }

  /** What is not found by what an earlier run has remembered, may be there by now. */
  async #again<T>(find: () => Promise<T>): Promise<T> {
    try {
      return await find()
    } catch (err) {
      if (this.#discovery.isFresh) throw err
      this.#discovery.invalidate()
      this.#entries = undefined
      return find()
    }
  }

  async #all(): Promise<readonly Entry[]> {
    return (this.#entries ??= await this.#load())
  }

  async #load(): Promise<readonly Entry[]> {
    const { groups, lists } = await this.#discovery.groupsAndResources()
    const byVersion = new Map(lists.map((list) => [list.groupVersion, list.resources]))
    return groups.flatMap(({ name: group, versions, preferredVersion }) => {
      const preferred = versions.filter(({ version }) => version === preferredVersion.version)
      const others = versions.filter(({ version }) => version !== preferredVersion.version)
      return [...preferred, ...others].flatMap(({ groupVersion, version }) =>
        [...(byVersion.get(groupVersion) ?? []), LIST]
          .filter(({ name }) => !name.includes("/"))
          .map((api) => ({
            resource: { group, version, resource: api.name },
            kind: { group, version, kind: api.kind },
            namespaced: api.namespaced,
            api,
          })),
      )
    })
  }

  /** Whatever discovery finds; its errors come again when a resource is looked for. */
  async #lists(): Promise<readonly ApiResourceList[]> {
    try {
      return (await this.#discovery.groupsAndResources()).lists
    } catch {
      return []
    }
  }

  /** Replaces a short name. Source: client-go restmapper/shortcut.go. */
  async #expand(wanted: PartialResource): Promise<PartialResource> {
    const lists = await this.#lists()
    const known = lists.flatMap(({ groupVersion, resources }) => {
      const { group } = parseGroupVersion(groupVersion)
      return resources.map((api) => ({ group, api }))
    })
    const inGroup = known.filter(({ group }) => wanted.group === "" || wanted.group === group)
    if (inGroup.some(({ api }) => api.name === wanted.resource || api.singularName === wanted.resource)) return wanted
    const short = inGroup.filter(({ api }) => api.shortNames?.includes(wanted.resource) === true)
    const [first, ...others] = short
    if (first !== undefined) {
      const warned = new Set([`${first.api.name}.${first.group}`])
      for (const { group, api } of others) {
        const name = group === "" ? api.name : `${api.name}.${group}`
        if (warned.has(`${api.name}.${group}`)) continue
        warned.add(`${api.name}.${group}`)
        this.#warn(`short name ${JSON.stringify(wanted.resource)} could also match lower priority resource ${name}`)
      }
      return { group: first.group, version: "", resource: first.api.name }
    }
    if (wanted.group === "") return wanted
    const prefixed = known.find(
      ({ group, api }) => group.startsWith(wanted.group) && api.shortNames?.includes(wanted.resource) === true,
    )
    return prefixed === undefined ? wanted : { ...wanted, group: prefixed.group, resource: prefixed.api.name }
  }
}

/** Source: client-go restmapper/discovery.go, which guesses the resource of a list from its kind. */
const listOf = (entry: Entry): Entry => ({
  ...entry,
  resource: { ...entry.resource, resource: `${entry.kind.kind.toLowerCase()}lists` },
})

/** The entries that a name means: plural or singular, with an exact group before the beginning of one. */
function matches(entries: readonly Entry[], { group, version, resource }: PartialResource): readonly Entry[] {
  const name = resource.toLowerCase()
  const named = entries.filter(
    ({ api, kind }) =>
      api.name === name || (api.singularName === "" ? kind.kind.toLowerCase() : api.singularName) === name,
  )
  const versioned = version === "" ? named : named.filter(({ kind }) => kind.version === version)
  if (group === "") return versioned
  const exact = versioned.filter(({ kind }) => kind.group === group)
  return exact.length > 0 || version !== "" ? exact : versioned.filter(({ kind }) => kind.group.startsWith(group))
}

/** Reads `deployments.v1.apps`: undefined where it has fewer than three parts. */
export function parseResourceArg(text: string): {
  readonly full?: GroupVersionResource
  readonly partial: PartialResource
} {
  const parts = text.split(".")
  const partial = { resource: parts[0]!, group: parts.slice(1).join("."), version: "" }
  if (parts.length < 3) return { partial }
  return { full: { resource: parts[0]!, version: parts[1]!, group: parts.slice(2).join(".") }, partial }
}

/** As Go writes them: those of the core group begin with a slash. */
export const gvkText = ({ group, version, kind }: GroupVersionKind): string => `${group}/${version}, Kind=${kind}`
export const gvrText = ({ group, version, resource }: GroupVersionResource): string =>
  `${group}/${version}, Resource=${resource}`
