import { Buffer } from "node:buffer"
import { PartialObjectMetadata } from "../../../components/apiserver/codec/encode.ts"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import type { Message } from "../../../pkg/apimachinery/field-spec.ts"
import { f, message } from "../../../pkg/apimachinery/fields.ts"
import { decodeProtobuf, isEnvelope, listMessage, openEnvelope } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import { StatusMessage } from "../../../pkg/apimachinery/status.ts"
import type { Base, Json } from "../validation/base.ts"
import { canonicalJson } from "../../../pkg/apimachinery/json/raw-json.ts"
import { verdictOf, type Leaves } from "../validation/verdict.ts"
import type { Got } from "./server.ts"

/** An answer, or an event of a watch, with its object as JSON. */
export interface Read {
  readonly code: number
  /** The media type; of an event its type. */
  readonly type: string
  readonly object: Json
}

const scheme = builtinScheme()
const OWN: Readonly<Record<string, Message>> = {
  Status: StatusMessage,
  PartialObjectMetadata,
  PartialObjectMetadataList: listMessage(PartialObjectMetadata),
}

export function readAnswer({ code, type, bytes }: Got): Read {
  return { code, type, object: isEnvelope(bytes) ? opened(bytes) : textOf(bytes) }
}

const textOf = (bytes: Uint8Array): Json => {
  const text = Buffer.from(bytes).toString()
  return text.startsWith("{") ? (JSON.parse(text) as Json) : { kind: "Text", message: text }
}

/** Returns the object of an envelope, as JSON. Throws for kinds without a declaration. */
function opened(bytes: Uint8Array): Json {
  const { apiVersion, kind, raw } = openEnvelope(bytes)
  const known = OWN[kind] ?? scheme.of(apiVersion, kind)?.schema ?? listOf(apiVersion, kind)
  if (known === undefined) throw new Error(`Cannot read ${apiVersion} ${kind}: no such kind is declared`)
  // By way of JSON, since some values have classes of their own.
  return JSON.parse(JSON.stringify({ kind, apiVersion, ...decodeProtobuf(known, raw) })) as Json
}

function listOf(apiVersion: string, kind: string): Message | undefined {
  const schema = scheme.of(apiVersion, kind.replace(/List$/, ""))?.schema
  return schema === undefined ? undefined : listMessage(schema)
}

const WatchEvent = message("meta.v1.WatchEvent", "", {
  type: f.string(1, ""),
  object: f.message(2, message("meta.v1.RawObject", "", { raw: f.bytes(1, "") }), ""),
})

/** Reads one frame of a watch, without its length. */
export function readFrame(frame: Uint8Array): Read {
  const { type, object } = decodeProtobuf(WatchEvent, frame) as { type: string; object: { raw: string } }
  return { code: 200, type, object: opened(Buffer.from(object.raw, "base64")) }
}

/** Returns the objects of a list, or the answer itself if it is no list. */
export function rootsOf(object: Json): readonly Json[] {
  const { items } = object as { items?: readonly Json[] }
  return items ?? [object]
}

/**
 * Describes an answer as text: its type, and how its object differs from the created one, including which manager owns
 * which fields, without the times.
 */
export function judged({ code, type, object }: Read, created: Leaves | undefined, base: Base): string {
  const heading = `${code} ${type} ${String(object["apiVersion"])} ${String(object["kind"])}`
  const { reason, message: told, details } = object as { reason?: string; message?: string; details?: Json }
  if (object["kind"] === "Status" || object["kind"] === "Text")
    return [heading, reason, masked(told ?? ""), masked(canonicalJson(details ?? {}))].join("\t")
  const isPartial = String(object["kind"]).startsWith("PartialObjectMetadata")
  const expected = isPartial ? metadataOf(created) : created
  return [
    heading,
    ...rootsOf(object).map((root) =>
      [verdictOf({ code: 200, object: isPartial ? root : typed(root, base) }, expected, base), managersOf(root)].join(
        "\t",
      ),
    ),
  ].join("\n")
}

const metadataOf = (leaves: Leaves | undefined): Leaves =>
  new Map([...(leaves ?? [])].filter(([path]) => path.startsWith("/metadata/")))

/**
 * Returns a hash of the managers and their fields. The entries are sorted as if all were written in the same second: a
 * server sorts by the second first.
 */
const managersOf = (root: Json): string => {
  const { managedFields = [] } = (root["metadata"] ?? {}) as { readonly managedFields?: readonly Json[] }
  const rank = (entry: Json) => ["operation", "manager", "apiVersion", "subresource"].map((key) => entry[key] ?? "")
  const entries = managedFields
    .toSorted((a, b) => (rank(a).join("\n") < rank(b).join("\n") ? -1 : 1))
    .map(({ time: _time, ...entry }) => canonicalJson(entry))
  return Bun.hash.crc32(entries.join("\n")).toString(16)
}

/** Adds the type, which items of lists lack. */
function typed(root: Json, { kind: text }: Base): Json {
  const [apiVersion, kind] = text.split(" ")
  return { apiVersion, kind, ...root }
}

const masked = (text: string): string =>
  text.replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID")
