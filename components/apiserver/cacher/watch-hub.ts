/**
 * Carries the store's events to watchers. Nothing here awaits: a commit's events reach every watcher in the turn of the commit, and a watch begins, with
 * what it missed or with the present objects, in one step, so no event falls between the two.
 *
 * Cost: an event is looked at once for each watcher of its resource; watchers without selectors share one array of frames, and all share the encodings.
 * A watcher that cannot keep up is closed, never waited for: it lists or resumes again. Source of the rules: apiserver pkg/storage/cacher.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Watch } from "../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { StorageError, type Storage, type StorageEvent, type Stored } from "../../../pkg/storage/storage.ts"
import type { WatchSink } from "../request.ts"
import { WatchFrame } from "./frame.ts"
import type { Selection } from "./selection.ts"
import { ShownObject, storagePrefix, viewOf, type View } from "./view.ts"

export interface WatchRequest {
  readonly resource: Resource
  readonly namespace: string | undefined
  readonly selection: Selection
  /** Events after this revision; undefined: begin with the present. */
  readonly after: number | undefined
  /** Begin with ADDED for each object there is. */
  readonly initialEvents: boolean
  /** Mark the end of the initial events with an annotated bookmark. */
  readonly markInitialEnd: boolean
  readonly bookmarks: boolean
  readonly timeoutSeconds: number | undefined
}

/** How often idle watches hear how far the log is. Source: cacher.go defaultBookmarkFrequency. */
const BOOKMARK_INTERVAL_MS = 60_000
const INITIAL_END = "k8s.io/initial-events-end"

interface Watcher {
  readonly request: WatchRequest
  readonly prefix: string
  readonly view: View
  readonly sink: WatchSink
  timer: Timer | undefined
  sentRevision: number
}

export class WatchHub {
  readonly #storage: Storage
  readonly #clock: Clock
  /** Watchers by the prefix of their resource. */
  readonly #watchers = new Map<string, Set<Watcher>>()
  readonly #unsubscribe: () => void
  #bookmarkTimer: Timer | undefined
  #bookmarked = 0

  constructor({ storage, clock }: { readonly storage: Storage; readonly clock: Clock }) {
    this.#storage = storage
    this.#clock = clock
    this.#unsubscribe = storage.subscribe((events) => this.#dispatch(events))
  }

  /** Number of open watches, by the prefix of their resource. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.#watchers].map(([prefix, watchers]) => [prefix, watchers.size]))
  }

  watch(request: WatchRequest, sink: WatchSink): Watch {
    const { resource, namespace } = request
    const view = viewOf(resource)
    const prefix = storagePrefix(resource, namespace)
    const watcher: Watcher = { request, prefix, view, sink, timer: undefined, sentRevision: this.#storage.revision }
    const missed = this.#firstFrames(watcher)
    if (missed instanceof ApiError) {
      sink.end(missed)
      return { close: () => undefined }
    }
    let watchers = this.#watchers.get(view.prefix)
    if (watchers === undefined) this.#watchers.set(view.prefix, (watchers = new Set()))
    watchers.add(watcher)
    if (request.bookmarks) this.#bookmarked++
    this.#armBookmarks()
    if (request.timeoutSeconds !== undefined) watcher.timer = this.#clock.setTimeout(() => this.#end(watcher, undefined), request.timeoutSeconds * 1000)
    if (missed.length > 0 && !sink.send(missed)) this.#end(watcher, undefined)
    return { close: () => void this.#remove(watcher) }
  }

  /** Ends every watch; the server is stopping. */
  close(): void {
    this.#unsubscribe()
    for (const watchers of this.#watchers.values()) for (const watcher of watchers) this.#end(watcher, undefined)
    this.#bookmarkTimer?.cancel()
  }

  /** What a new watch begins with: the present objects, or the events since its revision. */
  #firstFrames({ request, prefix, view, sentRevision }: Watcher): WatchFrame[] | ApiError {
    const { resource, selection, after, initialEvents, markInitialEnd } = request
    if (initialEvents) {
      const frames: WatchFrame[] = []
      for (const stored of this.#storage.list(prefix)) {
        const shown = view.shown(stored)
        if (selection.everything || selection.matches(shown.object)) frames.push(new WatchFrame("ADDED", shown))
      }
      if (markInitialEnd) frames.push(bookmark(resource, sentRevision, true))
      return frames
    }
    if (after === undefined || after === sentRevision) return []
    try {
      return this.#storage.since(after, prefix).flatMap((event) => frameFor(event, view, selection) ?? [])
    } catch (err) {
      if (err instanceof StorageError && err.code === "compacted") return new ApiError("Expired", `too old resource version: ${after} (${this.#storage.compactedRevision})`)
      return ApiError.from(err)
    }
  }

  #dispatch(events: readonly StorageEvent[]): void {
    const single = events.length === 1
    const byPrefix = new Map<string, StorageEvent[]>()
    for (const event of events) {
      const prefix = resourcePrefix(event.key)
      if (!this.#watchers.has(prefix)) continue
      const group = byPrefix.get(prefix)
      if (group === undefined) byPrefix.set(prefix, [event])
      else group.push(event)
    }
    for (const [prefix, group] of byPrefix) {
      const shared = new SharedFrames(single ? events : group)
      for (const watcher of this.#watchers.get(prefix) ?? []) {
        const frames = watcher.request.selection.everything ? shared.all(watcher) : shared.selected(watcher)
        if (frames.length === 0) continue
        watcher.sentRevision = group.at(-1)!.revision
        if (!watcher.sink.send(frames)) this.#end(watcher, undefined)
      }
    }
  }

  #end(watcher: Watcher, error: ApiError | undefined): void {
    if (this.#remove(watcher)) watcher.sink.end(error)
  }

  #remove(watcher: Watcher): boolean {
    const prefix = watcher.view.prefix
    const watchers = this.#watchers.get(prefix)
    if (watchers?.delete(watcher) !== true) return false
    if (watchers.size === 0) this.#watchers.delete(prefix)
    watcher.timer?.cancel()
    if (watcher.request.bookmarks && --this.#bookmarked === 0) {
      this.#bookmarkTimer?.cancel()
      this.#bookmarkTimer = undefined
    }
    return true
  }

  /** One timer serves all watchers that want bookmarks, and none runs when there are none. */
  #armBookmarks(): void {
    if (this.#bookmarked === 0 || this.#bookmarkTimer !== undefined) return
    this.#bookmarkTimer = this.#clock.setTimeout(() => {
      this.#bookmarkTimer = undefined
      this.#sendBookmarks()
      this.#armBookmarks()
    }, BOOKMARK_INTERVAL_MS, "upkeep")
  }

  #sendBookmarks(): void {
    const { revision } = this.#storage
    for (const watchers of this.#watchers.values()) {
      const frames = new Map<Resource, readonly WatchFrame[]>()
      for (const watcher of watchers) {
        const { resource, bookmarks } = watcher.request
        if (!bookmarks || watcher.sentRevision === revision) continue
        let shared = frames.get(resource)
        if (shared === undefined) frames.set(resource, (shared = [bookmark(resource, revision, false)]))
        watcher.sentRevision = revision
        if (!watcher.sink.send(shared)) this.#end(watcher, undefined)
      }
    }
  }
}

/** The frames of one commit's events on one resource; each is made when the first watcher needs it. */
class SharedFrames {
  readonly #events: readonly StorageEvent[]
  readonly #all = new Map<View, Map<string, readonly WatchFrame[]>>()
  readonly #frames = new Map<View, Map<string, WatchFrame>>()
  constructor(events: readonly StorageEvent[]) {
    this.#events = events
  }

  /** One array for all watchers without selectors that see the same part of the resource. */
  all({ view, prefix }: Watcher): readonly WatchFrame[] {
    let byPrefix = this.#all.get(view)
    if (byPrefix === undefined) this.#all.set(view, (byPrefix = new Map<string, readonly WatchFrame[]>()))
    let frames = byPrefix.get(prefix)
    if (frames === undefined) byPrefix.set(prefix, (frames = this.#events.filter(({ key }) => key.startsWith(prefix)).map((event) => this.#shared(view, event, frameTypeOf(event)))))
    return frames
  }

  selected({ prefix, view, request: { selection } }: Watcher): readonly WatchFrame[] {
    const frames: WatchFrame[] = []
    for (const event of this.#events) {
      if (!event.key.startsWith(prefix)) continue
      const type = transition(event, view, selection)
      if (type !== undefined) frames.push(this.#shared(view, event, type))
    }
    return frames
  }

  #shared(view: View, event: StorageEvent, type: WatchFrame["type"]): WatchFrame {
    let frames = this.#frames.get(view)
    if (frames === undefined) this.#frames.set(view, (frames = new Map<string, WatchFrame>()))
    const id = `${type} ${event.revision}`
    let frame = frames.get(id)
    if (frame === undefined) frames.set(id, (frame = makeFrame(event, view, type)))
    return frame
  }
}

function frameFor(event: StorageEvent, view: View, selection: Selection): WatchFrame | undefined {
  const type = transition(event, view, selection)
  return type === undefined ? undefined : makeFrame(event, view, type)
}

const FRAME_TYPES = { create: "ADDED", update: "MODIFIED", delete: "DELETED" } as const
const frameTypeOf = (event: StorageEvent): WatchFrame["type"] => FRAME_TYPES[event.type]

/** What an event is to a watcher with selectors: an object that begins to match is ADDED to its view, one that ceases to is DELETED. */
function transition(event: StorageEvent, view: View, selection: Selection): WatchFrame["type"] | undefined {
  if (selection.everything) return frameTypeOf(event)
  const before = event.previous !== undefined && selection.matches(view.shown(event.previous).object)
  const after = event.type !== "delete" && selection.matches(view.shown(event.stored).object)
  return after ? (before ? "MODIFIED" : "ADDED") : before ? "DELETED" : undefined
}

/** A watcher that sees an object leave gets its last matching state, at the revision at which it left. */
function makeFrame(event: StorageEvent, view: View, type: WatchFrame["type"]): WatchFrame {
  if (type !== "DELETED" || event.type === "delete") return new WatchFrame(type, view.shown(event.stored))
  const left = view.shown(event.previous!)
  return new WatchFrame(type, atRevision(left, event.revision))
}

const atRevision = (stored: Stored, revision: number): Stored =>
  new ShownObject({ key: stored.key, revision, created: stored.created }, { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(revision) } })

function bookmark({ apiVersion, kind }: Resource, revision: number, initialEnd: boolean): WatchFrame {
  const object: KubeObject = { kind, apiVersion, metadata: { resourceVersion: String(revision), ...(initialEnd ? { annotations: { [INITIAL_END]: "true" } } : {}) } }
  return new WatchFrame("BOOKMARK", new ShownObject({ key: "", revision, created: revision }, object))
}

/** `/registry/core/pods/` of `/registry/core/pods/default/web`. */
function resourcePrefix(key: string): string {
  const group = key.indexOf("/", 1)
  const plural = key.indexOf("/", group + 1)
  return key.slice(0, key.indexOf("/", plural + 1) + 1)
}
