import { Buffer } from "node:buffer"
import type { HttpResponse } from "../../environment/connect.ts"
import { canonicalHeader } from "../canonical-header.ts"

/** A response that is there as a whole. */
export interface WholeResponse extends Pick<HttpResponse, "status" | "headers" | "warnings" | "protocol"> {
  readonly body: Uint8Array
}

const HEAD_END = "\r\n\r\n"
const STATUS_LINE = /^(HTTP\/\d\.\d) (\d{3})(?: |$)/

/** Returns a response with status 200 as HTTP/1.1 would send it. Source: Go net/http/httputil DumpResponse. */
export function responseText({ headers, warnings, protocol, body }: WholeResponse): Uint8Array {
  const { "content-length": length, warning: _, ...rest } = headers
  const lines = [
    ...Object.entries(rest).map(([name, value]) => `${canonicalHeader(name)}: ${value}`),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ].sort()
  const lengths = length === undefined ? [] : [`Content-Length: ${body.length}`]
  const head = [`${protocol} 200 OK`, ...lengths, ...lines].join("\r\n")
  return Buffer.concat([Buffer.from(head + HEAD_END, "latin1"), body])
}

/** Reads what `responseText` or Go has written; undefined when it is no whole response. */
export function parseResponse(bytes: Uint8Array): WholeResponse | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = text.indexOf(HEAD_END)
  if (end === -1) return undefined
  const [statusLine = "", ...lines] = text.toString("latin1", 0, end).split("\r\n")
  const [, protocol, status] = STATUS_LINE.exec(statusLine) ?? []
  if (protocol === undefined) return undefined
  const headers: Record<string, string> = {}
  const warnings: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(":")
    if (colon < 1) return undefined
    const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    if (name === "warning") warnings.push(value)
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  const body = bodyOf(headers, text.subarray(end + HEAD_END.length))
  return body === undefined ? undefined : { status: Number(status), headers, warnings, protocol, body }
}

function bodyOf(headers: Readonly<Record<string, string>>, bytes: Buffer): Uint8Array | undefined {
  if (headers["transfer-encoding"] === "chunked") return joinedChunks(bytes)
  const length = headers["content-length"]
  if (length === undefined) return bytes
  return /^\d+$/.test(length) && bytes.length >= Number(length) ? bytes.subarray(0, Number(length)) : undefined
}

/** The body whose parts stand behind their lengths. Source: RFC 9112 7.1. */
function joinedChunks(bytes: Buffer): Uint8Array | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at)
    const [, digits] = /^([0-9a-fA-F]{1,8})(?:;.*)?$/.exec(bytes.toString("latin1", at, Math.max(at, lineEnd))) ?? []
    if (digits === undefined) return undefined
    const [from, length] = [lineEnd + 2, parseInt(digits, 16)]
    if (length === 0) return Buffer.concat(parts)
    if (from + length + 2 > bytes.length) return undefined
    parts.push(bytes.subarray(from, from + length))
    at = from + length + 2
  }
}
