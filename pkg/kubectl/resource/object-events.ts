import { sleep } from "../../clock/clock.ts"
import type { Environment } from "../environment/environment.ts"
import { StatusError, type Status } from "../errors/status-error.ts"
import type { Unstructured } from "../rest/json.ts"
import type { WatchEvent } from "../rest/watch-events.ts"
import type { Helper } from "./helper.ts"

/** What has become of an object, as an informer tells it. */
export type ObjectEvent =
  /** The state at the beginning is known; undefined when there is no such object. */
  | { readonly type: "SYNCED"; readonly object: Unstructured | undefined }
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: Unstructured }

/** Where the object is, and how the server is asked for it: an Info. */
interface Watched {
  readonly helper: Pick<Helper, "list" | "watch">
  readonly namespace: string
  readonly name: string
}

interface Following {
  readonly environment: Pick<Environment, "clock" | "random">
  /** Ends the following; its reason is thrown. */
  readonly signal: AbortSignal
}

/** The wait before another attempt after an error, in milliseconds. Source: client-go tools/cache/reflector.go. */
const AGAIN_MS = 1000
/** The shortest time for which the server is asked to keep a watch, in seconds; the longest is twice that. */
const WATCH_SECONDS = 300
const INITIAL_END = "k8s.io/initial-events-end"

/**
 * Yields the state of one object, then its changes, until the signal aborts. Goes on when a watch ends, when the server
 * goes away for a while, and when it has forgotten the version; then changes may be joined. Source: UntilWithSync in
 * client-go tools/watch.
 */
export async function* objectEvents(
  info: Watched,
  { environment, signal }: Following,
): AsyncGenerator<ObjectEvent, void, undefined> {
  let known: Unstructured | undefined
  let isSynced = false
  const watching: Watching = { info, environment, signal, asksForInitialEvents: true }
  for (;;) {
    let isInitial = true
    try {
      let initial: Unstructured | undefined
      for await (const event of changesOf(watching)) {
        if (isInitial && event.type !== "BOOKMARK") initial = event.object
        else if (isInitial) {
          isInitial = false
          if (!isSynced) yield { type: "SYNCED", object: initial }
          isSynced = true
          const change = difference(known, initial)
          known = initial
          if (change !== undefined) yield change
        } else if (event.type !== "BOOKMARK") {
          const { object } = event
          const type = event.type === "DELETED" ? "DELETED" : known === undefined ? "ADDED" : "MODIFIED"
          known = type === "DELETED" ? undefined : object
          yield { type, object }
        }
      }
    } catch (err) {
      if (signal.aborted) throw signal.reason
      // A server before 1.32 sends no initial events (422), nor does one over an etcd before 3.4.31 (500).
      if (err instanceof StatusError && isInitial && watching.asksForInitialEvents) {
        watching.asksForInitialEvents = false
        continue
      }
    }
    await sleep(environment.clock, AGAIN_MS, signal)
    signal.throwIfAborted()
  }
}

interface Watching extends Following {
  readonly info: Watched
  asksForInitialEvents: boolean
}

/** Yields the object if it is there, a bookmark, then its changes, each watch going on where the one before ended. */
async function* changesOf({
  info,
  environment,
  signal,
  asksForInitialEvents,
}: Watching): AsyncGenerator<WatchEvent, void, undefined> {
  const { helper, namespace, name } = info
  const fieldSelector = `metadata.name=${name}`
  let resourceVersion = ""
  if (!asksForInitialEvents) {
    const list = await helper.list(namespace, { fieldSelector })
    for (const object of (list["items"] ?? []) as readonly Unstructured[]) yield { type: "ADDED", object }
    resourceVersion = list.metadata?.resourceVersion ?? ""
    yield { type: "BOOKMARK", object: list }
  }
  let isInitial = asksForInitialEvents
  for (;;) {
    const start = environment.clock.now()
    const timeoutSeconds = Math.floor(WATCH_SECONDS * (1 + environment.random.next()))
    const events = helper.watch(
      namespace,
      isInitial
        ? { allowWatchBookmarks: true, fieldSelector, initialEvents: true, timeoutSeconds }
        : { allowWatchBookmarks: true, fieldSelector, resourceVersion, timeoutSeconds },
      signal,
    )
    for await (const event of events) {
      if (event.type === "ERROR") throw new StatusError(event.object as Status)
      const { metadata } = event.object
      resourceVersion = metadata?.resourceVersion ?? resourceVersion
      if (event.type !== "BOOKMARK") yield event
      else if (isInitial && metadata?.annotations?.[INITIAL_END] === "true") {
        isInitial = false
        yield event
      }
    }
    if (isInitial) return
    // A watch that ends at once would be asked for again and again.
    if (environment.clock.now() - start < AGAIN_MS) await sleep(environment.clock, AGAIN_MS, signal)
  }
}

/** Returns the change between two states that were read apart. */
function difference(before: Unstructured | undefined, after: Unstructured | undefined): ObjectEvent | undefined {
  if (after === undefined) return before === undefined ? undefined : { type: "DELETED", object: before }
  if (before === undefined) return { type: "ADDED", object: after }
  return before.metadata?.resourceVersion === after.metadata?.resourceVersion
    ? undefined
    : { type: "MODIFIED", object: after }
}
