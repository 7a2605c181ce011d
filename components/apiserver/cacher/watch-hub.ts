/**
 * Carries the store's events to watchers. Nothing here awaits: a commit's events reach every watcher in the turn of the
 * commit, and a watch begins, with what it missed or with the present objects, in one step, so no event falls between
 * the two.
 *
 * Cost: an event is evaluated once for each group of watchers that see the same part of its resource, and, in the
 * groups that see its object, once for each watcher with a selector. Watchers without selectors share one batch of
 * frames, and all share the encodings. A watcher that cannot keep up is closed instead of waited for: its client lists
 * or resumes again. Each group has a queue of its own for events that a webhook has to convert first. Source of the
 * rules: apiserver pkg/storage/cacher.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Watch } from "../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { contain } from "../../../pkg/failure/contain.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Storage, StorageEvent } from "../../../pkg/storage/storage.ts"
import type { WatchSink } from "../call/request.ts"
import { BookmarkRounds } from "./bookmark-rounds.ts"
import type { ClientHistory } from "./client-history.ts"
import { bookmark, firstFrames, isNothing, SharedFrames, storedIn, type Missed } from "./event-frames.ts"
import { WatchBatch, type WatchFrame } from "../call/frame.ts"
import { Readiness } from "./readiness.ts"
import type { Selection } from "./selection.ts"
import { ConversionLine } from "./conversion-line.ts"
import { storagePrefix, viewOf, type ShowsAtOnce } from "./view.ts"
import { WatchGroups, type WatchGroup } from "./watch-groups.ts"

export interface WatchRequest {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly selection: Selection
  /** Only events after this revision; undefined begins with the present objects. */
  readonly after: number | undefined
  /** Whether the watch may resume from any revision kept, instead of those within the history of clients. */
  readonly fromAnyKept: boolean
  /** Whether the watch begins with an ADDED event for each object. */
  readonly initialEvents: boolean
  /** Whether an annotated bookmark marks the end of the initial events. */
  readonly markInitialEnd: boolean
  /** Interval of bookmarks in milliseconds; undefined for none. */
  readonly bookmarkEveryMs: number | undefined
  readonly timeoutSeconds: number | undefined
}

/** A class with `close`, and no closure beside it, since there may be tens of thousands. */
class Watcher implements Watch {
  readonly request: WatchRequest
  readonly sink: WatchSink
  /** Set once the watch is open. */
  group: WatchGroup<Watcher> | undefined
  timer: Timer | undefined
  sentRevision: number
  readonly #hub: Pick<WatchHub, "remove">

  constructor(request: WatchRequest, sink: WatchSink, revision: number, hub: Pick<WatchHub, "remove">) {
    this.request = request
    this.sink = sink
    this.sentRevision = revision
    this.#hub = hub
  }

  /** Undefined selects everything in its group. */
  get selection(): Selection | undefined {
    const { selection } = this.request
    return selection.everything ? undefined : selection
  }

  close(): void {
    this.#hub.remove(this)
  }
}

export interface WatchHubOptions {
  readonly storage: Storage
  readonly clock: Clock
  readonly log: Logger
  readonly history: ClientHistory
}

export class WatchHub {
  readonly #storage: Storage
  readonly #clock: Clock
  readonly #log: Logger
  readonly #history: ClientHistory
  readonly #watchers = new WatchGroups<Watcher>()
  readonly #unsubscribe: () => void
  readonly #bookmarks: BookmarkRounds<Watcher>
  /** The conversion lines of groups whose objects a webhook converts. */
  readonly #lines = new Map<WatchGroup<Watcher>, ConversionLine>()
  /** The watches that wait for a webhook to convert what they begin with. */
  readonly #beginning = new Set<Watcher>()
  readonly readiness: Readiness
  #closed = false

  constructor({ storage, clock, log, history }: WatchHubOptions) {
    this.#storage = storage
    this.#clock = clock
    this.#log = log
    this.#history = history
    this.readiness = new Readiness(clock, log)
    this.#bookmarks = new BookmarkRounds(clock, (watchers) => this.#sendBookmarks(watchers))
    this.#unsubscribe = storage.subscribe((events) => this.#dispatch(events))
  }

  /** Number of open watches, by the prefix of their resource. */
  counts(): ReadonlyMap<string, number> {
    return this.#watchers.counts()
  }

  /**
   * @throws ApiError ServiceUnavailable while the server stops; TooManyRequests when a webhook has just failed to
   * convert the objects
   */
  watch(request: WatchRequest, sink: WatchSink): Watch {
    if (this.#closed)
      throw new ApiError("ServiceUnavailable", "the API server is shutting down", { retryAfterSeconds: 1 })
    const { resource, namespace } = request
    const view = viewOf(resource)
    const prefix = storagePrefix(resource, namespace)
    const refusal = this.readiness.refusal(resource, prefix)
    if (refusal !== undefined) throw refusal
    const watcher = new Watcher(request, sink, this.#storage.revision, this)
    const missed = this.#missed(watcher, prefix)
    if (missed instanceof ApiError) {
      sink.end(missed)
      return watcher
    }
    const group = (watcher.group = this.#watchers.add(view, prefix, watcher))
    if (request.bookmarkEveryMs !== undefined) this.#bookmarks.add(watcher, request.bookmarkEveryMs)
    if (request.timeoutSeconds !== undefined) this.#endLater(watcher, request.timeoutSeconds)
    if (view.atOnce !== undefined) this.#begin(watcher, missed, view.atOnce, watcher.sentRevision)
    else this.#beginConverted(watcher, missed, group)
    return watcher
  }

  /**
   * Ends the watches of one version of a custom resource whose definition has changed or is gone; clients list again.
   */
  endOf(resource: Resource): void {
    const view = viewOf(resource)
    this.readiness.forget(resource, view.prefix)
    for (const group of [...(this.#watchers.of(view.prefix) ?? [])])
      if (group.view === view) for (const watcher of [...group.watchers]) this.#end(watcher, undefined)
  }

  /** Ends every watch when the server stops, and refuses others. */
  close(): void {
    this.#closed = true
    this.#unsubscribe()
    for (const watcher of this.#watchers.all()) this.#end(watcher, undefined)
  }

  /** In a method of its own: a closure of `watch` would hold what was missed as long as the watch. */
  #endLater(watcher: Watcher, seconds: number): void {
    watcher.timer = this.#clock.setTimeout(() => this.#end(watcher, undefined), seconds * 1000)
  }

  /** Sends what a watch begins with. */
  #begin(watcher: Watcher, missed: Missed, shown: ShowsAtOnce, sentRevision: number): void {
    const { request, sink } = watcher
    this.#alone(watcher, () => {
      const first = firstFrames(request, missed, shown, sentRevision)
      if (sink.sendFirst !== undefined) {
        if (!isNothing(missed) || request.markInitialEnd) sink.sendFirst(first, (err) => this.#fail(watcher, err))
        return true
      }
      const frames = [...first]
      return frames.length === 0 || sink.send(new WatchBatch(frames))
    })
  }

  /** As `#begin`, once a webhook has converted the objects. */
  #beginConverted(watcher: Watcher, missed: Missed, group: WatchGroup<Watcher>): void {
    const { sentRevision, sink } = watcher
    const { resource } = watcher.request
    // After a failure all objects must be shown again before anybody follows them.
    const again = this.readiness.isFailing(resource, group.prefix) ? this.#storage.list(group.prefix) : []
    let isOpen = false
    this.#beginning.add(watcher)
    this.#lineOf(group, resource).add([...storedIn(missed), ...again], (shown) => {
      isOpen = true
      this.#beginning.delete(watcher)
      this.readiness.succeeded(resource, group.prefix)
      if (group.watchers.has(watcher)) this.#begin(watcher, missed, shown, sentRevision)
      sink.opened?.()
    })
    if (!isOpen && this.#beginning.has(watcher)) sink.wait?.()
  }

  /** Returns what a new watch begins with: the present objects, or the events since its revision. */
  #missed({ request, sentRevision }: Watcher, prefix: string): Missed | ApiError {
    const { after, fromAnyKept, initialEvents } = request
    if (initialEvents) return { objects: this.#storage.list(prefix) }
    if (after === undefined || after === sentRevision) return { events: [] }
    const expired = fromAnyKept ? this.#storage.compactedRevision : this.#history.expired
    // Source of the text: watch_cache.go getAllEventsSinceLocked.
    if (after < expired) return new ApiError("Expired", `too old resource version: ${after} (${expired})`)
    try {
      return { events: this.#storage.since(after, prefix) }
    } catch (err) {
      return ApiError.from(err)
    }
  }

  #lineOf(group: WatchGroup<Watcher>, resource: Resource): ConversionLine {
    let line = this.#lines.get(group)
    if (line === undefined)
      this.#lines.set(
        group,
        (line = new ConversionLine(
          group.view,
          (err) => {
            const refusal = this.readiness.failed(resource, group.prefix, err)
            for (const watcher of [...group.watchers])
              this.#end(watcher, this.#beginning.has(watcher) ? refusal : undefined)
          },
          () => {
            for (const watcher of [...group.watchers]) this.#end(watcher, undefined)
          },
        )),
      )
    return line
  }

  #dispatch(events: readonly StorageEvent[]): void {
    if (this.#storage.compactedRevision >= events[0]!.revision) return this.#endAllExpired()
    if (events.length === 1) {
      this.#notify(resourcePrefix(events[0]!.key), events)
      return
    }
    const byPrefix = new Map<string, StorageEvent[]>()
    for (const event of events) {
      const prefix = resourcePrefix(event.key)
      const group = byPrefix.get(prefix)
      if (group === undefined) byPrefix.set(prefix, [event])
      else group.push(event)
    }
    for (const [prefix, group] of byPrefix) this.#notify(prefix, group)
  }

  /**
   * Ends all watches: a server that shares its store has read the whole state again, because the log no longer had the
   * changes that this server had missed. The events are the differences, so objects may have come and gone between.
   */
  #endAllExpired(): void {
    const { compactedRevision } = this.#storage
    const expired = new ApiError("Expired", `too old resource version: the history begins at ${compactedRevision}`)
    for (const watcher of [...this.#watchers.all()]) this.#end(watcher, expired)
  }

  /** Sends the events of one resource, whose keys all start with `resourcePrefix`, to its watchers. */
  #notify(resourcePrefix: string, events: readonly StorageEvent[]): void {
    const groups = this.#watchers.of(resourcePrefix)
    if (groups === undefined) return
    const { revision } = events.at(-1)!
    for (const group of groups) {
      const seen = group.prefix === resourcePrefix ? events : events.filter(({ key }) => key.startsWith(group.prefix))
      if (seen.length > 0) this.#send(seen, group, revision)
    }
  }

  #send(seen: readonly StorageEvent[], group: WatchGroup<Watcher>, revision: number): void {
    const { view, watchers } = group
    if (view.atOnce !== undefined) return this.#deliver(seen, watchers, revision, view.atOnce)
    // Only watchers that are open now get these events: a watch that begins while they wait begins after them, or gets
    // them with the events that it missed.
    const present = [...watchers]
    const hasSelections = present.some(({ selection }) => selection !== undefined)
    this.#lineOf(group, present[0]!.request.resource).add(
      hasSelections ? storedIn({ events: seen }) : seen.map(({ stored }) => stored),
      (shown) =>
        this.#deliver(
          seen,
          present.filter((watcher) => watchers.has(watcher)),
          revision,
          shown,
        ),
    )
  }

  #deliver(seen: readonly StorageEvent[], watchers: Iterable<Watcher>, revision: number, shown: ShowsAtOnce): void {
    const shared = new SharedFrames(seen, shown)
    for (const watcher of watchers)
      this.#alone(watcher, () => {
        const { selection } = watcher
        const batch = selection === undefined ? shared.all() : shared.selected(selection)
        if (batch === undefined) return true
        watcher.sentRevision = revision
        return watcher.sink.send(batch)
      })
  }

  /**
   * Sends something to one watcher, and ends its watch when `send` returns false. When it throws, that watch ends with
   * an error: its client lists or resumes again, after its own back-off. All other watchers get what is theirs.
   */
  #alone(watcher: Watcher, send: () => boolean): void {
    try {
      if (!send()) this.#end(watcher, undefined)
    } catch (err) {
      this.#fail(watcher, err)
    }
  }

  #fail(watcher: Watcher, err: unknown): void {
    const { resource, namespace } = watcher.request
    contain("watch", err, this.#log, { resource: resource.plural, namespace })
    this.#end(watcher, ApiError.from(err))
  }

  #end(watcher: Watcher, error: ApiError | undefined): void {
    if (!this.remove(watcher)) return
    try {
      watcher.sink.end(error)
    } catch (err) {
      contain("watch", err, this.#log, { resource: watcher.request.resource.plural })
    }
  }

  /** Ends a watch without a word to its sink. Returns false when it was not open. */
  remove(watcher: Watcher): boolean {
    if (watcher.group === undefined || !this.#watchers.remove(watcher.group, watcher)) return false
    watcher.timer?.cancel()
    this.#beginning.delete(watcher)
    if (watcher.group.watchers.size === 0) {
      this.#lines.get(watcher.group)?.close()
      this.#lines.delete(watcher.group)
    }
    const { bookmarkEveryMs } = watcher.request
    if (bookmarkEveryMs !== undefined) this.#bookmarks.remove(watcher, bookmarkEveryMs)
    return true
  }

  #sendBookmarks(watchers: Iterable<Watcher>): void {
    const { revision } = this.#storage
    const frames = new Map<Resource, WatchFrame>()
    for (const watcher of watchers) {
      const { resource } = watcher.request
      if (watcher.sentRevision === revision || this.#lines.get(watcher.group!)?.isEmpty === false) continue
      let shared = frames.get(resource)
      if (shared === undefined) frames.set(resource, (shared = bookmark(resource, revision, false)))
      watcher.sentRevision = revision
      const { alone } = shared
      this.#alone(watcher, () => watcher.sink.send(alone))
    }
  }
}

/** Returns `/registry/core/pods/` for `/registry/core/pods/default/web`. */
function resourcePrefix(key: string): string {
  const group = key.indexOf("/", 1)
  const plural = key.indexOf("/", group + 1)
  return key.slice(0, key.indexOf("/", plural + 1) + 1)
}
