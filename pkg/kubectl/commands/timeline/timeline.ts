import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { LogEntry } from "../../../history/entry.ts"
import { parsePoint, POINT_FORMS } from "../../../history/point.ts"
import { shortForm } from "../../../history/short-form.ts"
import { command, type Invocation } from "../../command/command.ts"
import { stringFlag } from "../../command/flag.ts"
import type { Factory } from "../../factory/factory.ts"
import { printed } from "../../../terminal/printed.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { isForbidden } from "../../errors/status-error.ts"
import { mappingFor } from "../../resource/mapping-for.ts"
import { historyTargets, objectWords, readHistory, type HistoryTarget } from "../history/history-source.ts"
import { changesText } from "../history/history-text.ts"
import { concernedBy, type Concerned } from "./concerned.ts"

const MOST_WRITES = 10_000

const flags = {
  since: stringFlag("1h", `Begin there: ${POINT_FORMS}.`),
}

/** Differs from upstream, which has no such command: only servers of k3ts keep a history (docs/history.md). */
export const timelineCommand = command({
  use: "timeline TYPE/NAME",
  short: "Show what happened to an object and to all that it depends on",
  long: `
Show in order what happened to an object, and to what concerns it: what it owns, the ConfigMaps, Secrets and claims that its pods use, their nodes, Services, budgets and autoscalers, with the Events about all of these.`,
  example: `
# What happened to a deployment in the last two hours?
k3ts timeline deployment/web --since 2h`,
  flags,
  run,
})

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, args, factory, environment, out, errOut, usageError } = invocation
  const [target, ...others] = args.length === 0 ? [] : await historyTargets(invocation, false)
  if (target?.mapping === undefined || target.name === "" || others.length > 0)
    throw usageError("name one object: TYPE/NAME")
  const point = parsePoint(values.since)
  if (point === undefined) throw usageError(`--since ${values.since}: must be ${POINT_FORMS}`)
  const own = await readHistory(factory, target, { objects: true, limit: MOST_WRITES })
  const subject = own.entries.at(-1)
  if (subject === undefined) throw new Error(`${target.name} is not in the history that is kept`)
  const written = inOrder([...own.entries, ...(await aroundOf(invocation, target))])
  const concerned = concernedBy(subject, [...(await presentOf(factory, target.namespace)), ...written])
  const begin = "ago" in point ? environment.clock.now() - point.ago : "time" in point ? point.time : 0
  const after = "revision" in point ? point.revision : 0
  const texts = written
    .filter(({ revision, time }) => revision > after && Date.parse(time) >= begin)
    .flatMap((entry) => textOf(entry, concerned) ?? [])
  for (const text of texts) await out.write(text)
  if (texts.length === 0) await errOut.write("Nothing happened since then.\n")
}

/** Reads the writes to what may concern an object: in its namespace, its Events, and the nodes. */
async function aroundOf(
  { factory, errOut }: Invocation<typeof flags>,
  { namespace }: HistoryTarget,
): Promise<readonly LogEntry[]> {
  const mapper = await factory.restMapper()
  const [events, nodes] = [await mappingFor(mapper, "events"), await mappingFor(mapper, "nodes")]
  const targets: readonly HistoryTarget[] = [
    { mapping: undefined, namespace },
    { mapping: events, namespace, name: "" },
    { mapping: nodes, namespace: "", name: "" },
  ]
  const pages = await Promise.all(
    targets.map(async (target) => {
      try {
        return (await readHistory(factory, target, { objects: true, limit: MOST_WRITES })).entries
      } catch (err) {
        if (!isForbidden(err)) throw err
        await errOut.write(`Not shown: ${errorMessage(err)}\n`)
        return []
      }
    }),
  )
  return pages.flat()
}

/** Owners between a workload and its pods that were written before the history begins. */
const BETWEEN = [
  { root: "/apis/apps/v1", plural: "replicasets", kind: "ReplicaSet" },
  { root: "/apis/batch/v1", plural: "jobs", kind: "Job" },
] as const

/** Returns what stands between a workload and its pods, as it is now. */
async function presentOf(factory: Factory, namespace: string): Promise<readonly LogEntry[]> {
  if (namespace === "") return []
  const client = await factory.client()
  const lists = await Promise.all(
    BETWEEN.map(async ({ root, plural, kind }) => {
      const path = `${root}/namespaces/${namespace}/${plural}`
      const list = await client.object({ method: "GET", path }).catch(() => ({}))
      return ((list as { readonly items?: readonly KubeObject[] }).items ?? []).map((object) => ({
        object,
        kind,
      }))
    }),
  )
  return lists.flat().map(({ object, kind }) => ({
    ...NO_WRITE,
    kind,
    namespace,
    name: object.metadata.name ?? "",
    object,
  }))
}

const NO_WRITE: LogEntry = {
  revision: 0,
  time: "",
  verb: "update",
  user: "",
  clients: [],
  subresource: "",
  apiVersion: "",
  kind: "",
  namespace: "",
  name: "",
  changes: [],
}

/** Each write once, oldest first. */
const inOrder = (entries: readonly LogEntry[]): readonly LogEntry[] =>
  [...new Map(entries.map((entry) => [entry.revision, entry])).values()].sort((a, b) => a.revision - b.revision)

interface Event extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly kind?: string; readonly namespace?: string; readonly name?: string }
}

/** Returns the lines of a write; undefined where it concerns something else, or tells nothing. */
function textOf(entry: LogEntry, concerned: Concerned): string | undefined {
  const { time, user, clients, verb, object } = entry
  const at = `${time.slice(0, 19)}Z`
  if (entry.kind === "Event") {
    const { type = "", reason = "", message = "", involvedObject = {} } = (object ?? {}) as Event
    const { kind = "", namespace = "", name = "" } = involvedObject
    const words = objectWords({ kind, namespace, name })
    if (verb === "delete" || !concerned.has(words)) return undefined
    return printed([`${at}  ${type} ${reason}  ${words}: ${message.trim()}`])
  }
  if (!concerned.has(objectWords(entry)) || object === undefined) return undefined
  const by = `by ${user}${clients.length === 0 ? "" : ` (${clients.join(", ")})`}`
  if (verb !== "update") return printed([`${at}  ${verb} ${objectWords(entry)}  ${by}`])
  const [before, after] = [entry.previous === undefined ? "" : shortForm(entry.previous), shortForm(object)]
  const fields = entry.changes.filter(({ path }) => !OF_THE_SYSTEM.test(path))
  if (before === after && fields.length === 0) return undefined
  const lines = fields.length === 0 ? [] : changesText(fields)
  return printed([`${at}  ${before === after ? `update ${objectWords(entry)}` : after}  ${by}`, ...lines])
}

/** Fields whose changes other lines tell better. */
const OF_THE_SYSTEM = /^(?:status\b|metadata\.(?:generation|deletion|finalizers)|metadata\.annotations\.deployment\.)/
