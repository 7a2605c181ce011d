import { createHash } from "node:crypto"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { pick } from "../../hunt/chance.ts"
import { Api, type Sent, type Target } from "./api.ts"
import { ObjectHistory, type Selector } from "./history.ts"
import { defineLamps, KINDS, pathOf, stateOf, type WatchedKind } from "./kinds.ts"
import { dateDeletions, faultsOf } from "./verdict.ts"
import { Watcher } from "./watchers.ts"
import { burst, TIERS, Writer, type Written } from "./writers.ts"

export interface WatchRun {
  /** The events that contradict the answers to the writes; empty if there are none. */
  readonly faults: readonly string[]
  readonly writes: number
  readonly sessions: number
  readonly events: number
  /** The number of watches and lists that were refused because their revision had expired. */
  readonly expired: number
  readonly lists: number
  /** The number of watches that began with the objects that existed. */
  readonly initial: number
  /** A digest that is equal for all servers: the events of each object with one writer, for each selector. */
  readonly digest: string
}

export interface WatchRunOptions {
  readonly target: Target
  readonly seed: number
  readonly writers: number
  /** The number of writes of each writer. */
  readonly writes: number
  /** The number of watchers of each kind. */
  readonly watchers: number
  /** Whether watches may begin with the objects that exist (`sendInitialEvents`). */
  readonly initialEvents: boolean
}

/** The time in which a watcher must receive the last writes. */
const CATCH_UP_MS = 20_000

/**
 * Runs writers and watchers at the same time, and compares the events of each watcher with the answers to the writes.
 * Leaves nothing behind but the definition of the custom kind.
 */
export async function runWatches({
  target,
  seed,
  writers,
  writes,
  watchers,
  initialEvents,
}: WatchRunOptions): Promise<WatchRun> {
  using api = new Api(target)
  const run = `run-${seed}-${process.pid}`
  const namespaces = [`${run}-0`, `${run}-1`]
  await defineLamps(api)
  for (const name of namespaces) {
    await api.send("POST", "/api/v1/namespaces", { metadata: { name } })
    await api.send("POST", `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } })
  }
  const histories = new Map<string, ObjectHistory>()
  const written = (kind: WatchedKind, i: number, name: string, owned: boolean): Written => {
    const namespace = namespaces[i % 2]!
    const key = `${kind.plural}/${namespace}/${name}`
    const history = histories.get(key) ?? new ObjectHistory(kind, key, owned)
    histories.set(key, history)
    return { kind, namespace, name, history }
  }
  const wrong: string[] = []
  const revisions: number[] = []
  let ended = false
  const newWriter = (number: number) =>
    new Writer({
      api,
      run,
      random: seededRandom(seed * 1000 + number),
      acknowledged: (revision) => revisions.push(revision),
      wrong: (what) => wrong.push(what),
    })

  const shared = KINDS.map((kind) => written(kind, 0, "shared", false))
  const first = newWriter(999)
  for (const object of shared) await first.create(object, "a")

  const all = KINDS.flatMap((kind) => {
    const some = selectors(kind, run, namespaces)
    return Array.from({ length: watchers }, (_, i) => {
      const selector = some[i % some.length]!
      const [chance, metadataOnly] = [seededRandom(seed * 2000 + i), i % 5 === 4]
      const someRevision = () => pick(chance, revisions)
      return new Watcher({
        api,
        kind,
        selector,
        initialEvents,
        metadataOnly,
        random: chance,
        someRevision,
        ended: () => ended,
      })
    })
  })
  const watching = all.map((watcher) => watcher.run())
  const own = await Promise.all(
    Array.from({ length: writers }, async (_, number) => {
      const [writer, chance] = [newWriter(number), seededRandom(seed * 3000 + number)]
      const objects = KINDS.map((kind, i) => written(kind, number + i, `w${number}`, true))
      for (let count = 0; count < writes;) {
        const object = pick(chance, objects)
        for (let more = burst(chance); more > 0; more--, count++) await writer.write(object)
        if (count % 4 === 0) await writer.relabel(pick(chance, shared), pick(chance, TIERS), `w${number}`)
      }
      return { writer, objects }
    }),
  )
  // From here on no watch is cut. Each ends when it has received the last write that its selector matches.
  ended = true
  await Promise.all(own.map(async ({ writer, objects }) => Promise.all(objects.map((object) => writer.end(object)))))
  for (const object of shared) await first.end(object)
  const late = setTimeout(() => {
    for (const watcher of all) wrong.push(...watcher.giveUp())
  }, CATCH_UP_MS)
  for (const watcher of all) watcher.finish(lastRevision(watcher, histories))
  await Promise.all(watching)
  clearTimeout(late)

  const known = [...histories.values()]
  const faults = [...wrong, ...dateDeletions(histories, all), ...all.flatMap((one) => faultsOf(one, known))]
  await clearAway(api, namespaces)
  const sum = (count: (watcher: Watcher) => number) => all.reduce((total, watcher) => total + count(watcher), 0)
  const lines = all.flatMap(({ sessions }) => sessions.flatMap((session) => session.lines))
  return {
    faults,
    writes: known.reduce((total, { versions }) => total + versions.length, 0),
    sessions: sum(({ sessions }) => sessions.length),
    events: lines.length,
    expired: sum(({ expired }) => expired),
    lists: sum(({ lists }) => lists.length),
    initial: sum(({ sessions }) => sessions.filter(({ initialEvents }) => initialEvents).length),
    digest: digestOf(known, (kind) => selectors(kind, run, namespaces)),
  }
}

/** The selectors that watchers of a kind use in turn: by label, field, both, namespace and name. */
function selectors(kind: WatchedKind, run: string, namespaces: readonly string[]): readonly Selector[] {
  const [namespace = "", other = ""] = namespaces
  const all = { query: `labelSelector=run%3D${run}`, matches: () => true }
  const labels = (condition: string, matches: (tier: string) => boolean): Selector => ({
    query: `labelSelector=${encodeURIComponent(`run=${run},${condition}`)}`,
    matches: (_, { tier }) => matches(tier),
  })
  const named =
    (name: string) =>
    ({ metadata }: Sent) =>
      metadata.name === name
  const { name: field, values } = kind.field ?? { name: "metadata.name", values: ["w4"] }
  const value = values.at(-1)!
  const hasField = ({ metadata }: Sent, color: string | undefined) =>
    kind.field === undefined ? metadata.name === value : color === value
  return [
    all,
    labels("tier=a", (tier) => tier === "a"),
    { ...labels("tier notin (a,b)", (tier) => tier !== "a" && tier !== "b"), namespace },
    {
      query: `${all.query}&fieldSelector=${field}%3D${value}`,
      matches: (object, { color }) => hasField(object, color),
    },
    { ...all, namespace: other },
    {
      query: `labelSelector=${encodeURIComponent(`run=${run},tier in (b,c)`)}&fieldSelector=${field}!%3D${value}`,
      matches: (object, { color, tier }) => tier !== "a" && !hasField(object, color),
    },
    { namespace, query: "fieldSelector=metadata.name%3Dshared", matches: named("shared") },
    { namespace, query: "fieldSelector=metadata.name%3Dw2", matches: named("w2") },
  ]
}

/** Returns the last revision that a watcher must receive, as far as it is known. */
function lastRevision({ options: { kind, selector } }: Watcher, histories: ReadonlyMap<string, ObjectHistory>): number {
  const { namespace = "" } = selector
  const own = [...histories.values()].filter(
    (history) => history.kind === kind && history.key.startsWith(`${kind.plural}/${namespace}`),
  )
  return Math.max(0, ...own.flatMap((history) => history.steps(selector).map(({ revision = 0 }) => revision)))
}

function digestOf(histories: readonly ObjectHistory[], of: (kind: WatchedKind) => readonly Selector[]): string {
  const lines = histories
    .filter(({ owned }) => owned)
    .flatMap((history) =>
      of(history.kind).map((selector, i) => {
        const name = history.key.replace(/run-[^/]*-/, "")
        const steps = history.steps(selector).map(({ type, object }) => ({ type, ...stateOf(history.kind, object) }))
        return `${name} ${i} ${JSON.stringify(steps)}`
      }),
    )
  return createHash("sha256").update(lines.sort().join("\n")).digest("hex").slice(0, 16)
}

async function clearAway(api: Api, namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    for (const kind of KINDS) await api.send("DELETE", pathOf(kind, namespace))
    await api.send("DELETE", `/api/v1/namespaces/${namespace}`)
    // Without controllers, nobody else removes the namespace.
    const ended = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace }, spec: { finalizers: [] } }
    await api.send("PUT", `/api/v1/namespaces/${namespace}/finalize`, ended)
  }
}
