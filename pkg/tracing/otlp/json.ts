import type { AnyValue, ExportRequest } from "./messages.ts"

/**
 * Returns an export request as OTLP's JSON: ids as hexadecimal text, 64-bit numbers as decimal text, and values with
 * their type. Source: OpenTelemetry protocol specification, JSON Protobuf Encoding.
 */
export const encodeJson = (request: ExportRequest): string =>
  JSON.stringify(request, (key, value: unknown) => {
    if (typeof value === "bigint") return String(value)
    // A Buffer appears here as the result of its toJSON.
    if (isBytes(value)) return Buffer.from(value.data).toString("hex")
    return key === "value" && isAnyValue(value) ? typed(value) : value
  })

const isBytes = (value: unknown): value is { readonly data: readonly number[] } =>
  typeof value === "object" && value !== null && "type" in value && value.type === "Buffer" && "data" in value

const isAnyValue = (value: unknown): value is AnyValue => ["string", "number", "boolean"].includes(typeof value)

function typed(value: AnyValue): Readonly<Record<string, AnyValue>> {
  if (typeof value === "string") return { stringValue: value }
  if (typeof value === "boolean") return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
