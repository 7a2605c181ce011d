import { parseTime } from "../apimachinery/scalars/time.ts"
import type { Event } from "../api/core/v1/event/event.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { EVENTS } from "./reading/kinds.ts"
import type { Reader } from "./reading/reader.ts"

/** Returns the Events about an object, newest first; none where they may not be read. */
export async function eventsOf(reader: Reader, { metadata, kind }: KubeObject): Promise<readonly Event[]> {
  const events = (await reader.listIfAllowed(EVENTS, metadata.namespace ?? "default")) ?? []
  return events
    .filter(
      ({ involvedObject: about }) =>
        about.kind === kind &&
        about.name === metadata.name &&
        (about.uid === undefined || about.uid === "" || about.uid === metadata.uid || kind === "Node"),
    )
    .toSorted((a, b) => seenAt(b) - seenAt(a))
}

/** When an Event was last seen, in milliseconds since the epoch. */
export const seenAt = ({ lastTimestamp, eventTime, metadata, series }: Event): number =>
  parseTime(series?.lastObservedTime ?? "") ??
  parseTime(lastTimestamp ?? "") ??
  parseTime(eventTime ?? "") ??
  parseTime(metadata.creationTimestamp ?? "") ??
  0

export const eventLine = ({ reason, message }: Event): string => `event ${reason ?? ""}: ${message ?? ""}`

/** Returns the newest Event of each reason as a line. */
export async function recentEvents(
  reader: Reader,
  object: KubeObject,
  types: readonly string[],
  most = 3,
): Promise<readonly string[]> {
  const seen = new Set<string>()
  return (await eventsOf(reader, object))
    .filter(
      ({ type, reason = "" }) => types.includes(type ?? "") && !seen.has(reason) && seen.add(reason) !== undefined,
    )
    .slice(0, most)
    .map(eventLine)
}
