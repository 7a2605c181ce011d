import { Event } from "../../../../pkg/api/core/v1/event/event.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { Cluster } from "../cluster.ts"
import { refOf, type Reference } from "../verbs/selection.ts"

/** Which Event is looked for; a field that is left out matches all. */
export interface EventMatch {
  /** The object that it is about. A reference by name alone means objects of any kind. */
  readonly about?: Reference
  /** The kind of that object. */
  readonly kind?: string
  readonly type?: "Normal" | "Warning"
  readonly reason?: string
  /** A part of the message, or a pattern. */
  readonly message?: string | RegExp
}

/** The most Events that a message shows. */
const SHOWN = 10

/** Returns all Events, the latest last. */
export async function eventsOf(cluster: Cluster): Promise<readonly Event[]> {
  return (await cluster.list(Event)).toSorted((a, b) => compare(timeOf(a), timeOf(b)))
}

export function wantedEvent({ about, kind, type, reason, message }: EventMatch): (event: Event) => boolean {
  const isAbout = aboutTest(about)
  return (event) =>
    isAbout(event) &&
    (kind === undefined || event.involvedObject.kind === kind) &&
    (type === undefined || event.type === type) &&
    (reason === undefined || event.reason === reason) &&
    (message === undefined || isMessage(event.message ?? "", message))
}

/** Returns which Event is looked for, in JSON: of an object that was given as a whole only kind and name. */
export const matchInWords = (event: EventMatch): string =>
  JSON.stringify(event, (_key, value: unknown) => {
    if (value instanceof RegExp) return String(value)
    if (!isObject(value)) return value
    const { kind, metadata } = value
    return { kind, namespace: metadata.namespace, name: metadata.name }
  })

/** Returns the last Events in words: those about the object that is meant, if there are any, else all. */
export function lastEvents(events: readonly Event[], { about }: EventMatch): string {
  const own = events.filter(aboutTest(about))
  const listed = own.length > 0 ? own : events
  if (listed.length === 0) return "there is none at all"
  const whose = about !== undefined && own.length > 0 ? " about it" : ""
  return [`the last of ${listed.length}${whose}:`, ...listed.slice(-SHOWN).map(inWords)].join("\n  ")
}

const inWords = ({ type, reason, involvedObject: { kind, namespace, name }, message, ...event }: Event): string => {
  const count = event.series?.count ?? event.count ?? 1
  const about = `${kind} ${namespace ? `${namespace}/` : ""}${name}`
  return `${type} ${reason} ${about}: ${message}${count > 1 ? ` (${count} times)` : ""}`
}

/** Events about objects without a namespace have none, and are in `default`. */
function aboutTest(about: Reference | undefined): (event: Event) => boolean {
  if (about === undefined) return () => true
  const { name, namespace } = refOf({ ...Event, kind: "object" }, about)
  const kind = isObject(about) ? about.kind : undefined
  return ({ involvedObject }) =>
    involvedObject.name === name &&
    (kind === undefined || involvedObject.kind === kind) &&
    (involvedObject.namespace || "default") === (namespace ?? "default")
}

const isObject = (value: unknown): value is Pick<KubeObject, "metadata"> & Partial<Pick<KubeObject, "kind">> =>
  typeof value === "object" && value !== null && "metadata" in value

/** A pattern with the flag `g` would begin where its last match ended. */
const isMessage = (message: string, wanted: string | RegExp): boolean =>
  typeof wanted === "string" ? message.includes(wanted) : message.search(wanted) >= 0

const timeOf = ({ series, lastTimestamp, eventTime, metadata }: Event): string =>
  series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? ""

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
