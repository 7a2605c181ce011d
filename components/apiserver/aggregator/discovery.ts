import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { UserInfo } from "../call/request.ts"
import type { RemoteService } from "./api-services.ts"
import type { Ask, ExtensionAnswer } from "./ask.ts"
import type { RemoteKinds } from "./remote-kinds.ts"
import { remoteResource } from "./remote-resources.ts"
import { readAggregated, readLegacy, type Discovered, type DiscoveredResource } from "./discovered.ts"

/** The user of this server's own requests to extension servers; its group gives it all rights there. */
export const AGGREGATOR: UserInfo = { name: "system:kube-aggregator", groups: ["system:masters"] }

/** Timeout of a check, and of a discovery request, in milliseconds. Source: remote_available_controller.go. */
export const CHECK_TIMEOUT_MS = 5000
/** The largest discovery document that is read, in bytes; those of large servers have a few hundred kilobytes. */
export const MOST_DISCOVERY_BYTES = 4 * 1024 * 1024
/**
 * How long a discovery document is used before it is requested again. Source: handler_discovery.go
 * discoveryRefreshInterval.
 */
const REFRESH_MS = 60_000

const FORM = "application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
const ACCEPT = `${FORM};v=v2,${FORM};v=v2beta1`

/** The discovery of a version that an extension server serves. */
export interface RemoteVersion {
  /** Empty when the server did not respond, or does not have the version. */
  readonly resources: readonly DiscoveredResource[]
  /** Stale when the server did not respond. */
  readonly freshness: "Current" | "Stale"
}

interface LastResponse {
  readonly version: RemoteVersion
  /** When the server responded, in milliseconds of the monotonic clock; `of` is the APIService's spec at that time. */
  readonly at: number
  readonly of: object
  /**
   * The kinds of the last successful response. They are kept while the server does not respond, since its objects still
   * exist.
   */
  readonly kinds: readonly Resource[]
}
const STALE: RemoteVersion = { resources: [], freshness: "Stale" }

/** One discovery document of a server, which may describe several versions. */
interface Fetched {
  readonly discovered: Discovered
  readonly etag: string | undefined
  /** Milliseconds of the monotonic clock. */
  readonly at: number
}

/**
 * The discovery of extension servers. It is requested when a server is found available and then once a minute, never
 * during a client's request, so a server that hangs delays no client. Source: kube-aggregator
 * pkg/apiserver/handler_discovery.go.
 */
export class RemoteDiscovery {
  readonly #ask: Ask
  readonly #clock: Clock
  /** By the name of the APIService. */
  readonly #versions = new Map<string, LastResponse>()
  /** By `<namespace>/<name>:<port>` of the Service. */
  readonly #fetched = new Map<string, Fetched>()
  readonly #kinds: RemoteKinds
  #generation = 0

  constructor(ask: Ask, clock: Clock, kinds: RemoteKinds) {
    this.#ask = ask
    this.#clock = clock
    this.#kinds = kinds
  }

  /** Rises when the discovery of a version changes. */
  get generation(): number {
    return this.#generation
  }

  versionOf({ metadata: { name = "" } }: RemoteService): RemoteVersion {
    return this.#versions.get(name)?.version ?? STALE
  }

  /**
   * Updates the discovery of an available server. `legacy` is its response about the APIService's version in the older
   * form, for servers without aggregated discovery.
   */
  async refresh(service: RemoteService, legacy: ExtensionAnswer): Promise<void> {
    const known = this.#versions.get(service.metadata.name ?? "")
    const isFresh = known !== undefined && this.#clock.monotonic() - known.at < REFRESH_MS
    if (isFresh && known.version.freshness === "Current" && known.of === service.spec) return
    let version: RemoteVersion
    try {
      version = { resources: await this.#resourcesOf(service, legacy), freshness: "Current" }
    } catch {
      version = STALE
    }
    this.#put(service, version)
  }

  /** Marks the version of an APIService as stale, since its server did not respond. */
  failed(service: RemoteService): void {
    this.#put(service, STALE)
  }

  /** Removes the version of an APIService that was deleted, or that this server itself serves. */
  forget(name: string): void {
    if (!this.#versions.delete(name)) return
    this.#generation++
    this.#tell()
  }

  #put(service: RemoteService, version: RemoteVersion): void {
    const { name = "" } = service.metadata
    const known = this.#versions.get(name)
    const isSame = JSON.stringify(known?.version) === JSON.stringify(version)
    const kinds =
      known !== undefined && (isSame || version.freshness === "Stale") ? known.kinds : kindsOf(service, version)
    this.#versions.set(name, { version, at: this.#clock.monotonic(), of: service.spec, kinds })
    if (isSame) return
    this.#generation++
    this.#tell()
  }

  #tell(): void {
    const all = [...this.#versions]
    const stale = all.filter(([, { version }]) => version.freshness === "Stale").map(([name]) => groupVersion(name))
    this.#kinds.set(
      all.flatMap(([, { kinds }]) => kinds),
      stale.sort(),
    )
  }

  async #resourcesOf(service: RemoteService, legacy: ExtensionAnswer): Promise<readonly DiscoveredResource[]> {
    const { group = "", version = "", service: place } = service.spec
    const key = `${place.namespace}/${place.name}:${place.port}`
    const known = this.#fetched.get(key)
    const at = this.#clock.monotonic()
    const answer = await this.#ask(service, {
      path: "/apis",
      headers: { accept: ACCEPT, ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }) },
      user: AGGREGATOR,
      timeoutMs: CHECK_TIMEOUT_MS,
      mostBytes: MOST_DISCOVERY_BYTES,
    })
    if (answer.code === 503) throw new Error("the server is unavailable")
    if (answer.code === 304 && known !== undefined) {
      this.#fetched.set(key, { ...known, at })
      return known.discovered.get(`${group}/${version}`) ?? []
    }
    if (answer.code === 200 && isAggregated(answer.header("content-type"))) {
      const discovered = readAggregated(answer.body.toString())
      this.#fetched.set(key, { discovered, etag: answer.header("etag"), at })
      return discovered.get(`${group}/${version}`) ?? []
    }
    return readLegacy(legacy.body.toString())
  }
}

const kindsOf = ({ spec: { group = "", version = "" } }: RemoteService, { resources }: RemoteVersion) =>
  resources.filter(({ verbs }) => verbs.length > 0).map((resource) => remoteResource(group, version, resource))

/** Returns `<group>/<version>` for the name of an APIService. */
function groupVersion(name: string): string {
  const dot = name.indexOf(".")
  return `${name.slice(dot + 1)}/${name.slice(0, dot)}`
}

const isAggregated = (type = ""): boolean =>
  /;\s*g=apidiscovery\.k8s\.io/.test(type) && /;\s*as=APIGroupDiscoveryList/.test(type)
