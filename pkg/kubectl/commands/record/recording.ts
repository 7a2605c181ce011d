import type { KubeObject } from "../../../apimachinery/resource.ts"
import { formatMicroTime } from "../../../apimachinery/scalars/time.ts"
import type { Clock } from "../../../clock/clock.ts"
import type { Random } from "../../../clock/random.ts"
import { RecordingWriter, type Sink } from "../../../replay/recording-writer.ts"
import type { LogEntry } from "../../../history/entry.ts"
import { isResourceExpired, StatusError } from "../../errors/status-error.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Unstructured } from "../../rest/json.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { apiVersionOf, DEFINITIONS_PATH, recordedKinds, type RecordedKind } from "./kinds.ts"
import { pastWrites } from "./past-span.ts"
import { Recordable } from "./recordable.ts"
import { listKind } from "./state.ts"
import { WatchedSpan, type WatchedList } from "./watched-span.ts"
import { writeOf } from "./write-of.ts"

export interface RecordOptions {
  readonly lastMs: number
  /** How long what happens from now on is recorded; 0 for until Ctrl-C where there is no history, or else not at all. */
  readonly forMs: number
  /** Empty for all. */
  readonly namespaces: readonly string[]
  readonly anonymise: boolean
}

/** What a recording has, for people. */
export interface RecordedSummary {
  readonly begin: string
  readonly end: string
  readonly objects: number
  readonly writes: number
  readonly left: readonly string[]
}

/**
 * Records what a server has of the past, and for as long as wanted what happens from now on. Any other server than that
 * of k3ts tells only the latter.
 */
export async function record(factory: Factory, sink: Sink, options: RecordOptions): Promise<RecordedSummary> {
  factory.warnings.mute()
  const client = await factory.client()
  const { clock, interrupt } = factory.environment
  const since = clock.now() - options.lastMs
  const recording = await unlessAborted(recordingOf(factory, client, sink, options), interrupt)
  const { signal, cancel } = untilEnd(factory.environment, options.forMs)
  try {
    if (options.lastMs === 0 || !recording.server.includes(OWN_VERSION)) return await recordWatches(recording, signal())
    if (options.forMs > 0) await aborted(signal())
    // What has ended the waiting does not end what follows.
    const past = recordPast(recording, since)
    return await (interrupt.aborted ? past : unlessAborted(past, interrupt))
  } finally {
    cancel()
  }
}

/** Asks a server what it is and what kinds it has. */
async function recordingOf(
  factory: Factory,
  client: RestClient,
  sink: Sink,
  options: RecordOptions,
): Promise<RecordingWork> {
  const { clock, interrupt, random } = factory.environment
  const { gitVersion: server = "" } = (await client.object({ method: "GET", path: "/version" })) as VersionAnswer
  const kinds = await kindsOf(factory, client)
  const writer = await writerOf(sink, kinds, options, random)
  return { client, clock, interrupt, writer, recordable: new Recordable(writer), options, server, kinds }
}

interface VersionAnswer extends Unstructured {
  readonly gitVersion?: string
}

/** What the version of a server of k3ts has. */
const OWN_VERSION = "k3ts"

/**
 * Returns a signal that aborts after a time, if that is above 0, or at Ctrl-C: then what was recorded is written.
 * Ctrl-C ends a command that does not ask for the signal.
 */
function untilEnd(
  environment: Pick<Factory["environment"], "clock" | "interrupt">,
  ms: number,
): { signal(): AbortSignal; cancel(): void } {
  const over = new AbortController()
  const timer = ms === 0 ? undefined : environment.clock.setTimeout(() => over.abort(), ms)
  // Watches end too, also after a failure.
  const cancel = () => {
    timer?.cancel()
    over.abort()
  }
  return { signal: () => AbortSignal.any([environment.interrupt, over.signal]), cancel }
}

/** Returns what work resolves to; rejects with the reason of a signal that aborts before. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined)
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason as Error)
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", stop))
}

const aborted = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))

/** What a recording is made with. */
interface RecordingWork {
  readonly client: RestClient
  readonly clock: Clock
  /** Aborts at Ctrl-C. */
  readonly interrupt: AbortSignal
  readonly writer: RecordingWriter
  /** Writes objects and writes. */
  readonly recordable: Recordable
  readonly options: RecordOptions
  /** The version of the server. */
  readonly server: string
  /** The kinds of the server as it is now; custom ones in the version in which they are stored. */
  readonly kinds: readonly RecordedKind[]
}

/** Returns what writes the file; with `anonymise`, by other names. */
async function writerOf(
  sink: Sink,
  kinds: readonly RecordedKind[],
  { anonymise }: RecordOptions,
  random: Random,
): Promise<RecordingWriter> {
  if (!anonymise) return new RecordingWriter(sink)
  const { AnonymousWriter } = await import("./anonymise/anonymous-writer.ts")
  return AnonymousWriter.with(sink, kinds, random)
}

/** Records what the history of a server has since a time, in milliseconds since the epoch. */
async function recordPast(
  { client, clock, writer, recordable, options: { namespaces }, server, kinds }: RecordingWork,
  since: number,
): Promise<RecordedSummary> {
  const { time, prefix } = await beginningOf(client, kinds, namespaces, since)
  const begin = formatMicroTime(time)
  await writer.head({ begin, from: "history", server, namespaces })
  const state = await recordState(client, kinds, { prefix, namespaces }, recordable)
  // A clock that was set back must not put a write ahead of the one before it.
  let last = begin
  const upTo = await newestRevision(client, state.kinds, namespaces)
  const byKind = new Map(state.kinds.map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, kind]))
  const after = Number(state.lists[0]?.revision ?? "0")
  for await (const entry of pastWrites(client, { kinds: state.kinds, namespaces, after, upTo })) {
    const kind = byKind.get(`${entry.apiVersion} ${entry.kind}`)
    if (kind === undefined || !isWanted(entry.namespace, kind, namespaces)) continue
    if (entry.time > last) last = entry.time
    await recordable.write(writeOf({ ...entry, time: last }, kind.resource))
  }
  const left = [...state.left, ...recordable.left]
  return ended(writer, { begin, last, now: clock.now(), kinds: state.kinds, left })
}

async function recordWatches(
  { client, clock, interrupt, writer, recordable, options: { namespaces }, server, kinds }: RecordingWork,
  until: AbortSignal,
): Promise<RecordedSummary> {
  const begin = formatMicroTime(clock.now())
  await writer.head({ begin, from: "watches", server, namespaces })
  const span = new WatchedSpan(client, clock, until)
  // Before it watches there is nothing that would be worth a file.
  const state = await unlessAborted(
    recordState(client, kinds, { prefix: "", namespaces }, recordable, (object) => span.know(object)),
    interrupt,
  )
  let last = begin
  for await (const { kind, entry } of span.writes(state.lists)) {
    if (entry.time > last) last = entry.time
    await recordable.write(writeOf({ ...entry, time: last }, kind.resource))
  }
  const left = [...state.left, ...span.missed, ...recordable.left]
  return ended(writer, { begin, last, now: clock.now(), kinds: state.kinds, left })
}

async function ended(
  writer: RecordingWriter,
  span: Pick<RecordedSummary, "begin" | "left"> & {
    readonly last: string
    readonly now: number
    readonly kinds: readonly RecordedKind[]
  },
): Promise<RecordedSummary> {
  const { begin, last, left, kinds } = span
  const now = formatMicroTime(span.now)
  const end = last > now ? last : now
  await writer.end({ time: end, resources: kinds.map(({ group, resource }) => `${group}/${resource}`), left })
  return { begin, end, objects: writer.objects, writes: writer.writes, left }
}

const isWanted = (namespace: string, { namespaced }: RecordedKind, namespaces: readonly string[]): boolean =>
  !namespaced || namespaces.length === 0 || namespaces.includes(namespace)

/** The kinds of the server as it is now; custom ones in the version in which they are stored. */
async function kindsOf(factory: Factory, client: RestClient): Promise<readonly RecordedKind[]> {
  const discovery = await factory.discovery()
  discovery.invalidate()
  const definitions = await client.object({ method: "GET", path: DEFINITIONS_PATH }).then(
    ({ items }) => items as readonly Unstructured[],
    (err: unknown) => {
      if (err instanceof StatusError) return []
      throw err
    },
  )
  return recordedKinds(await discovery.groupsAndResources(), definitions)
}

interface Beginning {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** What stands before the paths of lists of this time. */
  readonly prefix: string
}

/** What a server of k3ts says of a time before its history. */
const BEGINS = /begins at (\S+), with revision (\d+)/

/** Returns where the recording begins: at the wanted time, or where the history does. */
async function beginningOf(
  client: RestClient,
  kinds: readonly RecordedKind[],
  [namespace = ""]: readonly string[],
  time: number,
): Promise<Beginning> {
  const prefix = `/k3ts/at/${formatMicroTime(time)}`
  try {
    for (const kind of kinds) {
      const outcome = await listKind(client, kind, { prefix, namespace }, ignored)
      if (!("revision" in outcome)) continue
      const pinned = `/k3ts/at/${outcome.revision}`
      if (Number(outcome.revision) > 0) return { time, prefix: pinned }
      // The cluster began in the span.
      const first = await firstWrite(client, kinds)
      return { time: first === undefined ? time : Date.parse(first.time), prefix: pinned }
    }
  } catch (err) {
    const [, begins = "", revision = ""] = BEGINS.exec(isResourceExpired(err) ? err.message : "") ?? []
    if (revision === "") throw err
    return { time: Date.parse(begins), prefix: `/k3ts/at/${revision}` }
  }
  throw new Error("this server keeps no history that you may read")
}

/** How many revisions may have been of Leases alone, which leave none behind. */
const FIRST_REVISIONS = 100

async function firstWrite(client: RestClient, kinds: readonly RecordedKind[]): Promise<LogEntry | undefined> {
  for await (const entry of pastWrites(client, { kinds, namespaces: [], after: 0, upTo: FIRST_REVISIONS })) return entry
  return undefined
}

const ignored = () => Promise.resolve()

/** The state that was recorded: its lists, the kinds of which there is one, and in words which kinds have none. */
interface RecordedState {
  readonly lists: readonly WatchedList[]
  readonly kinds: readonly RecordedKind[]
  readonly left: readonly string[]
}

async function recordState(
  client: RestClient,
  kinds: readonly RecordedKind[],
  { prefix, namespaces }: { readonly prefix: string; readonly namespaces: readonly string[] },
  writer: Recordable,
  know: (object: KubeObject) => void = () => {},
): Promise<RecordedState> {
  const left: string[] = []
  const readable: RecordedKind[] = []
  const lists: WatchedList[] = []
  for (const kind of kinds) {
    const take = async (objects: readonly KubeObject[]) => {
      for (const object of objects) {
        know(object)
        await writer.object({ resource: kind.resource, object })
      }
    }
    let isForbidden = false
    for (const namespace of kind.namespaced && namespaces.length > 0 ? namespaces : [""]) {
      const outcome = await listKind(client, kind, { prefix, namespace }, take)
      if ("revision" in outcome) lists.push({ kind, namespace, revision: outcome.revision })
      else isForbidden ||= outcome.missing === "forbidden"
    }
    if (isForbidden) left.push(`${kind.resource}: you may not list them`)
    else readable.push(kind)
  }
  return { lists, kinds: readable, left }
}

async function newestRevision(
  client: RestClient,
  kinds: readonly RecordedKind[],
  [namespace = ""]: readonly string[],
): Promise<number> {
  for (const kind of kinds) {
    const outcome = await listKind(client, kind, { prefix: "", namespace }, ignored)
    if ("revision" in outcome) return Number(outcome.revision)
  }
  throw new Error("there is no kind of which you may list the objects")
}
