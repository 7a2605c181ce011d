import { createHash } from "node:crypto"
import { isAvailable } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import type { Schema } from "../../../pkg/apimachinery/openapi/schema.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ApiServices, RemoteService } from "./api-services.ts"
import type { Ask, ExtensionAnswer } from "./ask.ts"
import { AGGREGATOR } from "./discovery.ts"

/** How long a document is used before it is requested again. Source: kube-aggregator pkg/controllers/openapi. */
const REFRESH_MS = 60_000
/** How long a client waits for documents that were never received. A later response is served to the next client. */
const FIRST_WAIT_MS = 2000
const TIMEOUT_MS = 20_000
const MOST_BYTES = 16 * 1024 * 1024

/** The OpenAPI v2 document of one version, from an extension server. */
export interface RemoteV2 {
  readonly group: string
  readonly version: string
  readonly document: Schema
}

/** A document of version 3 that was made here of a server's version 2. */
export interface MadeV3 {
  readonly document: Schema
  readonly hash: string
}

interface Fetched<T> {
  readonly value: T | undefined
  /** The server has said that it has none. */
  readonly isMissing: boolean
  readonly etag: string | undefined
  /** When it was requested last, in milliseconds of the monotonic clock. */
  readonly at: number
  readonly pending: Promise<void> | undefined
}

/**
 * OpenAPI documents of extension servers. A document is requested when a client asks for OpenAPI, at most once a
 * minute, and only from available servers. While a request is in progress clients get the previous document. Source:
 * kube-aggregator pkg/controllers/{openapi,openapiv3}.
 */
export class RemoteOpenApi {
  readonly #services: ApiServices
  readonly #ask: Ask
  readonly #clock: Clock
  /** By Service and path. */
  readonly #fetched = new Map<string, Fetched<Schema>>()
  /** By the document of version 2; undefined where it cannot be converted. */
  readonly #made = new WeakMap<Schema, MadeV3 | undefined>()
  #generation = 0

  constructor(services: ApiServices, ask: Ask, clock: Clock) {
    this.#services = services
    this.#ask = ask
    this.#clock = clock
  }

  /** Rises when a document changes. */
  get generation(): number {
    return this.#generation + this.#services.generation
  }

  /** Returns the documents of all available servers. */
  async v2(): Promise<readonly RemoteV2[]> {
    await this.#refresh("/openapi/v2", this.#available())
    return this.#available().flatMap((service) => {
      const document = this.#fetched.get(`${placeOf(service)}/openapi/v2`)?.value
      const { group = "", version = "" } = service.spec
      return document === undefined ? [] : [{ group, version, document }]
    })
  }

  /** Returns the hashes of the documents of single versions, by their path below `/openapi/v3`. */
  async v3Hashes(): Promise<ReadonlyMap<string, string>> {
    await this.#refreshV3()
    const found = new Map<string, string>()
    for (const service of this.#available()) {
      const { paths } = this.#fetched.get(`${placeOf(service)}/openapi/v3`)?.value ?? {}
      const path = pathOf(service)
      const made = await this.#madeOf(service)
      if (made !== undefined) found.set(path, made.hash)
      const entry = isJsonObject(paths) ? paths[path] : undefined
      const url = isJsonObject(entry) ? entry["serverRelativeURL"] : undefined
      if (typeof url === "string") found.set(path, /[?&]hash=([0-9A-Za-z_-]{1,256})/.exec(url)?.[1] ?? "0")
    }
    return found
  }

  /**
   * Returns the document of a version as its server sends it, or made of its version 2 where it has no other; undefined
   * when no available server has the version.
   */
  async v3(path: string): Promise<ExtensionAnswer | MadeV3 | undefined> {
    const service = this.#available().find((one) => pathOf(one) === path)
    if (service === undefined) return undefined
    await this.#refreshV3()
    const made = await this.#madeOf(service)
    if (made !== undefined) return made
    const headers = { accept: "application/json" }
    return this.#ask(service, { ...QUESTION, path: `/openapi/v3/${path}`, headers }).catch((err: unknown) => {
      throw new ApiError("ServiceUnavailable", `error trying to reach service: ${(err as Error).message}`)
    })
  }

  #available(): readonly RemoteService[] {
    return [...this.#services.remotes.values()].filter(isAvailable)
  }

  /** Requests version 3, and version 2 of the servers that have said that they have no other. */
  async #refreshV3(): Promise<void> {
    await this.#refresh("/openapi/v3", this.#available())
    await this.#refresh(
      "/openapi/v2",
      this.#available().filter((service) => this.#hasNoV3(service)),
    )
  }

  #hasNoV3(service: RemoteService): boolean {
    return this.#fetched.get(`${placeOf(service)}/openapi/v3`)?.isMissing === true
  }

  async #madeOf(service: RemoteService): Promise<MadeV3 | undefined> {
    if (!this.#hasNoV3(service)) return undefined
    const older = this.#fetched.get(`${placeOf(service)}/openapi/v2`)?.value
    if (older === undefined || this.#made.has(older)) return older && this.#made.get(older)
    const { asVersion3 } = await import("../../../pkg/apimachinery/openapi/version3.ts")
    let made: MadeV3 | undefined
    try {
      const document = asVersion3(older)
      made = { document, hash: createHash("sha256").update(JSON.stringify(document)).digest("hex").toUpperCase() }
    } catch {
      // A document whose parts lie too deep in each other is left out.
    }
    this.#made.set(older, made)
    return made
  }

  /** Requests documents that are out of date from servers. Waits only for those that were never received. */
  async #refresh(path: string, services: readonly RemoteService[]): Promise<void> {
    const places = new Map(services.map((service) => [`${placeOf(service)}${path}`, service]))
    const available = new Set(this.#available().map((service) => `${placeOf(service)}${path}`))
    for (const key of this.#fetched.keys()) if (key.endsWith(path) && !available.has(key)) this.#fetched.delete(key)
    const first: Promise<void>[] = []
    for (const [key, service] of places) {
      const known = this.#fetched.get(key)
      if (known?.pending !== undefined) {
        if (known.value === undefined) first.push(known.pending)
        continue
      }
      if (known !== undefined && this.#clock.monotonic() - known.at < REFRESH_MS) continue
      const pending = this.#fetch(key, service, path)
      this.#fetched.set(key, { ...(known ?? { value: undefined, etag: undefined, isMissing: false, at: 0 }), pending })
      if (known === undefined) first.push(pending)
    }
    if (first.length === 0) return
    const late = Promise.withResolvers<void>()
    const timer = this.#clock.setTimeout(() => late.resolve(), FIRST_WAIT_MS)
    await Promise.race([Promise.all(first), late.promise])
    timer.cancel()
  }

  /** Never rejects: if the request fails, the old document stays. */
  async #fetch(key: string, service: RemoteService, path: string): Promise<void> {
    const known = this.#fetched.get(key)
    const { value, etag } = known ?? { value: undefined, etag: undefined }
    let next: Pick<Fetched<Schema>, "value" | "etag" | "isMissing"> = {
      value,
      etag,
      isMissing: known?.isMissing === true,
    }
    try {
      const answer = await this.#ask(service, {
        ...QUESTION,
        path,
        headers: { accept: "application/json", ...(etag === undefined ? {} : { "if-none-match": etag }) },
      })
      if (answer.code === 404) next = { value: undefined, etag: undefined, isMissing: true }
      else if (answer.code === 200) {
        const document: unknown = JSON.parse(answer.body.toString())
        if (isJsonObject(document)) next = { value: document, etag: answer.header("etag"), isMissing: false }
      }
    } catch {
      // The next attempt is a minute later.
    }
    // The APIService may have been deleted in the meantime.
    if (!this.#fetched.has(key)) return
    this.#fetched.set(key, { ...next, at: this.#clock.monotonic(), pending: undefined })
    if (next.value !== value) this.#generation++
  }
}

const QUESTION = { user: AGGREGATOR, timeoutMs: TIMEOUT_MS, mostBytes: MOST_BYTES }

const placeOf = ({ spec: { service } }: RemoteService): string => `${service.namespace}/${service.name}:${service.port}`

/** Returns the path of the document below `/openapi/v3`. */
const pathOf = ({ spec: { group = "", version = "" } }: RemoteService): string =>
  group === "" ? `api/${version}` : `apis/${group}/${version}`
