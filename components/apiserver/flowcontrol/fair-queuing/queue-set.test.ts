import { describe, expect, test } from "bun:test"
import { QueueSet, type Flow, type Place, type QueuingConfig, type SeatedRequest } from "./queue-set.ts"
import { hashOfFlow } from "./shuffle-sharding.ts"

const flow = (name: string): Flow => ({ distinguisher: name, hash: hashOfFlow("test", name) })

function start(config: QueuingConfig, limit: number, isExempt = false) {
  const time = { now: 0 }
  const demands: number[] = []
  const queues = new QueueSet<SeatedRequest>({
    isExempt,
    now: () => time.now,
    demand: (seats) => demands.push(seats),
  })
  queues.configure(config)
  queues.setLimit(limit)
  const dispatched: string[] = []
  const request = (of: Flow, seats = 1, name = of.distinguisher): SeatedRequest => ({
    seats,
    flow: of,
    dispatched: () => dispatched.push(name),
  })
  return { time, queues, request, dispatched, demands }
}

const ONE_EACH = { queues: 8, handSize: 1, queueLengthLimit: 100 }

/** The clients of one flow: each sends its next request `thinkMs` after a response; a request takes `serveMs`. */
interface Load {
  readonly flow: string
  readonly clients: number
  readonly serveMs: number
  readonly thinkMs?: number
  readonly seats?: number
}

/** Runs the clients for `ms`, and returns the average number of seats of each flow in the second half. */
function seatsOf(loads: readonly Load[], config: QueuingConfig, limit: number, ms = 20_000): readonly number[] {
  const { time, queues } = start(config, limit)
  const events: { readonly at: number; readonly run: () => void }[] = []
  const later = (delay: number, run: () => void) => {
    const at = time.now + delay
    const index = events.findLastIndex((event) => event.at <= at)
    events.splice(index + 1, 0, { at, run })
  }
  const used = loads.map(() => 0)
  loads.forEach(({ flow: name, clients, serveMs, thinkMs = 0, seats = 1 }, i) => {
    const of = flow(name)
    const ask = () => {
      const began = (place: Place<SeatedRequest>) =>
        later(serveMs, () => {
          if (time.now > ms / 2) used[i]! += seats * serveMs
          queues.finish(place)
          later(thinkMs, ask)
        })
      if (queues.hasRoom(seats)) return began(queues.execute({ seats, flow: of, dispatched: undefined }))
      const place = queues.enqueue({ seats, flow: of, dispatched: () => began(place as Place<SeatedRequest>) })
    }
    for (let client = 0; client < clients; client++) later(client, ask)
  })
  for (let event = events.shift(); event !== undefined && event.at <= ms; event = events.shift()) {
    time.now = event.at
    event.run()
  }
  return used.map((sum) => Math.round((sum * 10) / (ms / 2)) / 10)
}

describe("seats are given", () => {
  test.each<{
    readonly title: string
    readonly loads: readonly Load[]
    readonly limit: number
    readonly wants: readonly number[]
  }>([
    {
      title: "to two flows equally, although one sends ten times as many requests",
      loads: [
        { flow: "flood", clients: 80, serveMs: 10 },
        { flow: "few", clients: 8, serveMs: 10 },
      ],
      limit: 8,
      wants: [4, 4],
    },
    {
      title: "to two flows equally, although the requests of one take longer",
      loads: [
        { flow: "slow", clients: 20, serveMs: 100 },
        { flow: "fast", clients: 20, serveMs: 10 },
      ],
      limit: 8,
      wants: [4, 4],
    },
    {
      title: "to two flows equally, although the requests of one need several seats",
      loads: [
        { flow: "wide", clients: 20, serveMs: 10, seats: 2 },
        { flow: "narrow", clients: 20, serveMs: 10 },
      ],
      limit: 8,
      wants: [4, 4],
    },
    {
      title: "to the flow with more requests when another flow does not use its share",
      loads: [
        { flow: "flood", clients: 40, serveMs: 10 },
        { flow: "one", clients: 1, serveMs: 10 },
      ],
      limit: 6,
      wants: [5, 1],
    },
    {
      title: "to the only flow",
      loads: [{ flow: "alone", clients: 40, serveMs: 10 }],
      limit: 6,
      wants: [6],
    },
    {
      title: "to three flows equally",
      loads: ["a", "b", "few"].map((name, i) => ({ flow: name, clients: 10 + 20 * i, serveMs: 7 + i })),
      limit: 9,
      wants: [3, 3, 3],
    },
  ])("$title", ({ loads, limit, wants }) => {
    // given flows that have queues of their own
    const hands = new Set(loads.map(({ flow: name }) => flow(name).hash % 8n))
    expect(hands.size).toBe(loads.length)
    // then
    const seats = seatsOf(loads, ONE_EACH, limit)
    seats.forEach((count, i) => expect(Math.abs(count - wants[i]!)).toBeLessThan(0.35))
  })
})

describe("a request", () => {
  test("that finds no free seat waits until another request ends, and the queues are served in turn", () => {
    // given two seats in use, and three requests of one flow that wait before one of another
    const { queues, request, dispatched, demands } = start(ONE_EACH, 2)
    const [a, b] = [flow("flood"), flow("few")]
    const first = queues.execute(request(a))
    const second = queues.execute(request(a))
    expect(queues.hasRoom(1)).toBe(false)
    for (const name of ["a1", "a2", "a3"]) queues.enqueue(request(a, 1, name))
    queues.enqueue(request(b, 1, "b1"))
    expect(demands.at(-1)).toBe(6)
    // when the seats come free, then the flow that has had none goes first
    queues.finish(first)
    expect(dispatched).toEqual(["b1"])
    queues.finish(second)
    expect(dispatched).toEqual(["b1", "a1"])
    expect([queues.waiting, queues.executing, demands.at(-1)]).toEqual([2, 2, 4])
  })

  test("is rejected only when its queue is full", () => {
    const { queues, request } = start({ queues: 8, handSize: 1, queueLengthLimit: 1 }, 1)
    queues.execute(request(flow("flood")))
    expect(queues.enqueue(request(flow("flood")))).toBeObject()
    expect(queues.enqueue(request(flow("flood")))).toBe("queue-full")
    expect(queues.enqueue(request(flow("few")))).toBeObject()
  })

  test("that may exceed the queue's limit waits in a full queue too", () => {
    const { queues, request, dispatched } = start({ queues: 8, handSize: 1, queueLengthLimit: 1 }, 1)
    const place = queues.execute(request(flow("flood")))
    expect(queues.enqueue(request(flow("flood")))).toBeObject()
    expect(queues.enqueue(request(flow("flood"), 1, "patient"), true)).toBeObject()
    queues.finish(place)
    queues.finish(queues.queues.flatMap(({ executing }) => executing)[0]!)
    expect(dispatched).toEqual(["flood", "patient"])
  })

  test("is rejected at a level without queues when all seats are in use", () => {
    const { queues, request } = start({ queues: 0, handSize: 0, queueLengthLimit: 0 }, 1)
    const place = queues.execute(request(flow("a")))
    expect(queues.hasRoom(1)).toBe(false)
    expect(queues.enqueue(request(flow("a")))).toBe("concurrency-limit")
    queues.finish(place)
    expect(queues.hasRoom(1)).toBe(true)
  })

  test("of a level without seats is never dispatched", () => {
    const { queues, request, dispatched } = start(ONE_EACH, 0)
    expect(queues.hasRoom(1)).toBe(false)
    queues.enqueue(request(flow("a")))
    expect(dispatched).toEqual([])
    queues.setLimit(1)
    expect(dispatched).toEqual(["a"])
  })

  test("that needs more seats than the level has is dispatched when no other request runs", () => {
    const { queues, request, dispatched } = start(ONE_EACH, 3)
    const place = queues.execute(request(flow("few")))
    queues.enqueue(request(flow("flood"), 5, "wide"))
    expect(dispatched).toEqual([])
    expect(queues.notAccommodated).toBeGreaterThan(0)
    queues.finish(place)
    expect(dispatched).toEqual(["wide"])
    expect(queues.hasRoom(1)).toBe(false)
  })

  test("that is cancelled makes room in its queue, and requests behind it are dispatched", () => {
    // given a wide request before a narrow one, with one seat free
    const { queues, request, dispatched } = start(ONE_EACH, 2)
    queues.execute(request(flow("a")))
    const wide = queues.enqueue(request(flow("a"), 2, "wide")) as Place<SeatedRequest>
    queues.enqueue(request(flow("a"), 1, "narrow"))
    // when
    expect(queues.giveUp(wide)).toBe(true)
    // then
    expect(dispatched).toEqual(["narrow"])
    expect(queues.giveUp(wide)).toBe(false)
    expect([queues.waiting, queues.seatsWaiting]).toEqual([0, 0])
  })

  test("of an exempt level never waits", () => {
    const { queues, request } = start({ queues: 0, handSize: 0, queueLengthLimit: 0 }, 0, true)
    for (let i = 0; i < 100; i++) {
      expect(queues.hasRoom(1)).toBe(true)
      queues.execute(request(flow("admin")))
    }
    expect(queues.executing).toBe(100)
  })
})

describe("queues", () => {
  test("beyond a reduced number are removed when they are empty", () => {
    // given requests in two of eight queues
    const { queues, request } = start(ONE_EACH, 2)
    const places = ["flood", "few"].map((name) => queues.execute(request(flow(name))))
    // when there are to be fewer
    queues.configure({ ...ONE_EACH, queues: 1 })
    for (const place of places) queues.finish(place)
    // then new ones have all flows, and work goes on
    expect(queues.queues.length).toBeLessThan(8)
    const next = queues.execute(request(flow("few")))
    queues.finish(next)
    expect(queues.isIdle).toBe(true)
  })

  test("of a flow fill up, and other queues of the level still have room", () => {
    // given a flow that has filled all the queues of its hand
    const { queues, request } = start({ queues: 64, handSize: 4, queueLengthLimit: 5 }, 1)
    queues.execute(request(flow("flood")))
    let waiting = 0
    while (typeof queues.enqueue(request(flow("flood"))) !== "string") waiting++
    expect(waiting).toBe(20)
    // then
    for (let i = 0; i < 30; i++) expect(queues.enqueue(request(flow(`other-${i}`)))).toBeObject()
  })

  test("that were idle for long are served as if they had just arrived", () => {
    // given a flow that was served alone for a minute
    const { time, queues, request, dispatched } = start(ONE_EACH, 1)
    let place = queues.execute(request(flow("flood")))
    for (let i = 0; i < 60; i++) {
      time.now += 1000
      queues.finish(place)
      place = queues.execute(request(flow("flood")))
    }
    // when another comes with many requests
    for (let i = 0; i < 4; i++) {
      queues.enqueue(request(flow("few")))
      queues.enqueue(request(flow("flood")))
    }
    const served: string[] = []
    for (let i = 0; i < 8; i++) {
      time.now += 3
      queues.finish(place)
      served.push(dispatched.at(-1)!)
      const [busy] = queues.queues.flatMap(({ executing }) => executing)
      place = busy!
    }
    // then both take turns
    expect(served.slice(0, 6).filter((name) => name === "flood").length).toBeGreaterThanOrEqual(2)
  })
})
