import type { SpanContext } from "@opentelemetry/api"
import { version } from "../../version/version.ts"
import type { FinishedSpan } from "../finished-span.ts"
import type { Attributes, Kind } from "../tracing.ts"
import type { AnyValue, ExportRequest } from "./messages.ts"

/** Source: opentelemetry-proto, Span.SpanKind. */
const KINDS: Readonly<Record<Kind, number>> = { internal: 1, server: 2, client: 3, consumer: 5 }
/** Source: opentelemetry-proto, Status.StatusCode. */
const ERROR = 2

/**
 * Returns the request that exports spans. Each component is a service of its own, as the programs of Kubernetes are,
 * unless `resource` has a `service.name`.
 */
export function exportRequest(
  spans: readonly FinishedSpan[],
  resource: Readonly<Record<string, string>>,
): ExportRequest {
  const byComponent = Map.groupBy(spans, ({ component }) => component)
  return {
    resourceSpans: [...byComponent].map(([component, own]) => ({
      resource: { attributes: keyValues({ "service.name": component, ...resource }) },
      scopeSpans: [{ scope: { name: "k3ts", version }, spans: own.map(spanOf) }],
    })),
  }
}

const spanOf = (span: FinishedSpan) => ({
  ...idsOf(span.context),
  parentSpanId: bytesOf(span.parentSpanId ?? ""),
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanoseconds(span.startTime),
  endTimeUnixNano: nanoseconds(span.endTime),
  attributes: keyValues(span.attributes),
  events: span.events.map(({ name, time, attributes }) => ({
    name,
    timeUnixNano: nanoseconds(time),
    attributes: keyValues(attributes),
  })),
  links: span.links.map(idsOf),
  ...(span.failure === undefined ? {} : { status: { code: ERROR, message: span.failure } }),
})

const idsOf = ({ traceId, spanId }: SpanContext) => ({ traceId: bytesOf(traceId), spanId: bytesOf(spanId) })

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex, "hex")

/**
 * Whole milliseconds and their fraction are converted separately, since a JavaScript number cannot hold a time in
 * nanoseconds exactly.
 */
function nanoseconds(ms: number): bigint {
  const whole = Math.floor(ms)
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6))
}

const keyValues = (attributes: Attributes): readonly { readonly key: string; readonly value: AnyValue }[] =>
  Object.entries(attributes)
    .filter((entry): entry is [string, AnyValue] => entry[1] !== undefined)
    .map(([key, value]) => ({ key, value }))
