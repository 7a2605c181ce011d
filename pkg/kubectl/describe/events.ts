import { ageOf } from "../../apimachinery/scalars/time.ts"
import { parseTime } from "../../apimachinery/scalars/time.ts"
import type { Event } from "../../api/core/v1/event/event.ts"
import { goSort } from "../../go-sort/go-sort.ts"
import { listInChunks, type ApiObject } from "./describe-client.ts"
import type { Describing } from "./describing.ts"
import type { PrefixWriter } from "./prefix-writer.ts"

const EVENTS = { group: "", version: "v1", resource: "events" }

/** The object that events are about. */
export interface InvolvedObject {
  readonly name: string
  readonly namespace: string
  /** Empty where events of any kind with this name are meant. */
  readonly kind: string
  readonly uid: string
}

export const involved = ({ kind = "", metadata }: ApiObject): InvolvedObject => ({
  name: metadata.name ?? "",
  namespace: metadata.namespace ?? "",
  kind,
  uid: metadata.uid ?? "",
})

/**
 * Returns the events of an object; undefined when they are not asked for. What cannot be read is left out, since a
 * description is worth having without it.
 */
export async function eventsOf(describing: Describing, object: ApiObject): Promise<readonly Event[] | undefined> {
  return describing.showEvents ? searchEvents(describing, involved(object)) : undefined
}

/** Source: searchEvents in kubectl pkg/describe, GetFieldSelector in client-go. */
export async function searchEvents(describing: Describing, object: InvolvedObject): Promise<readonly Event[]> {
  const into: Event[] = []
  await listEvents(describing, object, into).catch(() => undefined)
  return into
}

/** The same, but fails where events cannot be read. */
export async function listEvents(
  { client, chunkSize }: Describing,
  { kind, name, namespace, uid }: InvolvedObject,
  into: Event[] = [],
): Promise<readonly Event[]> {
  const fieldSelector = [
    ...(kind === "" ? [] : [`involvedObject.kind=${kind}`]),
    `involvedObject.name=${name}`,
    `involvedObject.namespace=${namespace}`,
    ...(uid === "" ? [] : [`involvedObject.uid=${uid}`]),
  ].join(",")
  return listInChunks(client, { path: EVENTS, namespace, query: { fieldSelector }, limit: chunkSize, into })
}

/** Writes events, the latest last. Source: DescribeEvents. */
export function describeEvents(w: PrefixWriter, events: readonly Event[] | undefined, now: number): void {
  if (events === undefined) return
  if (events.length === 0) return w.row(0, "Events:", "<none>")
  w.flush()
  w.write(0, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n")
  w.row(1, "----", "------", "----", "----", "-------")
  const sorted = [...events]
  goSort(sorted, (a, b) => lastSeen(a) < lastSeen(b))
  for (const event of sorted)
    w.row(1, event.type ?? "", event.reason ?? "", interval(event, now), reporterOf(event), messageOf(event))
}

const lastSeen = ({ lastTimestamp }: Event): number =>
  (lastTimestamp ? parseTime(lastTimestamp) : undefined) ?? Number.NEGATIVE_INFINITY

/** Returns how long ago an event was seen: `3m`, or `3m (x4 over 10m)` when it was seen more than once. */
export function interval({ eventTime, firstTimestamp, lastTimestamp, series, count = 0 }: Event, now: number): string {
  const first = ageOf(eventTime ?? firstTimestamp, now)
  if (series) return `${ageOf(series.lastObservedTime, now)} (x${series.count ?? 0} over ${first})`
  return count > 1 ? `${ageOf(lastTimestamp, now)} (x${count} over ${first})` : first
}

const reporterOf = ({ source, reportingComponent }: Event): string => source?.component || (reportingComponent ?? "")

function messageOf({ message = "", involvedObject }: Event): string {
  const text = message.trim()
  return involvedObject.fieldPath ? `${involvedObject.fieldPath}: ${text}` : text
}
