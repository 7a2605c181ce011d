import { describe, expect, test } from "bun:test"
import { seededRandom } from "../clock/random.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { outsideSpans } from "./clock.ts"
import type { FinishedSpan } from "./finished-span.ts"
import { MOST_ATTRIBUTES, MOST_CHARACTERS } from "./limits.ts"
import { byRatio, parentBased, type Sampler } from "./sampler.ts"
import { createTracer } from "./tracer.ts"
import { endingWith, traced } from "./tracing.ts"

const START = Date.parse("2026-01-01T00:00:00Z")
const REMOTE = { traceId: "a".repeat(32), spanId: "b".repeat(16), traceFlags: 1, isRemote: true }

function tracer(sampler: Sampler = parentBased(1)) {
  const clock = new VirtualClock(START)
  const spans: FinishedSpan[] = []
  const tracing = createTracer({ clock, random: seededRandom(7), sampler, sink: (span) => spans.push(span) })
  return { clock, tracing, spans, named: (name: string) => spans.find((span) => span.name === name)! }
}

describe("tracing", () => {
  test("a span within another is its child, also after an await, and has its component and times", async () => {
    // given
    const { clock, tracing, named } = tracer()
    const kubelet = tracing.of("kubelet")
    // when
    await endingWith(kubelet, kubelet.root("syncPod"), async () => {
      await clock.advance(1500)
      await traced(kubelet, "Mount volumes", () => clock.advance(250), { volumes: 2 })
    })
    // then
    const [parent, child] = [named("syncPod"), named("Mount volumes")]
    expect(child).toMatchObject({
      component: "kubelet",
      parentSpanId: parent.context.spanId,
      startTime: START + 1500,
      endTime: START + 1750,
      attributes: { volumes: 2 },
    })
    expect(child.context.traceId).toBe(parent.context.traceId)
    expect(parent.endTime).toBe(START + 1750)
  })

  test("the same seed gives the same ids", () => {
    const ids = [tracer(), tracer()].map(({ tracing }) => tracing.root("one").context)
    expect(ids[0]).toEqual(ids[1]!)
  })

  test("an error ends the span with its message, and is thrown to the caller", async () => {
    // given
    const { tracing, named } = tracer()
    const failing = () => Promise.reject(new Error("no such image"))
    // when
    const outcome = endingWith(tracing, tracing.root("Pull"), failing)
    // then
    expect(await outcome.catch((err: Error) => err.message)).toBe("no such image")
    expect(named("Pull").failure).toBe("no such image")
  })

  test("the caller gets the promise of the work itself, so that tracing changes the order of nothing", async () => {
    // given
    const { tracing, named } = tracer()
    const work = Promise.resolve(1)
    // when
    const outcome = endingWith(tracing, tracing.root("Pull"), () => work)
    // then
    expect(outcome).toBe(work)
    await work
    expect(named("Pull").endTime).toBeDefined()
  })

  test("a span that starts after the end of another is not its child", () => {
    // given
    const { tracing } = tracer()
    const span = tracing.root("request")
    // when
    const late = tracing.within(span, () => {
      span.end()
      return tracing.start("late")
    })
    // then
    expect(late).toBeUndefined()
  })

  test("timers run outside of the span in which they were set", async () => {
    // given
    const { clock, tracing } = tracer()
    const own = outsideSpans(clock, tracing)
    const { promise, resolve } = Promise.withResolvers<unknown>()
    // when
    const span = tracing.root("request")
    tracing.within(span, () => own.setTimeout(() => resolve(tracing.active()), 10))
    await clock.advance(10)
    // then
    expect(await promise).toBeUndefined()
  })

  test("a reconcile continues the trace of the first write that caused it, and has links to the others", () => {
    // given two requests that wrote
    const { tracing, named } = tracer()
    const [one, other] = [tracing.root("one"), tracing.root("other")]
    tracing.causes.note(7, one)
    tracing.causes.note(8, other)
    // when
    const causes = [tracing.causes.of("7")!, tracing.causes.of("8")!]
    tracing.root("reconcile", { causes }).end()
    // then
    const reconcile = named("reconcile")
    expect(reconcile.context.traceId).toBe(one.context.traceId)
    expect(reconcile.parentSpanId).toBe(one.context.spanId)
    expect(reconcile.links).toEqual([other.context])
  })

  test("a write is not linked as a cause after five minutes", async () => {
    // given
    const { clock, tracing } = tracer()
    tracing.causes.note(7, tracing.root("one"))
    expect(tracing.causes.of("7")).toBeDefined()
    // when
    await clock.advance(5 * 60_000 + 1)
    // then
    expect(tracing.causes.of("7")).toBeUndefined()
  })

  test("two controllers that overwrite each other for ever do not make one endless trace", () => {
    // given a reconcile that is caused by the write of the one before
    const { tracing } = tracer()
    const traces = new Set<string>()
    // when
    for (let revision = 1; revision <= 200; revision++) {
      const cause = tracing.causes.of(String(revision - 1))
      const span = tracing.root("reconcile", { causes: cause === undefined ? [] : [cause] })
      traces.add(span.context.traceId)
      tracing.causes.note(revision, span)
    }
    // then
    expect(traces.size).toBe(4)
  })

  test("only a limited number of writes is remembered", () => {
    // given
    const { tracing } = tracer()
    const span = tracing.root("busy")
    // when
    for (let revision = 1; revision <= 10_000; revision++) tracing.causes.note(revision, span)
    // then
    expect([tracing.causes.of("1000"), tracing.causes.of("10000") !== undefined]).toEqual([undefined, true])
  })

  test("the length and number of texts in a span are limited", () => {
    // given
    const { tracing, named } = tracer()
    const span = tracing.root("long")
    // when
    span.set({ agent: "é".repeat(5000) })
    for (let i = 0; i < 500; i++) span.set({ [`key${i}`]: i })
    for (let i = 0; i < 500; i++) span.event("again")
    span.end()
    // then
    const { attributes, events } = named("long")
    expect((attributes["agent"] as string).length).toBe(MOST_CHARACTERS)
    expect(Object.keys(attributes).length).toBe(MOST_ATTRIBUTES)
    expect(events.length).toBeLessThan(100)
  })

  test("a request that is not sampled is not recorded, and its traceparent says so", () => {
    // given
    const { tracing, spans } = tracer(parentBased(0))
    const span = tracing.root("request")
    // when
    const header = tracing.within(span, () => {
      traced(tracing, "child", () => 1)
      return tracing.traceparent()
    })
    span.end()
    // then
    expect(spans).toEqual([])
    expect(header).toEndWith("-00")
  })

  const PARENTS = [
    { title: "a trusted parent that is sampled is followed", given: { isTrusted: true, traceFlags: 1 }, wants: true },
    {
      title: "a trusted parent that is not sampled is followed",
      given: { isTrusted: true, traceFlags: 0 },
      wants: false,
    },
    { title: "an untrusted parent is ignored", given: { isTrusted: false, traceFlags: 1 }, wants: false },
  ]
  for (const { title, given, wants } of PARENTS)
    test(`of requests from other programs, ${title}`, () => {
      const { tracing } = tracer(parentBased(0))
      const remote = { context: { ...REMOTE, traceFlags: given.traceFlags }, isTrusted: given.isTrusted }
      const span = tracing.root("request", { remote })
      expect(span.isSampled).toBe(wants)
      expect(span.context.traceId === REMOTE.traceId).toBe(given.isTrusted)
    })

  test("a share of the traces is sampled, as the ratio says", () => {
    // given
    const { tracing } = tracer(byRatio(0.25))
    // when
    const sampled = Array.from({ length: 2000 }, () => tracing.root("request")).filter(({ isSampled }) => isSampled)
    // then
    expect(sampled.length).toBeGreaterThan(420)
    expect(sampled.length).toBeLessThan(580)
  })
})
