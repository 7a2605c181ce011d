import { createHash } from "node:crypto"
import type { Resource } from "../apimachinery/resource.ts"
import { compareVersions } from "../apimachinery/scalars/compare-versions.ts"
import { RESOURCES, SUBRESOURCE_KINDS } from "./resources.ts"

/** A group as discovery shows it. */
export interface ApiGroup {
  /** Empty for the core group. */
  readonly name: string
  /** The versions in order of preference. */
  readonly versions: readonly string[]
  readonly preferredVersion: string
}

/**
 * The kinds that a server serves, found by path, by kind and by group. Kinds are added and removed while it runs
 * (custom resources), so a result must not be kept for longer than a request. `generation` shows whether a derived
 * document (discovery, OpenAPI) is still valid.
 */
export interface Scheme {
  /** Every kind that has a path of its own, in discovery order. */
  readonly resources: readonly Resource[]
  /** Rises with every change. */
  readonly generation: number
  /** Returns the kind of a path: `("apps", "v1", "deployments")`. */
  resource(group: string, version: string, plural: string): Resource | undefined
  /**
   * Returns a kind by its name, also one that exists only as body of a subresource, such as Scale, Eviction and
   * TokenRequest.
   */
  kind(group: string, version: string, kind: string): Resource | undefined
  /** Returns the kind of an object by the object's own fields: `("apps/v1", "Deployment")`. */
  of(apiVersion: string, kind: string): Resource | undefined
  /** Returns every served version of a kind, the most preferred first. */
  versionsOf(group: string, plural: string): readonly Resource[]
  /** Groups in discovery order, the core group first. */
  readonly groups: readonly ApiGroup[]
  group(name: string): ApiGroup | undefined
  /** Returns the kinds of a group-version, in discovery order. */
  resourcesOf(group: string, version: string): readonly Resource[]
  /** Adds a kind, or replaces the one with the same path. A new group or version comes last. */
  add(resource: Resource): void
  /** Makes several changes, after which listeners are called once. */
  update(changes: () => void): void
  /** Removes a kind, if it is there. */
  remove(resource: Pick<Resource, "group" | "version" | "plural">): void
  /** Calls `listener` after every change. Returns a function that ends this. */
  subscribe(listener: () => void): () => void
}

const pathKey = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`
const kindKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`
const versionOf = (group: string, version: string): string => (group === "" ? version : `${group}/${version}`)

/**
 * Returns a scheme of these kinds. The order of groups and versions is that of their first kinds. `bodies` are kinds
 * without a path of their own.
 */
export function createScheme(resources: readonly Resource[], bodies: readonly Resource[] = []): Scheme {
  const byPath = new Map<string, Resource>()
  const byKind = new Map<string, Resource>()
  const listeners = new Set<() => void>()
  let state = derive()
  let generation = 0
  let updating = false
  let isChanged = false

  function derive(): { readonly resources: readonly Resource[]; readonly groups: readonly ApiGroup[] } {
    const all = [...byPath.values()]
    const custom = all.filter(({ definition }) => definition !== undefined).sort(byGroupAndVersion)
    const resources = [...all.filter(({ definition }) => definition === undefined), ...custom]
    const versions = new Map<string, Set<string>>()
    for (const { group, version } of resources)
      versions.set(group, (versions.get(group) ?? new Set<string>()).add(version))
    return {
      resources,
      groups: [...versions].map(([name, served]) => {
        const list = [...served]
        return { name, versions: list, preferredVersion: list[0]! }
      }),
    }
  }
  function changed(): void {
    if (updating) {
      isChanged = true
      return
    }
    state = derive()
    generation++
    for (const listener of listeners) listener()
  }
  function put(resource: Resource): void {
    byPath.set(pathKey(resource.group, resource.version, resource.plural), resource)
    byKind.set(kindKey(resource.apiVersion, resource.kind), resource)
  }

  for (const body of bodies) byKind.set(kindKey(body.apiVersion, body.kind), body)
  for (const resource of resources) put(resource)
  state = derive()

  return {
    get resources() {
      return state.resources
    },
    get groups() {
      return state.groups
    },
    get generation() {
      return generation
    },
    resource: (group, version, plural) => byPath.get(pathKey(group, version, plural)),
    kind: (group, version, kind) => byKind.get(kindKey(versionOf(group, version), kind)),
    of: (apiVersion, kind) => byKind.get(kindKey(apiVersion, kind)),
    versionsOf: (group, plural) =>
      state.resources.filter((resource) => resource.group === group && resource.plural === plural),
    group: (name) => state.groups.find((group) => group.name === name),
    resourcesOf: (group, version) =>
      state.resources.filter((resource) => resource.group === group && resource.version === version),
    add(resource) {
      put(resource)
      changed()
    },
    update(changes) {
      updating = true
      try {
        changes()
      } finally {
        updating = false
      }
      if (!isChanged) return
      isChanged = false
      changed()
    },
    remove({ group, version, plural }) {
      const gone = byPath.get(pathKey(group, version, plural))
      if (gone === undefined) return
      byPath.delete(pathKey(group, version, plural))
      byKind.delete(kindKey(gone.apiVersion, gone.kind))
      changed()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** Compares custom resources by group name, and in each group by version, the most preferred first. */
const byGroupAndVersion = (a: Resource, b: Resource): number =>
  a.group < b.group ? -1 : a.group > b.group ? 1 : compareVersions(a.version, b.version)

/**
 * Returns a hash of the version in which objects are stored. Discovery shows it, so that a migrator notices a change.
 * Undefined for kinds that are not stored. Source: apiserver pkg/endpoints/discovery/storageversionhash.go.
 */
export function storageVersionHash(resource: Resource): string | undefined {
  if (!resource.verbs.includes("watch")) return undefined
  const { group, version, kind } = resource.storedAs ?? resource
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64")
}

/** Returns a new scheme of all built-in kinds. Each server has its own, since custom resources differ. */
export const builtinScheme = (): Scheme => createScheme(RESOURCES, SUBRESOURCE_KINDS)
