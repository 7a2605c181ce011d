import { dirname, join } from "node:path"
import type { Clock } from "../../clock/clock.ts"
import type { Random } from "../../clock/random.ts"
import type { Files } from "../environment/files.ts"
import type { ApiGroup, ApiResource, ApiResourceList } from "./api-resource.ts"
import { goJson } from "./json.ts"

/** What is remembered is used for six hours. */
const VALID_MS = 6 * 60 * 60 * 1000

/** Discovery on disk, in kubectl's place and form. Source: client-go discovery/cached/disk/cached_discovery.go. */
export class DiscoveryCache {
  readonly #folder: string
  readonly #files: Files
  readonly #clock: Clock
  readonly #random: Random
  readonly #ours = new Set<string>()
  #isInvalidated = false

  constructor(parts: {
    readonly folder: string
    readonly files: Files
    readonly clock: Clock
    readonly random: Random
  }) {
    this.#folder = parts.folder
    this.#files = parts.files
    this.#clock = parts.clock
    this.#random = parts.random
  }

  invalidate(): void {
    this.#isInvalidated = true
    this.#ours.clear()
  }

  async groups(): Promise<readonly ApiGroup[] | undefined> {
    const value = (await this.#read(this.#groupsPath())) as { readonly groups?: readonly ApiGroup[] } | undefined
    return value?.groups
  }

  async resources(groupVersion: string): Promise<ApiResourceList | undefined> {
    const value = (await this.#read(this.#resourcesPath(groupVersion))) as
      | { readonly resources?: readonly ApiResource[] }
      | undefined
    return value?.resources === undefined ? undefined : { groupVersion, resources: value.resources }
  }

  /** Whether this run has written the file of the version. */
  isOurs(groupVersion: string): boolean {
    return this.#ours.has(this.#resourcesPath(groupVersion))
  }

  storeGroups(groups: readonly ApiGroup[]): Promise<void> {
    return this.#write(this.#groupsPath(), {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groups.map(({ name, versions, preferredVersion }) => ({ name, versions, preferredVersion })),
    })
  }

  storeResources({ groupVersion, resources }: ApiResourceList): Promise<void> {
    return this.#write(this.#resourcesPath(groupVersion), {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion,
      resources,
    })
  }

  #groupsPath(): string {
    return join(this.#folder, "servergroups.json")
  }

  #resourcesPath(groupVersion: string): string {
    return join(this.#folder, groupVersion, "serverresources.json")
  }

  async #read(path: string): Promise<unknown> {
    if (this.#isInvalidated && !this.#ours.has(path)) return undefined
    const stat = await this.#files.stat(path)
    if (stat === undefined || this.#clock.now() > stat.modified + VALID_MS) return undefined
    try {
      return JSON.parse(new TextDecoder().decode(await this.#files.read(path)))
    } catch {
      return undefined
    }
  }

  /** Written aside and moved, since several runs may write at once. What cannot be written is not remembered. */
  async #write(path: string, value: unknown): Promise<void> {
    const aside = `${path}.${Math.floor(this.#random.next() * 1e10)}`
    try {
      await this.#files.mkdir(dirname(path), { recursive: true, mode: 0o750 })
      await this.#files.write(aside, `${goJson(value, { sorted: false })}\n`, { mode: 0o660 })
      await this.#files.rename(aside, path)
      this.#ours.add(path)
    } catch {
      await this.#files.remove(aside).catch(() => undefined)
    }
  }
}

/** The folder of a server's files. Source: cli-runtime pkg/genericclioptions/config_flags.go. */
export const discoveryFolder = (cacheDir: string, server: URL): string =>
  join(cacheDir, "discovery", `${server.host}${server.pathname.replace(/\/$/, "")}`.replaceAll(/[^(\w/.)]/g, "_"))
