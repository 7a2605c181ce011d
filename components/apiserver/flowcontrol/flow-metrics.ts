import type { Distribution, Registry, Value } from "../../../pkg/metrics/registry.ts"
import type { PriorityLevel } from "./priority-level.ts"

/** Histogram buckets, in seconds. Sources: apiserver pkg/util/flowcontrol/metrics/metrics.go. */
const DURATIONS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]
const LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000]
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100]

/** The metrics of requests of one FlowSchema at one priority level. */
export interface SchemaFigures {
  readonly dispatched: Value
  /** Seconds that executed requests waited. */
  readonly waited: Distribution
  readonly execution: Distribution
  readonly estimatedSeats: Distribution
  began(seats: number): void
  ended(seats: number, seconds: number): void
  /** Records that a request began to wait; `length` is that of its queue, including the request. */
  entered(seats: number, length: number): void
  left(seats: number): void
  /** Records a rejected request; `seconds` is how long it waited. */
  rejected(reason: string, seconds: number): void
}

/** The state of flow control that metrics show. */
interface ShownLevels {
  readonly levels: readonly PriorityLevel[]
  readonly fairProportion: number
}

export interface FlowMetrics {
  of(level: string, schema: string): SchemaFigures
  /** Exposes the metrics of the priority levels, which are read at each scrape. */
  show(flow: ShownLevels): void
}

const LABELS = ["priority_level", "flow_schema"] as const

export function createFlowMetrics(registry: Registry): FlowMetrics {
  const gauge = (name: string, help: string) => registry.gauge(`apiserver_flowcontrol_${name}`, help, ...LABELS)
  const histogram = (name: string, help: string, buckets: readonly number[], ...more: readonly string[]) =>
    registry.histogram(`apiserver_flowcontrol_${name}`, help, buckets, ...LABELS, ...more)
  const dispatched = registry.counter(
    "apiserver_flowcontrol_dispatched_requests_total",
    "Number of requests that were served",
    ...LABELS,
  )
  const rejected = registry.counter(
    "apiserver_flowcontrol_rejected_requests_total",
    "Number of requests that were rejected",
    ...LABELS,
    "reason",
  )
  const executing = gauge("current_executing_requests", "Number of requests that are executing")
  const executingSeats = gauge("current_executing_seats", "Number of seats of requests that are executing")
  // An older name of the same metric.
  const concurrency = gauge("request_concurrency_in_use", "Number of seats of requests that are executing")
  const queued = gauge("current_inqueue_requests", "Number of requests that wait")
  const queuedSeats = gauge("current_inqueue_seats", "Number of seats that waiting requests need")
  const waits = histogram(
    "request_wait_duration_seconds",
    "How long requests waited in their queue",
    DURATIONS,
    "execute",
  )
  const executions = histogram("request_execution_seconds", "How long requests took to be served", DURATIONS, "type")
  const lengths = histogram("request_queue_length_after_enqueue", "Length of a queue that a request entered", LENGTHS)
  const estimates = histogram("work_estimated_seats", "Number of seats that requests were taken to need", SEATS)
  const known = new Map<string, Map<string, SchemaFigures>>()

  function make(level: string, schema: string): SchemaFigures {
    const labels = [level, schema] as const
    const [requests, seatsInUse] = [executing.with(...labels), executingSeats.with(...labels)]
    const concurrencyInUse = concurrency.with(...labels)
    const execution = executions.with(...labels, "regular")
    /** The series of requests that wait, which exist once one has waited. */
    let inQueue: { readonly requests: Value; readonly seats: Value; readonly length: Distribution } | undefined
    const waiting = () =>
      (inQueue ??= {
        requests: queued.with(...labels),
        seats: queuedSeats.with(...labels),
        length: lengths.with(...labels),
      })
    return {
      dispatched: dispatched.with(...labels),
      waited: waits.with(...labels, "true"),
      execution,
      estimatedSeats: estimates.with(...labels),
      began(seats) {
        requests.inc()
        seatsInUse.inc(seats)
        concurrencyInUse.inc(seats)
      },
      ended(seats, seconds) {
        requests.dec()
        seatsInUse.dec(seats)
        concurrencyInUse.dec(seats)
        execution.observe(seconds)
      },
      entered(seats, length) {
        const series = waiting()
        series.requests.inc()
        series.seats.inc(seats)
        series.length.observe(length)
      },
      left(seats) {
        const series = waiting()
        series.requests.dec()
        series.seats.dec(seats)
      },
      rejected(reason, seconds) {
        rejected.with(...labels, reason).inc()
        waits.with(...labels, "false").observe(seconds)
      },
    }
  }

  return {
    of(level, schema) {
      let ofLevel = known.get(level)
      if (ofLevel === undefined) known.set(level, (ofLevel = new Map<string, SchemaFigures>()))
      let figures = ofLevel.get(schema)
      if (figures === undefined) ofLevel.set(schema, (figures = make(level, schema)))
      return figures
    },
    show: (flow) => showLevels(registry, flow),
  }
}

const OF_LEVELS: Readonly<Record<string, readonly [help: string, value: (level: PriorityLevel) => number]>> = {
  nominal_limit_seats: ["Nominal number of seats of each priority level", ({ limits }) => limits?.nominal ?? 0],
  request_concurrency_limit: ["Nominal number of seats of each priority level", ({ limits }) => limits?.nominal ?? 0],
  lower_limit_seats: ["Number of seats that each priority level keeps", ({ limits }) => limits?.min ?? 0],
  upper_limit_seats: ["Number of seats that each priority level may have", ({ limits }) => limits?.max ?? 0],
  current_limit_seats: ["Number of seats that each priority level has now", ({ current }) => current],
  current_r: ["Virtual time of each priority level", ({ queues }) => queues.r],
  target_seats: ["Number of seats that each priority level should have", ({ target }) => target],
  demand_seats_high_watermark: ["Most seats wanted in the last period", ({ demand }) => demand.figures.highWatermark],
  demand_seats_average: ["Average of seats wanted in the last period", ({ demand }) => demand.figures.average],
  demand_seats_stdev: [
    "Standard deviation of seats wanted in the last period",
    ({ demand }) => demand.figures.deviation,
  ],
  demand_seats_smoothed: ["Smoothed number of seats wanted", ({ demand }) => demand.figures.smoothed],
}

function showLevels(registry: Registry, flow: ShownLevels): void {
  for (const [name, [help, value]] of Object.entries(OF_LEVELS))
    registry.readEach("gauge", `apiserver_flowcontrol_${name}`, help, "priority_level", () =>
      Object.fromEntries(flow.levels.map((level) => [level.name, value(level)])),
    )
  registry.read(
    "gauge",
    "apiserver_flowcontrol_seat_fair_frac",
    "Fair part of the seats that each priority level can use",
    () => flow.fairProportion,
  )
}
