import { createHash } from "node:crypto"
import type { Resource } from "../apimachinery/resource.ts"
import { compareVersions } from "../apimachinery/scalars/compare-versions.ts"
import { RESOURCES, SUBRESOURCE_KINDS } from "./resources.ts"

/** A group as discovery shows it. */
export interface ApiGroup {
  /** Empty for the core group. */
  readonly name: string
  /** In order of preference. */
  readonly versions: readonly string[]
  readonly preferredVersion: string
}

/**
 * The kinds that a server serves, found by path, by kind and by group. Kinds come and go while it runs (custom
 * resources), so nobody keeps what it found for longer than a request; `generation` tells whether a derived document
 * (discovery, OpenAPI) is still right.
 */
export interface Scheme {
  /** Every kind that has a path of its own, in discovery order. */
  readonly resources: readonly Resource[]
  /** Rises with every change. */
  readonly generation: number
  /** By the parts of a path: `("apps", "v1", "deployments")`. */
  resource(group: string, version: string, plural: string): Resource | undefined
  /** By kind; also kinds that are only bodies of subresources, such as Scale, Eviction and TokenRequest. */
  kind(group: string, version: string, kind: string): Resource | undefined
  /** By what an object says of itself: `("apps/v1", "Deployment")`. */
  of(apiVersion: string, kind: string): Resource | undefined
  /** Every version in which a kind of objects is served, most preferred first. */
  versionsOf(group: string, plural: string): readonly Resource[]
  /** Groups in discovery order, the core group first. */
  readonly groups: readonly ApiGroup[]
  group(name: string): ApiGroup | undefined
  /** The kinds of a group-version, in discovery order. */
  resourcesOf(group: string, version: string): readonly Resource[]
  /** Adds a kind, or takes the place of the one that has its path. A new group or version comes last. */
  add(resource: Resource): void
  /** Makes several changes that listeners hear of as one. */
  update(changes: () => void): void
  /** Takes a kind away; nothing happens when it is not there. */
  remove(resource: Pick<Resource, "group" | "version" | "plural">): void
  /** Called after every change; gives what ends the calls. */
  subscribe(listener: () => void): () => void
}

const pathKey = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`
const kindKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`
const versionOf = (group: string, version: string): string => (group === "" ? version : `${group}/${version}`)

/**
 * A scheme of these kinds; the order of groups and versions is that of their first kinds. `bodies` are kinds without a
 * path of their own.
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

/** Groups of custom resources by name, and in each the versions that are wanted most first. */
const byGroupAndVersion = (a: Resource, b: Resource): number =>
  a.group < b.group ? -1 : a.group > b.group ? 1 : compareVersions(a.version, b.version)

/**
 * Says in discovery in which version objects are stored, so that a migrator sees when that changes. Undefined for kinds
 * that are not stored. Source: apiserver pkg/endpoints/discovery/storageversionhash.go.
 */
export function storageVersionHash(resource: Resource): string | undefined {
  if (!resource.verbs.includes("watch")) return undefined
  const { group, version, kind } = resource.storedAs ?? resource
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64")
}

/** A new scheme of all kinds that are built in. Each server has its own: custom resources differ. */
export const builtinScheme = (): Scheme => createScheme(RESOURCES, SUBRESOURCE_KINDS)
