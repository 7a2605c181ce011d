/** The frames that watchers get of the store's events and objects. */
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { StorageEvent, Stored } from "../../../pkg/storage/storage.ts"
import { WatchBatch, WatchFrame, type FrameType } from "../call/frame.ts"
import type { Selection } from "./selection.ts"
import { ShownObject, type ShowsAtOnce } from "./view.ts"

const INITIAL_END = "k8s.io/initial-events-end"

/** What a watch begins with. */
export type Missed = { readonly objects: readonly Stored[] } | { readonly events: readonly StorageEvent[] }

/** The stored objects that must be converted to send it. */
export const storedIn = (missed: Missed): readonly Stored[] =>
  "objects" in missed
    ? missed.objects
    : missed.events.flatMap(({ stored, previous }) => (previous === undefined ? [stored] : [stored, previous]))

export const isNothing = (missed: Missed): boolean =>
  "objects" in missed ? missed.objects.length === 0 : missed.events.length === 0

/** What a watch selects, and whether a bookmark marks the end of its initial events. */
interface Seen {
  readonly resource: Resource
  readonly selection: Selection
  readonly markInitialEnd: boolean
}

/** Makes the frames with which a watch begins, each when it is asked for. */
export function* firstFrames(
  { resource, selection, markInitialEnd }: Seen,
  missed: Missed,
  shown: ShowsAtOnce,
  revision: number,
): Generator<WatchFrame, void> {
  if ("events" in missed) {
    for (const event of missed.events) {
      const frame = frameFor(event, shown, selection)
      if (frame !== undefined) yield frame
    }
    return
  }
  for (const stored of missed.objects) {
    const seen = shown(stored)
    if (selection.everything || selection.matches(seen.object)) yield new WatchFrame("ADDED", seen)
  }
  if (markInitialEnd) yield bookmark(resource, revision, true)
}

/** The frames of one commit for one group of watchers; each is made at its first use. */
export class SharedFrames {
  readonly #events: readonly StorageEvent[]
  readonly #shown: ShowsAtOnce
  #all: WatchBatch | undefined
  /** Frames by the index of the event, then by its type for a watcher. */
  readonly #frames: Partial<Record<FrameType, WatchFrame>>[] = []
  constructor(events: readonly StorageEvent[], shown: ShowsAtOnce) {
    this.#events = events
    this.#shown = shown
  }

  /** The batch for watchers without selectors. */
  all(): WatchBatch {
    return (this.#all ??= batchOf(this.#events.map((event, i) => this.#shared(i, frameTypeOf(event)))))
  }

  /** Undefined when the selection matches none of the events. */
  selected(selection: Selection): WatchBatch | undefined {
    const frames: WatchFrame[] = []
    for (let i = 0; i < this.#events.length; i++) {
      const type = transition(this.#events[i]!, this.#shown, selection)
      if (type !== undefined) frames.push(this.#shared(i, type))
    }
    return frames.length === 0 ? undefined : batchOf(frames)
  }

  #shared(i: number, type: FrameType): WatchFrame {
    return ((this.#frames[i] ??= {})[type] ??= makeFrame(this.#events[i]!, this.#shown, type))
  }
}

/**
 * Returns the shared batch of a single frame: most commits are one event, whose bytes watchers with different selectors
 * share too.
 */
const batchOf = (frames: readonly WatchFrame[]): WatchBatch =>
  frames.length === 1 ? frames[0]!.alone : new WatchBatch(frames)

function frameFor(event: StorageEvent, shown: ShowsAtOnce, selection: Selection): WatchFrame | undefined {
  const type = transition(event, shown, selection)
  return type === undefined ? undefined : makeFrame(event, shown, type)
}

const FRAME_TYPES = { create: "ADDED", update: "MODIFIED", delete: "DELETED" } as const
const frameTypeOf = (event: StorageEvent): FrameType => FRAME_TYPES[event.type]

/**
 * The type of an event for a watcher with selectors: an object that begins to match is ADDED, one that ceases to match
 * is DELETED.
 */
function transition(event: StorageEvent, shown: ShowsAtOnce, selection: Selection): FrameType | undefined {
  if (selection.everything) return frameTypeOf(event)
  const before = event.previous !== undefined && selection.matches(shown(event.previous).object)
  const after = event.type !== "delete" && selection.matches(shown(event.stored).object)
  return after ? (before ? "MODIFIED" : "ADDED") : before ? "DELETED" : undefined
}

/**
 * Makes a frame. A watcher whose selection an object leaves gets its last matching state, at the revision at which it
 * left.
 */
function makeFrame(event: StorageEvent, shown: ShowsAtOnce, type: FrameType): WatchFrame {
  if (type !== "DELETED" || event.type === "delete") return new WatchFrame(type, shown(event.stored))
  const left = shown(event.previous!)
  return new WatchFrame(type, atRevision(left, event.revision))
}

const atRevision = (stored: Stored, revision: number): Stored =>
  new ShownObject(
    { key: stored.key, revision, created: stored.created, time: stored.time },
    { ...stored.object, metadata: { ...stored.object.metadata, resourceVersion: String(revision) } },
  )

export function bookmark({ apiVersion, kind }: Resource, revision: number, initialEnd: boolean): WatchFrame {
  const object: KubeObject = {
    kind,
    apiVersion,
    metadata: { resourceVersion: String(revision), ...(initialEnd ? { annotations: { [INITIAL_END]: "true" } } : {}) },
  }
  return new WatchFrame("BOOKMARK", new ShownObject({ key: "", revision, created: revision, time: 0 }, object))
}
