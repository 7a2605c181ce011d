import { describe, expect, test } from "bun:test"
import { VirtualClock } from "../../clock/virtual.ts"
import type { LogFields, Logger } from "../../log/log.ts"
import { silent } from "../../log/log.ts"
import type { FinishedSpan } from "../finished-span.ts"
import { OtlpExporter } from "./exporter.ts"
import { encodeJson } from "./json.ts"
import { ExportTraceServiceRequest, type ExportRequest } from "./messages.ts"
import { exportRequest } from "./export-request.ts"
import { SendError } from "./sender.ts"

const span = (name: string, more: Partial<FinishedSpan> = {}): FinishedSpan => ({
  context: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 },
  parentSpanId: undefined,
  name,
  kind: "internal",
  component: "kubelet",
  startTime: 1_767_225_600_000.25,
  endTime: 1_767_225_600_001,
  attributes: {},
  events: [],
  links: [],
  failure: undefined,
  ...more,
})

/** An exporter whose collector answers as `answer` says. */
function exporting(answer: (request: ExportRequest) => Promise<void> = () => Promise.resolve()) {
  const clock = new VirtualClock(0)
  const sent: string[][] = []
  const lines: [string, LogFields | undefined][] = []
  const note = (message: string, fields?: LogFields) => void lines.push([message, fields])
  const log: Logger = { ...silent, warn: note, info: note }
  const exporter = new OtlpExporter({
    clock,
    log,
    resource: {},
    delayMs: 5000,
    mostWaiting: 100,
    mostTogether: 10,
    sender: {
      async send(request) {
        await answer(request)
        sent.push(namesIn(request))
      },
      close: () => undefined,
    },
  })
  return { clock, exporter, sent, lines }
}

const namesIn = ({ resourceSpans = [] }: ExportRequest): string[] =>
  resourceSpans.flatMap(({ scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) => spans.map(({ name = "" }) => name)),
  )

const unavailable = () => Promise.reject(new SendError("connection refused", true))

describe("the exporter of spans", () => {
  test("sends spans every five seconds, and at once when there are enough", async () => {
    // given
    const { clock, exporter, sent } = exporting()
    // when
    exporter.add(span("one"))
    exporter.add(span("two"))
    await clock.advance(4999)
    expect(sent).toEqual([])
    await clock.advance(1)
    // then
    expect(sent).toEqual([["one", "two"]])
    // and ten are a batch
    for (let i = 0; i < 10; i++) exporter.add(span(`n${i}`))
    await clock.settle()
    expect(sent[1]?.length).toBe(10)
    await exporter.stop()
  })

  test("keeps a limited number of spans for a collector that is down, and logs that once", async () => {
    // given
    const { clock, exporter, lines } = exporting(unavailable)
    // when
    for (let i = 0; i < 10_000; i++) exporter.add(span("lost"))
    await clock.advance(60_000)
    // then
    expect(exporter.dropped).toBeGreaterThan(9000)
    expect(lines.map(([message]) => message)).toEqual([
      "Failed to send traces to the collector; will retry, and drop what does not fit",
    ])
    await exporter.stop()
  })

  test("sends a batch again if the collector had no room, and not if the collector refused it", async () => {
    // given
    const answers = [
      unavailable,
      unavailable,
      () => Promise.resolve(),
      () => Promise.reject(new SendError("400", false)),
    ]
    const { clock, exporter, sent, lines } = exporting(() => (answers.shift() ?? (() => Promise.resolve()))())
    // when
    exporter.add(span("patient"))
    await clock.advance(10_000)
    exporter.add(span("refused"))
    await clock.advance(10_000)
    exporter.add(span("next"))
    await clock.advance(10_000)
    // then
    expect(sent).toEqual([["patient"], ["next"]])
    expect(exporter.dropped).toBe(1)
    expect(lines.length).toBe(4)
    await exporter.stop()
  })

  test("sends the last spans at the end, and does not wait for a collector that does not respond", async () => {
    // given
    const [living, hanging] = [exporting(), exporting(() => new Promise(() => undefined))]
    for (const { exporter } of [living, hanging]) exporter.add(span("last"))
    // when
    await living.exporter.stop()
    const stopped = hanging.exporter.stop()
    await hanging.clock.advance(2000)
    await stopped
    // then
    expect(living.sent).toEqual([["last"]])
  })
})

const FULL = span("syncPod", {
  kind: "server",
  parentSpanId: "00f067aa0ba902b7",
  attributes: { text: "é", count: 3, zero: 0, ratio: 0.5, no: false, empty: "", absent: undefined },
  events: [{ name: "read", time: 1_767_225_600_000.5, attributes: { len: 12 } }],
  links: [{ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", traceFlags: 1 }],
  failure: "no such image",
})

test("a span is the same after encoding and decoding as OTLP's protobuf", () => {
  // when
  const bytes = ExportTraceServiceRequest.encode(exportRequest([FULL], { "service.version": "1" }))
  const { resourceSpans } = ExportTraceServiceRequest.decode(bytes)
  // then
  const [{ resource, scopeSpans } = { resource: undefined, scopeSpans: [] }] = resourceSpans
  expect(resource?.attributes).toEqual([
    { key: "service.name", value: "kubelet" },
    { key: "service.version", value: "1" },
  ])
  const [decoded] = scopeSpans[0]!.spans
  expect(Object.fromEntries(decoded!.attributes.map(({ key, value }) => [key, value]))).toEqual({
    text: "é",
    count: 3,
    zero: 0,
    ratio: 0.5,
    no: false,
    empty: "",
  })
  expect(decoded).toMatchObject({
    name: "syncPod",
    kind: 2,
    startTimeUnixNano: 1_767_225_600_000_250_000n,
    endTimeUnixNano: 1_767_225_600_001_000_000n,
    status: { code: 2, message: "no such image" },
  })
  expect(Buffer.from(decoded!.parentSpanId).toString("hex")).toBe("00f067aa0ba902b7")
  expect(decoded!.events).toMatchObject([{ name: "read", timeUnixNano: 1_767_225_600_000_500_000n }])
})

test("OTLP's JSON has ids as hexadecimal text and values with their type", () => {
  const { resourceSpans } = JSON.parse(encodeJson(exportRequest([FULL], {}))) as {
    readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly unknown[] }[] }[]
  }
  expect(resourceSpans[0]!.scopeSpans[0]!.spans[0]).toEqual({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    parentSpanId: "00f067aa0ba902b7",
    name: "syncPod",
    kind: 2,
    startTimeUnixNano: "1767225600000250000",
    endTimeUnixNano: "1767225600001000000",
    attributes: [
      { key: "text", value: { stringValue: "é" } },
      { key: "count", value: { intValue: "3" } },
      { key: "zero", value: { intValue: "0" } },
      { key: "ratio", value: { doubleValue: 0.5 } },
      { key: "no", value: { boolValue: false } },
      { key: "empty", value: { stringValue: "" } },
    ],
    events: [
      {
        name: "read",
        timeUnixNano: "1767225600000500000",
        attributes: [{ key: "len", value: { intValue: "12" } }],
      },
    ],
    links: [{ traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" }],
    status: { code: 2, message: "no such image" },
  })
})
