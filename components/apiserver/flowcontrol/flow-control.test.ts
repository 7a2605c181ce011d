import { describe, expect, test } from "bun:test"
import { BOOTSTRAP_LEVELS, BOOTSTRAP_SCHEMAS } from "../../../pkg/api/flowcontrol/v1/bootstrap.ts"
import type { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import type { ResourceAttributes } from "../call/request.ts"
import { FlowControl } from "./flow-control.ts"
import { createFlowMetrics } from "./flow-metrics.ts"

const levels = BOOTSTRAP_LEVELS.map(
  ({ name, spec }) => ({ metadata: { name, uid: `level-${name}` }, spec, status: {} }) as PriorityLevelConfiguration,
)
const schemas = BOOTSTRAP_SCHEMAS.map(
  ({ name, spec }) => ({ metadata: { name, uid: `schema-${name}` }, spec, status: {} }) as FlowSchema,
)

const jane = { name: "jane", groups: ["system:authenticated"] }
const joe = { name: "joe", groups: ["system:authenticated"] }
const admin = { name: "admin", groups: ["system:masters", "system:authenticated"] }
const write = (user: typeof jane): ResourceAttributes => ({
  user,
  verb: "update",
  group: "",
  version: "v1",
  resource: "configmaps",
  namespace: "default",
})

function start(serverSeats = 600) {
  const clock = new VirtualClock(0)
  const registry = new Registry()
  const flow = new FlowControl({ clock, metrics: createFlowMetrics(registry), serverSeats, seatsOf: () => 1 })
  flow.configure(levels, schemas)
  const level = (name: string) => flow.levels.find((each) => each.name === name)!
  const log: string[] = []
  /** A request that goes on until `end` is called. */
  const begin = (user: typeof jane, name = user.name, mostMs = 15_000) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const serve = () => {
      log.push(name)
      return promise
    }
    const result = flow.run(user, write(user), serve, { mostMs, rejected: (seconds) => `429 ${name} ${seconds}` })
    return { result: Promise.resolve(result), end: () => resolve(`200 ${name}`) }
  }
  return { clock, registry, flow, level, begin, log }
}

describe("seats", () => {
  test("are divided as by an idle server of Kubernetes", async () => {
    // given the limits that apiserver 1.36.2 shows, where its exempt level has used one seat
    const { clock, flow, level } = start()
    level("exempt").demand.set(1, 0)
    level("exempt").demand.set(0, 1)
    // when a period is over
    await clock.advanceTo(10_000)
    flow.configure(levels, schemas)
    // then
    const of = (what: (each: ReturnType<typeof level>) => number) =>
      Object.fromEntries(flow.levels.map((each) => [each.name, what(each)]))
    expect(of(({ limits }) => limits!.nominal)).toEqual({
      "catch-all": 13,
      exempt: 0,
      "global-default": 49,
      "leader-election": 25,
      "node-high": 98,
      system: 74,
      "workload-high": 98,
      "workload-low": 245,
    })
    expect(of(({ limits }) => limits!.min)).toMatchObject({
      "global-default": 24,
      "node-high": 73,
      system: 50,
      "workload-high": 49,
      "workload-low": 24,
    })
    expect(of(({ current }) => current)).toEqual(CURRENT)
  })

  test("are lent to a level that needs more by levels that do not need them", async () => {
    // given a user who floods the server, whose level has 49 seats of its own
    const { clock, level, begin } = start()
    const running = Array.from({ length: 300 }, () => begin(jane))
    const before = level("global-default").queues.executing
    // when the demand has lasted for two periods
    await clock.advanceTo(14_000)
    // then more of its requests are served
    expect(level("global-default").queues.executing).toBeGreaterThan(before)
    expect(level("global-default").queues.executing).toBeGreaterThan(150)
    // and the others keep what they do not lend
    expect(level("node-high").current).toBeGreaterThanOrEqual(73)
    for (const { end } of running) end()
    await clock.settle()
  })
})

describe("a request", () => {
  test("is executed synchronously when seats are free, and holds no seat afterwards", () => {
    const { flow, level, clock } = start()
    const answer = flow.run(jane, write(jane), () => "now", { mostMs: 1000, rejected: () => "429" })
    expect(answer).toBe("now")
    expect(level("global-default").queues.executing).toBe(0)
    expect(level("global-default").counts.dispatched).toBe(1)
    expect(clock.pending).toBe(0)
  })

  test("holds its seat until its promise settles, also when the promise rejects", async () => {
    const { clock, flow, level } = start()
    const failing = flow.run(jane, write(jane), () => Promise.reject(new Error("no")), {
      mostMs: 1000,
      rejected: () => "429",
    })
    expect(level("global-default").queues.executing).toBe(1)
    expect(await Promise.resolve(failing).catch((error: Error) => error.message)).toBe("no")
    await clock.settle()
    expect(level("global-default").queues.isIdle).toBe(true)
  })

  test("that waits too long is rejected, and leaves no timer behind", async () => {
    // given a server with few seats, which one user has
    const { clock, level, begin } = start(10)
    const running = Array.from({ length: level("global-default").current }, () => begin(jane))
    const waiting = begin(jane, "late", 3000)
    await clock.advanceTo(2999)
    expect(level("global-default").queues.waiting).toBe(1)
    // when
    await clock.advanceTo(3000)
    // then
    expect(await waiting.result).toBe("429 late 1")
    expect(level("global-default").counts).toMatchObject({ rejected: 1, timedOut: 1 })
    for (const { end } of running) end()
    await clock.settle()
    expect(clock.pending).toBe(0)
  })

  test("of a user in system:masters never waits", () => {
    const { level, begin, log } = start(10)
    for (let i = 0; i < 100; i++) begin(admin)
    expect(log).toHaveLength(100)
    expect(level("exempt").queues.executing).toBe(100)
  })

  test("of another user is executed before most requests of an earlier flood", async () => {
    // given a flood
    const { clock, level, begin, log } = start(10)
    const flood = Array.from({ length: 100 }, (_, i) => begin(jane, `flood-${i}`))
    const seats = level("global-default").queues.executing
    const other = begin(joe, "joe")
    expect(log).toHaveLength(seats)
    // when as many requests are over as there are queues in the flood's hand
    for (let i = 0; i < 8 + seats && !log.includes("joe"); i++) {
      flood[Number(log[i]!.slice("flood-".length))]!.end()
      await clock.settle()
    }
    // then
    expect(log).toContain("joe")
    other.end()
    for (const { end } of flood) end()
    await clock.settle()
    await clock.settle()
  })
})

describe("a priority level that is deleted", () => {
  test("remains until its requests have ended, and gets no new ones", async () => {
    // given a request at a level of its own
    const { clock, flow, begin } = start()
    const mine = {
      metadata: { name: "mine" },
      spec: { type: "Limited", limited: { ...levels[1]!.spec.limited!, limitResponse: { type: "Reject" } } },
      status: {},
    } as PriorityLevelConfiguration
    const schema = {
      metadata: { name: "mine" },
      spec: { ...schemas[9]!.spec, matchingPrecedence: 3, priorityLevelConfiguration: { name: "mine" } },
      status: {},
    } as FlowSchema
    flow.configure([...levels, mine], [...schemas, schema])
    const first = begin(jane)
    // when
    flow.configure(levels, [...schemas, schema])
    const second = begin(jane)
    // then
    const names = () => flow.levels.map(({ name }) => name)
    expect(names()).toContain("mine")
    expect(flow.levels.find(({ name }) => name === "mine")!.queues.executing).toBe(1)
    first.end()
    await clock.settle()
    expect(names()).not.toContain("mine")
    second.end()
    await clock.settle()
  })

  test("is replaced by its default if it is mandatory", () => {
    const { flow } = start()
    flow.configure([], [])
    expect(flow.levels.map(({ name }) => name)).toEqual(["catch-all", "exempt"])
    expect(flow.run(jane, write(jane), () => "served", { mostMs: 1, rejected: () => "429" })).toBe("served")
    expect(flow.levels[0]!.counts.dispatched).toBe(1)
  })
})

test("the metrics of priority and fairness have upstream's names", () => {
  const { flow, registry } = start()
  void flow.run(jane, write(jane), () => "now", { mostMs: 1000, rejected: () => "429" })
  const text = registry.text()
  for (const line of [
    'apiserver_flowcontrol_dispatched_requests_total{priority_level="global-default",flow_schema="global-default"} 1',
    'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 245',
    'apiserver_flowcontrol_request_concurrency_limit{priority_level="workload-low"} 245',
    'apiserver_flowcontrol_lower_limit_seats{priority_level="workload-low"} 24',
    'apiserver_flowcontrol_request_wait_duration_seconds_count{priority_level="global-default",flow_schema="global-default",execute="true"} 1',
    'apiserver_flowcontrol_work_estimated_seats_count{priority_level="global-default",flow_schema="global-default"} 1',
  ])
    expect(text).toContain(`${line}\n`)
})

/** The value of `apiserver_flowcontrol_current_limit_seats` of an idle kube-apiserver 1.36.2, by priority level. */
const CURRENT = {
  "catch-all": 30,
  exempt: 1,
  "global-default": 56,
  "leader-election": 58,
  "node-high": 170,
  system: 117,
  "workload-high": 114,
  "workload-low": 56,
}
