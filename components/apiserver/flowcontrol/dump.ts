/**
 * The tables under /debug/api_priority_and_fairness: the current priority levels, queues and requests. Source:
 * apiserver pkg/util/flowcontrol/apf_controller_debug.go.
 */
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { FlowControl } from "./flow-control.ts"
import type { FlowRequest } from "./flow-request.ts"
import type { Place } from "./fair-queuing/queue-set.ts"
import { largest } from "../../../pkg/lists/extremes.ts"

type Row = readonly (string | number | boolean)[]

/** Returns a table with a row for each priority level. */
export function dumpPriorityLevels(flow: FlowControl): string {
  return table([
    [
      "PriorityLevelName",
      "ActiveQueues",
      "IsIdle",
      "IsQuiescing",
      "WaitingRequests",
      "ExecutingRequests",
      "DispatchedRequests",
      "RejectedRequests",
      "TimedoutRequests",
      "CancelledRequests",
    ],
    ...flow.levels.map(({ name, queues, isQuiescing, counts }): Row => {
      const active = queues.queues.filter(({ waiting }) => waiting.size > 0).length
      const { dispatched, rejected, timedOut, cancelled } = counts
      const { isIdle, waiting, executing } = queues
      return [name, active, isIdle, isQuiescing, waiting, executing, dispatched, rejected, timedOut, cancelled]
    }),
  ])
}

/** Returns a table with a row for each queue. */
export function dumpQueues(flow: FlowControl): string {
  return table([
    [
      "PriorityLevelName",
      "Index",
      "PendingRequests",
      "ExecutingRequests",
      "SeatsInUse",
      "NextDispatchR",
      "InitialSeatsSum",
      "MaxSeatsSum",
      "TotalWorkSum",
    ],
    ...flow.levels.flatMap(({ name, queues }) =>
      queues.queues.map((queue, index): Row => {
        const { waiting, executing, seatsInUse, seatsWaiting } = queue
        const work = queues.workOf(queue)
        const [r, sum] = [seatSeconds(queues.virtualStartOf(queue)), seatSeconds(work)]
        return [name, index, waiting.size, executing.length, seatsInUse, r, seatsWaiting, seatsWaiting, sum]
      }),
    ),
  ])
}

/**
 * Returns a table with a row for each request that waits or holds seats; `withDetails` adds the attributes of the
 * request.
 */
export function dumpRequests(flow: FlowControl, clock: Clock, withDetails: boolean): string {
  const details = ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"]
  const rowOf =
    (level: string, queue: number) =>
    (place: Place<FlowRequest>, index: number): Row => {
      const { schema, flow: of, seats } = place.request
      const [arrived, started] = [timeOf(clock, place.arrived), timeOf(clock, place.started)]
      const row = [level, schema, queue, index, of.distinguisher, arrived, seats, 0, "0s", started]
      return withDetails ? [...row, ...detailsOf(place.request)] : row
    }
  return table([
    [
      "PriorityLevelName",
      "FlowSchemaName",
      "QueueIndex",
      "RequestIndexInQueue",
      "FlowDistingsher",
      "ArriveTime",
      "InitialSeats",
      "FinalSeats",
      "AdditionalLatency",
      "StartTime",
      ...(withDetails ? details : []),
    ],
    ...flow.levels.flatMap(({ name, queues }) => [
      ...queues.queues.flatMap(({ waiting, executing }, index) => [
        ...[...waiting].map(rowOf(name, index)),
        ...executing.map((place) => rowOf(name, index)(place, -1)),
      ]),
      ...queues.queueless.map((place) => rowOf(name, -1)(place, -1)),
    ]),
  ])
}

function detailsOf({ attributes }: FlowRequest): Row {
  const { user, verb } = attributes
  if ("path" in attributes) return [user.name, verb, attributes.path, "", "", "", "", ""]
  const { group, version, resource, subresource = "", namespace = "", name = "" } = attributes
  const apiVersion = group === "" ? version : `${group}/${version}`
  return [user.name, verb, "", namespace, name, apiVersion, resource, subresource]
}

const seatSeconds = (value: number): string => `${value.toFixed(8)}ss`

/** Formats a time of the monotonic clock as RFC 3339; Go's zero time when undefined. */
const timeOf = (clock: Clock, monotonic: number | undefined): string =>
  monotonic === undefined
    ? "0001-01-01T00:00:00Z"
    : new Date(clock.now() - (clock.monotonic() - monotonic)).toISOString()

/** The minimum width of a column, as upstream has it. */
const LEAST_WIDTH = 8

/** Aligns columns and separates them by commas. Source: Go's text/tabwriter. */
function table(rows: readonly Row[]): string {
  const cells = rows.map((row) => row.map((cell, i) => (i === row.length - 1 ? String(cell) : `${cell},`)))
  const widths = rows[0]!.map((_, i) => Math.max(LEAST_WIDTH, largest(cells.map((row) => row[i]!.length + 1))))
  return cells
    .map((row) => row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!))).join("") + "\n")
    .join("")
}
