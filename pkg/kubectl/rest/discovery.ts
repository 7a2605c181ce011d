import type { HttpResponse } from "../environment/connect.ts"
import { isNotFound } from "../errors/status-error.ts"
import { splitDiscovery, type AggregatedDiscovery, type SplitDiscovery } from "./aggregated-discovery.ts"
import type { ApiGroup, ApiResource, ApiResourceList } from "./api-resource.ts"
import type { DiscoveryCache } from "./discovery-cache.ts"
import { goParsed, parseGroupVersion } from "./json.ts"
import type { RestClient } from "./rest-client.ts"
import type { RestRequest } from "./rest-request.ts"

/** Discovery waits this long for an answer, in milliseconds. */
export const DISCOVERY_TIMEOUT_MS = 32_000

const ACCEPT = [
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",")

/** Some groups could not be asked. Source: client-go discovery (ErrGroupDiscoveryFailed). */
export class GroupDiscoveryFailed extends Error {
  override readonly name = "GroupDiscoveryFailed"
  readonly groups: ReadonlyMap<string, Error>

  constructor(groups: ReadonlyMap<string, Error>) {
    const texts = [...groups].map(([groupVersion, err]) => `${groupVersion}: ${err.message}`).sort()
    super(`unable to retrieve the complete list of server APIs: ${texts.join(", ")}`)
    this.groups = groups
  }
}

export interface GroupsAndResources {
  readonly groups: readonly ApiGroup[]
  /** In the order of groups and versions. */
  readonly lists: readonly ApiResourceList[]
  /** That some groups are missing. */
  readonly failed?: GroupDiscoveryFailed
}

/** What the server serves, remembered on disk. Source: client-go discovery/cached/disk. */
export class Discovery {
  readonly #client: RestClient
  readonly #cache: DiscoveryCache
  /** Logs a fault that is not the command's own. */
  readonly #logError: (message: string) => void
  #live: SplitDiscovery | undefined
  #known: GroupsAndResources | undefined
  readonly #lists = new Map<string, ApiResourceList>()
  #isInvalidated = false
  /** Whether all that was used is from this run: then asking again gives nothing new. */
  #isFresh = true

  constructor(client: RestClient, cache: DiscoveryCache, logError: (message: string) => void) {
    this.#client = client
    this.#cache = cache
    this.#logError = logError
  }

  get client(): RestClient {
    return this.#client
  }

  get isFresh(): boolean {
    return this.#isFresh
  }

  /** Forgets what earlier runs have found. */
  invalidate(): void {
    this.#isInvalidated = true
    this.#isFresh = true
    this.#live = undefined
    this.#known = undefined
    this.#lists.clear()
    this.#cache.invalidate()
  }

  async groups(): Promise<readonly ApiGroup[]> {
    const cached = await this.#cache.groups()
    if (cached !== undefined) {
      if (!this.#isInvalidated) this.#isFresh = false
      return cached
    }
    const { groups } = await this.#ask()
    if (groups.length > 0) await this.#cache.storeGroups(groups)
    return groups
  }

  /** @throws Error when the server does not serve the version */
  async resourcesOf(groupVersion: string): Promise<ApiResourceList> {
    const known = this.#lists.get(groupVersion) ?? (await this.#cache.resources(groupVersion))
    if (known !== undefined) {
      if (!this.#isInvalidated && !this.#cache.isOurs(groupVersion)) this.#isFresh = false
      this.#lists.set(groupVersion, known)
      return known
    }
    const live = await this.#ask()
    if (live.stale.includes(groupVersion)) throw new Error(`stale GroupVersion discovery: ${groupVersion}`)
    const list = live.lists.get(groupVersion) ?? (await this.#resourcesFromServer(groupVersion))
    if (list.resources.length > 0) await this.#cache.storeResources(list)
    this.#lists.set(groupVersion, list)
    return list
  }

  async groupsAndResources(): Promise<GroupsAndResources> {
    if (this.#known !== undefined) return this.#known
    const groups = await this.groups()
    const failed = new Map<string, Error>()
    const wanted = groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion))
    const found = await Promise.all(
      wanted.map(async (groupVersion) => {
        try {
          return [await this.resourcesOf(groupVersion)]
        } catch (err) {
          failed.set(groupVersion, err as Error)
          return []
        }
      }),
    )
    this.#known = {
      groups,
      lists: found.flat(),
      ...(failed.size === 0 ? {} : { failed: new GroupDiscoveryFailed(failed) }),
    }
    return this.#known
  }

  /** Each resource once, in the version that the server prefers. Source: discovery.ServerPreferredResources. */
  async preferredResources(): Promise<GroupsAndResources> {
    const { groups, lists, failed } = await this.groupsAndResources()
    const byVersion = new Map(lists.map((list) => [list.groupVersion, list]))
    const chosen = new Map<string, string>()
    for (const group of groups)
      for (const { groupVersion, version } of group.versions)
        for (const { name } of byVersion.get(groupVersion)?.resources ?? []) {
          if (name.includes("/")) continue
          const key = `${group.name}/${name}`
          if (!chosen.has(key) || version === group.preferredVersion.version) chosen.set(key, groupVersion)
        }
    const preferred = lists.map((list) => {
      const { group } = parseGroupVersion(list.groupVersion)
      return {
        ...list,
        resources: list.resources.filter(({ name }) => chosen.get(`${group}/${name}`) === list.groupVersion),
      }
    })
    return { groups, lists: preferred, ...(failed === undefined ? {} : { failed }) }
  }

  /** What `/version` says. */
  async serverVersion(): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.#client.raw(this.#request("/version"))
    try {
      return goParsed(body) as Readonly<Record<string, unknown>>
    } catch (err) {
      throw new Error(`unable to parse the server version: ${(err as Error).message}`, { cause: err })
    }
  }

  #request(path: string, accept?: string): RestRequest {
    const { timeoutMs = DISCOVERY_TIMEOUT_MS } = this.#client.config
    return {
      method: "GET",
      path,
      timeoutMs,
      ...(accept === undefined ? { accept: "application/json, */*" } : { accept }),
    }
  }

  async #ask(): Promise<SplitDiscovery> {
    if (this.#live !== undefined) return this.#live
    try {
      const legacy = await this.#askAt("/api")
      const named = await this.#askAt("/apis")
      this.#live = {
        groups: [...legacy.groups, ...named.groups],
        lists: new Map([...legacy.lists, ...named.lists]),
        stale: [...legacy.stale, ...named.stale],
      }
      return this.#live
    } catch (err) {
      this.#logError(`couldn't get current server API group list: ${(err as Error).message}`)
      throw err
    }
  }

  async #askAt(path: "/api" | "/apis"): Promise<SplitDiscovery> {
    const nothing = { groups: [], lists: new Map<string, ApiResourceList>(), stale: [] }
    let answer: { readonly response: HttpResponse; readonly body: Uint8Array }
    try {
      answer = await this.#client.raw(this.#request(path, ACCEPT))
    } catch (err) {
      if (path === "/api" && isNotFound(err)) return nothing
      throw err
    }
    const value = goParsed(answer.body) as AggregatedDiscovery & {
      readonly versions?: readonly string[]
      readonly groups?: readonly ApiGroup[]
    }
    if ((answer.response.headers["content-type"] ?? "").includes("as=APIGroupDiscoveryList"))
      return splitDiscovery(value)
    if (path === "/apis") return { ...nothing, groups: value.groups ?? [] }
    const versions = (value.versions ?? []).map((version) => ({ groupVersion: version, version }))
    return versions.length === 0
      ? nothing
      : { ...nothing, groups: [{ name: "", versions, preferredVersion: versions[0]! }] }
  }

  async #resourcesFromServer(groupVersion: string): Promise<ApiResourceList> {
    const path = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`
    const { resources = [] } = await this.#client.object(this.#request(path))
    return { groupVersion, resources: resources as readonly ApiResource[] }
  }
}
