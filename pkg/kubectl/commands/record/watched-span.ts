import type { KubeObject } from "../../../apimachinery/resource.ts"
import { formatMicroTime } from "../../../apimachinery/scalars/time.ts"
import { sleep, type Clock } from "../../../clock/clock.ts"
import { writtenBy } from "../../../history/entry.ts"
import type { LogEntry } from "../../../history/entry.ts"
import { isForbidden, StatusError } from "../../errors/status-error.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import type { WatchEvent } from "../../rest/watch-events.ts"
import { apiVersionOf, listPath, type RecordedKind } from "./kinds.ts"

/** A list that is watched on. */
export interface WatchedList {
  readonly kind: RecordedKind
  readonly namespace: string
  /** The resourceVersion of the list. */
  readonly revision: string
}

/** A write that a watch has shown, and the kind of its object. */
export interface WatchedWrite {
  readonly kind: RecordedKind
  readonly entry: LogEntry
}

/** How long events of several watches are put in order together. */
const GATHER_MS = 1000
/** How long a watch that has ended at once waits before the next one. */
const AGAIN_MS = 1000

const VERBS: Readonly<Record<string, LogEntry["verb"]>> = { ADDED: "create", MODIFIED: "update", DELETED: "delete" }

interface Arrived {
  readonly kind: RecordedKind
  readonly verb: LogEntry["verb"]
  readonly object: KubeObject
}

/**
 * Watches what happens in lists until `until` aborts. A watch does not say who has written, only the objects do, by
 * their managedFields; and watches of several kinds may be late by different times. So revisions are counted here, and
 * events of a second are put in the order of their resourceVersions.
 */
export class WatchedSpan {
  readonly #client: RestClient
  readonly #clock: Clock
  readonly #until: AbortSignal
  /** The last known state of each object, by its UID. */
  readonly #known = new Map<string, KubeObject>()
  #arrived: Arrived[] = []
  #count = 0
  /** In words, of which kinds events were missed. */
  readonly missed: string[] = []

  constructor(client: RestClient, clock: Clock, until: AbortSignal) {
    this.#client = client
    this.#clock = clock
    this.#until = until
  }

  /** Notes an object of a list. */
  know(object: KubeObject): void {
    this.#known.set(object.metadata.uid ?? "", object)
  }

  async *writes(lists: readonly WatchedList[]): AsyncGenerator<WatchedWrite> {
    const ended = new AbortController()
    const over = Promise.all(lists.map((list) => this.#watch(list))).finally(() => ended.abort())
    over.catch(() => undefined)
    const either = AbortSignal.any([this.#until, ended.signal])
    while (!ended.signal.aborted) {
      await sleep(this.#clock, GATHER_MS, either).catch(() => over)
      yield* this.#gathered()
    }
    await over
    yield* this.#gathered()
  }

  *#gathered(): Generator<WatchedWrite> {
    const arrived = this.#arrived.sort((a, b) => versionOf(a.object) - versionOf(b.object))
    this.#arrived = []
    const now = this.#clock.now()
    for (const { kind, verb, object } of arrived) yield { kind, entry: this.#entryOf(verb, object, now) }
  }

  async #watch({ kind, namespace, revision }: WatchedList): Promise<void> {
    const path = listPath(kind, namespace)
    for (let from = revision; !this.#until.aborted;) {
      const query = { watch: "true", resourceVersion: from, allowWatchBookmarks: "true" }
      const before = from
      try {
        for await (const event of this.#client.watch({ method: "GET", path, query, signal: this.#until })) {
          if (event.type === "ERROR") return this.#miss(kind)
          from = event.object.metadata?.resourceVersion ?? from
          this.#take(kind, event)
        }
      } catch (err) {
        if (this.#until.aborted) return
        if (isForbidden(err)) return void this.missed.push(`${kind.resource}: you may not watch them`)
        if (err instanceof StatusError) return this.#miss(kind)
        // A connection that failed is made again.
      }
      // Servers end watches after some minutes.
      if (from === before) await sleep(this.#clock, AGAIN_MS, this.#until).catch(() => undefined)
    }
  }

  #miss({ resource }: RecordedKind): void {
    this.missed.push(`${resource}: what was written after the server had forgotten where the watch was`)
  }

  #take(kind: RecordedKind, { type, object }: WatchEvent): void {
    const verb = VERBS[type]
    if (verb === undefined) return
    this.#arrived.push({
      kind,
      verb,
      object: { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind } as KubeObject,
    })
  }

  #entryOf(verb: LogEntry["verb"], object: KubeObject, time: number): LogEntry {
    const { uid = "", name = "", namespace = "" } = object.metadata
    const previous = this.#known.get(uid)
    if (verb === "delete") this.#known.delete(uid)
    else this.#known.set(uid, object)
    const { apiVersion, kind } = object
    return {
      revision: ++this.#count,
      time: formatMicroTime(time),
      verb,
      user: "",
      ...(verb === "delete" ? { clients: [], subresource: "" } : writtenBy(previous, object, time)),
      apiVersion,
      kind,
      namespace,
      name,
      changes: [],
      object,
    }
  }
}

const versionOf = ({ metadata }: KubeObject): number => Number(metadata.resourceVersion ?? "0") || 0
