import { describe, expect, test } from "bun:test"
import { QueueSet, type Place, type QueuingConfig, type SeatedRequest } from "./fair-queuing/queue-set.ts"

/**
 * The scenarios of upstream's unit tests of fair queuing, with the same flows, times, seats and margins: each client
 * runs threads that call, wait for their turn, hold their seats for `execMs`, and think. Left out are the scenarios
 * whose requests keep seats after their end, which no request does here. Source: apiserver
 * pkg/util/flowcontrol/fairqueuing/queueset/queueset_test.go.
 */
interface Client {
  readonly hash: bigint
  readonly threads: number
  readonly calls: number
  readonly execMs: number
  readonly thinkMs: number
  readonly seats?: number
  /** Half of the threads begin in the second half, with half as many calls. */
  readonly isSplit?: true
}

interface Scenario {
  readonly title: string
  readonly config: QueuingConfig
  readonly limit: number
  readonly isExempt?: boolean
  readonly seconds: number
  readonly clients: readonly Client[]
  /** The seats that each client holds on average; its fair share unless given. */
  readonly averages?: readonly number[]
  /** For each half, or for the whole: whether all averages are within `margin` of what is expected, or none is. */
  readonly parts: readonly { readonly isFair: boolean; readonly margin: number }[]
  readonly rejects?: true
}

const SECOND = 1000
const NANOSECOND = 1e-6
/** Upstream's times are whole nanoseconds. */
const ROUNDING = 1e-6
const JUST_BELOW = SECOND - NANOSECOND
const client = (hash: bigint, threads: number, calls: number, thinkMs: number, more: Partial<Client> = {}): Client => ({
  hash,
  threads,
  calls,
  execMs: SECOND,
  thinkMs,
  ...more,
})
const [A, B] = [1001001001n, 2002002002n]
const queuing = (queues: number, queueLengthLimit: number, handSize: number): QueuingConfig => ({
  queues,
  queueLengthLimit,
  handSize,
})
const fair = (margin: number) => [{ isFair: true, margin }]
const QUARTER = 91 * 24 * 3600 * SECOND

const SCENARIOS: readonly Scenario[] = [
  {
    title: "one client alone",
    config: queuing(9, 8, 3),
    limit: 1,
    seconds: 20,
    clients: [client(A, 1, 21, 0)],
    parts: fair(0),
  },
  ...[0, 2].map((limit): Scenario => ({
    title: `an exempt level of ${limit} seats`,
    config: queuing(0, 2, 3),
    limit,
    isExempt: true,
    seconds: 40,
    clients: [client(A, 5, 20, SECOND, { seats: 3 })],
    averages: [7.5],
    parts: fair(1e-8),
  })),
  ...[
    [1, 1],
    [2, 1],
    [1, 2],
    [2, 2],
  ].map(([limit = 0, count = 0]): Scenario => ({
    title: `${count} thinking clients and ${limit} seats`,
    config: queuing(9, 8, 3),
    limit,
    seconds: 24,
    clients: [client(A, 1, 25, SECOND), client(B, 1, 25, SECOND)].slice(0, count),
    parts: fair(0),
  })),
  {
    title: "equal flows with a queue each",
    config: queuing(9, 8, 1),
    limit: 4,
    seconds: 50,
    clients: [client(A, 8, 20, JUST_BELOW), client(B, 8, 20, JUST_BELOW)],
    parts: fair(0.01),
  },
  {
    title: "equal flows with three queues each",
    config: queuing(8, 16, 3),
    limit: 4,
    seconds: 60,
    clients: [client(400900100100n, 8, 30, JUST_BELOW), client(300900200200n, 8, 30, JUST_BELOW)],
    parts: fair(0.03),
  },
  {
    title: "different flows that want as much",
    config: queuing(9, 8, 1),
    limit: 4,
    seconds: 40,
    clients: [client(A, 8, 20, SECOND), client(B, 7, 30, SECOND / 2)],
    parts: fair(0.01),
  },
  {
    title: "requests that last for a quarter of a year",
    config: queuing(9, 8, 1),
    limit: 2000,
    seconds: (QUARTER / SECOND) * 40,
    clients: [
      client(A, 8, 20, QUARTER, { execMs: QUARTER, seats: 500 }),
      client(B, 7, 30, QUARTER / 2, { execMs: QUARTER, seats: 500 }),
    ],
    parts: fair(0.01),
  },
  {
    title: "a flow that wants less than its share",
    config: queuing(9, 6, 1),
    limit: 3,
    seconds: 20,
    clients: [client(A, 4, 20, JUST_BELOW), client(B, 2, 20, JUST_BELOW)],
    parts: fair(0.01),
  },
  {
    title: "requests of different widths",
    config: queuing(64, 13, 7),
    limit: 6,
    seconds: 20,
    clients: [client(10010010010010n, 13, 10, JUST_BELOW), client(20020020020020n, 7, 10, JUST_BELOW, { seats: 2 })],
    parts: fair(0.155),
  },
  {
    title: "requests that are wider than the level",
    config: queuing(64, 35, 7),
    limit: 6,
    seconds: 225,
    clients: [
      ...[40040040040040n, 50050050050050n, 60060060060060n, 70070070070070n].map((hash) =>
        client(hash, 15, 21, JUST_BELOW, { seats: 2 }),
      ),
      client(90090090090090n, 15, 21, JUST_BELOW, { seats: 7 }),
    ],
    parts: fair(0.33),
  },
  ...[
    { margin: 0.26, isFair: true },
    { margin: 0.1, isFair: false },
  ].map((second): Scenario => ({
    title: `a flow that was below its share for long, with a margin of ${second.margin}`,
    config: queuing(9, 6, 1),
    limit: 3,
    seconds: 40,
    clients: [client(A, 2, 40, -NANOSECOND), client(B, 2, 40, -NANOSECOND, { isSplit: true })],
    parts: [{ isFair: true, margin: 0.01 }, second],
  })),
  {
    title: "a level without queues",
    config: queuing(0, 0, 0),
    limit: 4,
    seconds: 13,
    clients: [client(A, 6, 10, 57), client(B, 4, 15, 750)],
    parts: [{ isFair: false, margin: 0.2 }],
    rejects: true,
  },
]

describe("seats are shared as by Kubernetes", () => {
  test.each(SCENARIOS)("$title", (scenario) => {
    const { parts, clients, limit } = scenario
    const { averages, rejected } = play(scenario)
    parts.forEach(({ isFair, margin }, part) => {
      const isLast = part === parts.length - 1
      const wanted =
        scenario.averages ??
        fairShares(
          clients.map((one) => demandOf(one, isLast)),
          limit,
        )
      const found = averages[part]!
      const difference = found.map((average, i) => Math.abs(average - wanted[i]!) / wanted[i]!)
      const fairness = difference.map((value) => value <= margin + ROUNDING)
      expect({ part, found, fairness }).toEqual({ part, found, fairness: clients.map((): boolean => isFair) })
    })
    expect(rejected > 0).toBe(scenario.rejects === true)
  })
})

const demandOf = ({ threads, seats = 1, execMs, thinkMs, isSplit }: Client, isLast: boolean): number =>
  ((isSplit === true && !isLast ? threads / 2 : threads) * seats * execMs) / (thinkMs + execMs)

/** Shares seats so that nobody has more than it wants, and nobody else could have more without one with less. */
function fairShares(demands: readonly number[], limit: number): readonly number[] {
  const shares = demands.map(() => 0)
  let left = limit
  const open = demands.map((demand, i) => ({ demand, i })).sort((a, b) => a.demand - b.demand)
  open.forEach(({ demand, i }, done) => {
    shares[i] = Math.min(demand, left / (open.length - done))
    left -= shares[i]
  })
  return shares
}

interface Outcome {
  /** For each part of the time, the seats that each client held on average. */
  readonly averages: readonly (readonly number[])[]
  readonly rejected: number
}

function play({ config, limit, isExempt = false, seconds, clients, parts }: Scenario): Outcome {
  const time = { now: 0 }
  const queues = new QueueSet<SeatedRequest>({ isExempt, now: () => time.now, demand: () => undefined })
  queues.configure(config)
  queues.setLimit(limit)
  const events: { readonly at: number; readonly run: () => void }[] = []
  const later = (delay: number, run: () => void): void => {
    const at = time.now + delay
    events.splice(events.findLastIndex((event) => event.at <= at) + 1, 0, { at, run })
  }
  const end = seconds * SECOND
  const partMs = end / parts.length
  const held = parts.map(() => clients.map(() => 0))
  let rejected = 0
  clients.forEach(({ hash, threads, calls, execMs, thinkMs, seats = 1, isSplit }, i) => {
    const flow = { distinguisher: String(i), hash }
    /** Adds what the client holds of its seats from now on to each part. */
    const hold = (): void =>
      parts.forEach((_, part) => {
        const [from, to] = [Math.max(time.now, part * partMs), Math.min(time.now + execMs, (part + 1) * partMs)]
        if (to > from) held[part]![i]! += seats * (to - from)
      })
    const call = (left: number): void => {
      if (left === 0) return
      const began = (place: Place<SeatedRequest>): void => {
        hold()
        later(execMs + thinkMs, () => call(left - 1))
        later(execMs, () => queues.finish(place))
      }
      if (queues.hasRoom(seats)) return began(queues.execute({ seats, flow, dispatched: undefined }))
      let place: Place<SeatedRequest> | string = ""
      let isEarly = false
      const dispatched = (): void => {
        if (typeof place === "string") isEarly = true
        else began(place)
      }
      place = queues.enqueue({ seats, flow, dispatched })
      if (typeof place === "string") rejected++
      else if (isEarly) began(place)
    }
    for (let thread = 0; thread < threads; thread++) {
      const isLate = isSplit === true && thread >= threads / 2
      later((90 * thread + 20 * i) * NANOSECOND + (isLate ? end / 2 : 0), () => call(isLate ? calls / 2 : calls))
    }
  })
  for (let event = events.shift(); event !== undefined; event = events.shift()) {
    time.now = event.at
    event.run()
  }
  return { averages: held.map((sums) => sums.map((sum) => sum / partMs)), rejected }
}
