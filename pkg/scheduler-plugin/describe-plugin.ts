import { didYouMean } from "../names/suggest.ts"
import { parseDuration } from "../apimachinery/scalars/time.ts"
import { EXTENSION_POINTS, type ExtensionPoint } from "./extension-points.ts"
import { SCHEDULING_EVENTS, type PodSelection, type SchedulerPlugin, type SchedulingEvent } from "./plugin.ts"
import type { PluginDescription } from "./protocol.ts"

/** The properties of a plugin that are no extension points. */
const OTHERS = [
  "name",
  "pods",
  "weight",
  "events",
  "ignorable",
  "deadlines",
  "configure",
  "queueingHint",
  "normalize",
  "unreserve",
] as const
const KNOWN: readonly string[] = [...EXTENSION_POINTS, ...OTHERS]

/** The longest deadline. Source: kube-scheduler framework/runtime maxTimeout. */
const LONGEST_MS = 15 * 60_000

/** Returns what the scheduler has to know of a plugin. @throws Error that says what is wrong with it, and the mend */
export function describePlugin(plugin: unknown): PluginDescription {
  if (typeof plugin !== "object" || plugin === null)
    throw new Error("the file must have a plugin as its default export: `export default definePlugin({ … })`")
  const given = plugin as Readonly<Record<string, unknown>>
  for (const key of Object.keys(given))
    if (!KNOWN.includes(key)) throw new Error(`${key} is nothing that a plugin can have${didYouMean(key, KNOWN)}`)
  const { name, pods = {}, weight = 1, events, ignorable = false, deadlines = {} } = given as Partial<SchedulerPlugin>
  if (typeof name !== "string" || !/^[A-Za-z][A-Za-z0-9-]{0,62}$/.test(name))
    throw new Error("name must be letters, digits and hyphens, at most 63")
  for (const method of [...EXTENSION_POINTS, "configure", "queueingHint", "normalize", "unreserve"])
    if (given[method] !== undefined && typeof given[method] !== "function")
      throw new Error(`${method} must be a function`)
  const points = EXTENSION_POINTS.filter((point) => given[point] !== undefined)
  if (points.length === 0) throw new Error(`the plugin does nothing: it needs one of ${EXTENSION_POINTS.join(", ")}`)
  if (!Number.isInteger(weight) || weight < 1 || weight > 1000) throw new Error("weight must be from 1 to 1000")
  if (typeof ignorable !== "boolean") throw new Error("ignorable must be true or false")
  return {
    name,
    points,
    hints: given["queueingHint"] !== undefined,
    pods: selectionOf(pods),
    weight,
    events: eventsOf(events),
    ignorable,
    deadlines: deadlinesOf(deadlines),
  }
}

function eventsOf(events: unknown): readonly SchedulingEvent[] | undefined {
  if (events === undefined) return undefined
  if (!Array.isArray(events)) throw new Error("events must be a list")
  const wrong = (events as readonly unknown[]).find((one) => !SCHEDULING_EVENTS.includes(one as SchedulingEvent))
  if (wrong !== undefined)
    throw new Error(`events: ${JSON.stringify(wrong)} is none of ${SCHEDULING_EVENTS.join(", ")}`)
  return events as readonly SchedulingEvent[]
}

function selectionOf(pods: PodSelection): PodSelection {
  const { resources, labels, namespaces, ...rest } = pods
  const [other] = Object.keys(rest)
  if (other !== undefined) throw new Error(`pods.${other} is not known: there are resources, labels and namespaces`)
  const isTexts = (list: unknown) => Array.isArray(list) && list.every((one) => typeof one === "string")
  if (resources !== undefined && !isTexts(resources)) throw new Error("pods.resources must be a list of names")
  if (namespaces !== undefined && !isTexts(namespaces)) throw new Error("pods.namespaces must be a list of names")
  if (labels !== undefined && (typeof labels !== "object" || !isTexts(Object.values(labels))))
    throw new Error("pods.labels must be labels: { app: web }")
  return {
    ...(resources === undefined ? {} : { resources }),
    ...(labels === undefined ? {} : { labels }),
    ...(namespaces === undefined ? {} : { namespaces }),
  }
}

function deadlinesOf(deadlines: Readonly<Record<string, unknown>>): PluginDescription["deadlines"] {
  const found: Partial<Record<ExtensionPoint, number>> = {}
  for (const [point, value] of Object.entries(deadlines)) {
    if (!EXTENSION_POINTS.includes(point as ExtensionPoint))
      throw new Error(`deadlines: ${point} is no extension point${didYouMean(point, EXTENSION_POINTS)}`)
    const ms = typeof value === "string" ? parseDuration(value) : undefined
    if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
      throw new Error(`deadlines.${point} must be a duration up to 15m, as in "500ms"`)
    found[point as ExtensionPoint] = ms
  }
  return found
}
