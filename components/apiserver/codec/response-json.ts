import { Buffer } from "node:buffer"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import type { ApiResult } from "../call/request.ts"
import { encodeResult, type EncodeOptions } from "./encode.ts"

/** Longer responses are not kept for audit events, in bytes. Upstream has no limit. */
const LONGEST = 16 * 1024 * 1024

/** Returns a response as JSON, in the shape in which the client gets it; undefined for one that is too long. */
export function responseJson(
  result: ApiResult,
  resource: Resource,
  { accepted, ...options }: EncodeOptions,
  omitManagedFields: boolean,
): string | undefined {
  const { body } = encodeResult(result, resource, {
    ...options,
    accepted: { ...accepted, encoding: "json" },
    pretty: false,
  })
  const text = textOf(body)
  if (text === undefined || !omitManagedFields || !text.includes('"managedFields"')) return text
  return JSON.stringify(withoutManagedFields(JSON.parse(text)))
}

function textOf(body: ReturnType<typeof encodeResult>["body"]): string | undefined {
  if (typeof body === "string") return body.length > LONGEST ? undefined : body.trimEnd()
  const parts: Uint8Array[] = []
  let length = 0
  for (const part of piecesOf(body)) {
    if ((length += part.length) > LONGEST) return undefined
    parts.push(Buffer.from(part))
  }
  return Buffer.concat(parts).toString().trimEnd()
}

function* piecesOf(body: Exclude<ReturnType<typeof encodeResult>["body"], string>): Iterable<Uint8Array> {
  if (body instanceof Uint8Array) yield body
  else if ("pieces" in body) yield* body.pieces()
  else
    for (;;) {
      const { done, value } = body.steps.next()
      if (value !== undefined) yield value
      if (done === true) return
    }
}

/** Removes the managedFields of an object, of the items of a list, and of the objects in the rows of a table. */
function withoutManagedFields(value: unknown): unknown {
  if (!isJsonObject(value)) return value
  const { metadata, items, rows, object } = value
  const inner = (list: unknown) => (Array.isArray(list) ? list.map(withoutManagedFields) : list)
  return {
    ...value,
    ...(isJsonObject(metadata) ? { metadata: { ...metadata, managedFields: undefined } } : {}),
    ...(Array.isArray(items) ? { items: inner(items) } : {}),
    ...(Array.isArray(rows) ? { rows: inner(rows) } : {}),
    ...(isJsonObject(object) ? { object: withoutManagedFields(object) } : {}),
  }
}
