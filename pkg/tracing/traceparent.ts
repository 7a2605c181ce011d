import type { SpanContext } from "@opentelemetry/api"

/** `00-<trace id>-<span id>-<flags>`; later versions may have more fields. Source: W3C Trace Context, section 3.2. */
const FORMAT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
/** Longer headers are ignored; a valid one of version 00 has 55 characters. */
const MOST_CHARACTERS = 128

export const SAMPLED = 1

/** Returns the span in a `traceparent` header; undefined without a header, and for one that is not valid. */
export function parseTraceparent(header: string | readonly string[] | undefined): SpanContext | undefined {
  if (typeof header !== "string" || header.length > MOST_CHARACTERS) return undefined
  const [, version, traceId = "", spanId = "", flags = "", more] = FORMAT.exec(header) ?? []
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true }
}

/** Returns the `traceparent` header of a span. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}`
