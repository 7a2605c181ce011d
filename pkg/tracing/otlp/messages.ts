import { field, message, repeated, type InitOf, type ValueType } from "../../protobuf/message.ts"
import { WIRE } from "../../protobuf/writer.ts"

/** A fixed64 number: nanoseconds since the epoch. */
const fixed64: ValueType<bigint, bigint> = {
  wire: WIRE.fixed64,
  zero: 0n,
  isZero: (value) => value === 0n,
  write: (writer, value) => writer.fixed64(value),
  read: (reader) => BigInt(reader.fixed64()),
}

export type AnyValue = string | number | boolean

/** A oneof: unlike other fields, its member that is set is written even if it is zero. */
const anyValue: ValueType<AnyValue, AnyValue> = {
  wire: WIRE.bytes,
  zero: "",
  isZero: () => false,
  write(writer, value) {
    const mark = writer.begin()
    if (typeof value === "string") {
      writer.tag(1, WIRE.bytes)
      writer.string(value)
    } else if (typeof value === "boolean") {
      writer.tag(2, WIRE.varint)
      writer.bool(value)
    } else if (Number.isSafeInteger(value)) {
      writer.tag(3, WIRE.varint)
      writer.int64(value)
    } else {
      writer.tag(4, WIRE.fixed64)
      writer.double(value)
    }
    writer.end(mark)
  },
  read(reader) {
    let value: AnyValue = ""
    const outer = reader.enter()
    while (reader.more()) {
      const tag = reader.tag()
      if (tag >>> 3 === 1) value = reader.string()
      else if (tag >>> 3 === 2) value = reader.bool()
      else if (tag >>> 3 === 3) value = reader.int64()
      else if (tag >>> 3 === 4) value = reader.double()
      else reader.skip(tag & 7)
    }
    reader.leave(outer)
    return value
  },
}

/**
 * The messages of OTLP that spans use. Source: opentelemetry-proto, trace/v1/trace.proto, common/v1/common.proto,
 * resource/v1/resource.proto, collector/trace/v1/trace_service.proto.
 */
const KeyValue = message({ key: field(1, "string"), value: field(2, anyValue) })
const Event = message({
  timeUnixNano: field(1, fixed64),
  name: field(2, "string"),
  attributes: repeated(3, KeyValue),
})
const Link = message({ traceId: field(1, "bytes"), spanId: field(2, "bytes") })
const Status = message({ message: field(2, "string"), code: field(3, "uint32") })
const Span = message({
  traceId: field(1, "bytes"),
  spanId: field(2, "bytes"),
  parentSpanId: field(4, "bytes"),
  name: field(5, "string"),
  kind: field(6, "uint32"),
  startTimeUnixNano: field(7, fixed64),
  endTimeUnixNano: field(8, fixed64),
  attributes: repeated(9, KeyValue),
  events: repeated(11, Event),
  links: repeated(13, Link),
  status: field(15, Status),
})
const Scope = message({ name: field(1, "string"), version: field(2, "string") })
const ScopeSpans = message({ scope: field(1, Scope), spans: repeated(2, Span) })
const Resource = message({ attributes: repeated(1, KeyValue) })
const ResourceSpans = message({ resource: field(1, Resource), scopeSpans: repeated(2, ScopeSpans) })

/** The request that exports spans, over HTTP and gRPC. */
export const ExportTraceServiceRequest = message({ resourceSpans: repeated(1, ResourceSpans) })
export type ExportRequest = InitOf<typeof ExportTraceServiceRequest>
