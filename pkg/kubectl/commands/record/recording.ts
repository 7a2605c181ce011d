import type { KubeObject } from "../../../apimachinery/resource.ts"
import { formatMicroTime } from "../../../apimachinery/scalars/time.ts"
import { RecordingWriter, type Sink } from "../../../replay/recording-writer.ts"
import { isResourceExpired, StatusError } from "../../errors/status-error.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Unstructured } from "../../rest/json.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { apiVersionOf, DEFINITIONS_PATH, recordedKinds, type RecordedKind } from "./kinds.ts"
import { pastWrites } from "./past-span.ts"
import { listKind, type ListOutcome } from "./state.ts"
import { writeOf } from "./write-of.ts"

export interface RecordOptions {
  readonly lastMs: number
  /** Empty for all. */
  readonly namespaces: readonly string[]
}

/** What a recording has, for people. */
export interface RecordedSummary {
  readonly begin: string
  readonly end: string
  readonly objects: number
  readonly writes: number
  readonly left: readonly string[]
}

/** Records what a server has of the past. @throws Error for a server without a history */
export async function record(factory: Factory, sink: Sink, options: RecordOptions): Promise<RecordedSummary> {
  const client = await factory.client()
  const { clock } = factory.environment
  const kinds = await kindsOf(factory, client)
  const writer = new RecordingWriter(sink)
  const { gitVersion = "" } = (await client.object({ method: "GET", path: "/version" })) as { gitVersion?: string }
  const { time, prefix } = await beginningOf(client, kinds, options, clock.now())
  const begin = formatMicroTime(time)
  const { namespaces } = options
  await writer.head({ begin, from: "history", server: gitVersion, namespaces, anonymised: false })
  const state = await recordState(client, kinds, { prefix, namespaces }, writer)
  let last = begin
  const upTo = await newestRevision(client, state.kinds, namespaces)
  const byKind = new Map(state.kinds.map((kind) => [`${apiVersionOf(kind)} ${kind.kind}`, kind]))
  for await (const entry of pastWrites(client, { kinds: state.kinds, namespaces, after: state.revision, upTo })) {
    const kind = byKind.get(`${entry.apiVersion} ${entry.kind}`)
    if (kind === undefined || !isWanted(entry.namespace, kind, namespaces)) continue
    await writer.write(writeOf(entry, kind.resource))
    last = entry.time
  }
  const now = formatMicroTime(clock.now())
  const end = last > now ? last : now
  await writer.end({ time: end, left: state.left })
  return { begin, end, objects: writer.objects, writes: writer.writes, left: state.left }
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
  { lastMs, namespaces: [namespace = ""] }: RecordOptions,
  now: number,
): Promise<Beginning> {
  const time = now - lastMs
  const prefix = `/k3ts/at/${formatMicroTime(time)}`
  try {
    for (const kind of kinds) {
      const outcome = await listKind(client, kind, { prefix, namespace }, ignored)
      if ("revision" in outcome) return { time, prefix: `/k3ts/at/${outcome.revision}` }
    }
  } catch (err) {
    const [, begins = "", revision = ""] = BEGINS.exec(isResourceExpired(err) ? err.message : "") ?? []
    if (revision === "") throw err
    return { time: Date.parse(begins), prefix: `/k3ts/at/${revision}` }
  }
  throw new Error("this server keeps no history that you may read")
}

const ignored = () => Promise.resolve()

/** The state that was recorded: its revision, the kinds of which there is one, and in words which kinds have none. */
interface RecordedState {
  readonly revision: number
  readonly kinds: readonly RecordedKind[]
  readonly left: readonly string[]
}

async function recordState(
  client: RestClient,
  kinds: readonly RecordedKind[],
  { prefix, namespaces }: { readonly prefix: string; readonly namespaces: readonly string[] },
  writer: RecordingWriter,
): Promise<RecordedState> {
  const left: string[] = []
  const readable: RecordedKind[] = []
  let revision = 0
  for (const kind of kinds) {
    const take = async (objects: readonly KubeObject[]) => {
      for (const object of objects) await writer.object({ resource: kind.resource, object })
    }
    const outcomes: ListOutcome[] = []
    for (const namespace of kind.namespaced && namespaces.length > 0 ? namespaces : [""])
      outcomes.push(await listKind(client, kind, { prefix, namespace }, take))
    if (outcomes.some((outcome) => "missing" in outcome && outcome.missing === "forbidden"))
      left.push(`${kind.resource}: you may not list them`)
    else readable.push(kind)
    for (const outcome of outcomes) if ("revision" in outcome) revision = Number(outcome.revision)
  }
  return { revision, kinds: readable, left }
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
