import { Buffer } from "node:buffer"
import type { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import { encodeProtobuf, encodeWatchFrame } from "../../../../pkg/apimachinery/protobuf/envelope.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { StatusMessage } from "../../../../pkg/apimachinery/status.ts"
import { tableOf } from "../../../../pkg/apimachinery/table/table.ts"
import { chunkOf } from "../../../../pkg/runtime/http/chunked-body.ts"
import type { WatchBatch, WatchFrame } from "../../call/frame.ts"
import { PartialObjectMetadata, partial } from "../../codec/encode.ts"
import { MEDIA_TYPE, type Accepted } from "../../codec/negotiate.ts"

/**
 * Encodes the frames of watches. Watchers with the same form share the encoder, so each frame and batch is encoded
 * once.
 */
export interface FrameEncoder {
  readonly contentType: string
  /** Whether frames are text, for WebSocket messages. */
  readonly text: boolean
  frame(frame: WatchFrame): Uint8Array
  /** Encodes all frames of a batch. */
  body(batch: WatchBatch): Uint8Array
  /** Encodes a batch as a chunk of an HTTP/1.1 body. */
  chunk(batch: WatchBatch): Uint8Array
  error(error: ApiError): Uint8Array
}

export interface FrameOptions {
  readonly accepted: Accepted
  readonly resource: Resource
  readonly includeObject: "None" | "Metadata" | "Object"
  readonly now: () => number
}

const shared = new WeakMap<Resource, Map<string, FrameEncoder>>()

/** Returns the encoder for a form. Source: apiserver pkg/endpoints/handlers/watch.go. */
export function frameEncoder(options: FrameOptions): FrameEncoder {
  const { accepted, resource } = options
  if (accepted.as === "Table") return tableFrames(options)
  let encoders = shared.get(resource)
  if (encoders === undefined) shared.set(resource, (encoders = new Map<string, FrameEncoder>()))
  const representation = [accepted.encoding, accepted.as ?? resource.apiVersion, accepted.asVersion].join(" ")
  let encoder = encoders.get(representation)
  if (encoder === undefined) encoders.set(representation, (encoder = sharedFrames(representation, accepted, resource)))
  return encoder
}

function sharedFrames(representation: string, accepted: Accepted, resource: Resource): FrameEncoder {
  const apiVersion = `meta.k8s.io/${accepted.asVersion}`
  const encode =
    accepted.encoding === "protobuf"
      ? accepted.as === undefined
        ? protobufFrame(resource)
        : partialProtobufFrame(apiVersion)
      : accepted.as === undefined
        ? undefined
        : ({ type, stored }: WatchFrame) => line(type, partial(stored.object, apiVersion))
  const frame = (frame: WatchFrame) => (encode === undefined ? frame.line : frame.encoded(representation, encode))
  const chunked = `${representation} chunk`
  return {
    ...(accepted.encoding === "protobuf" ? PROTOBUF : JSON_LINES),
    frame,
    body: (batch) => batch.encoded(representation, () => joined(batch.frames.map(frame))),
    chunk: (batch) => batch.encoded(chunked, () => chunkOf(batch.frames.map(frame))),
  }
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => (parts.length === 1 ? parts[0]! : Buffer.concat(parts))

const line = (type: string, object: unknown): Uint8Array =>
  Buffer.from(`{"type":${JSON.stringify(type)},"object":${JSON.stringify(object)}}\n`)

const JSON_LINES = {
  contentType: MEDIA_TYPE.json,
  text: true,
  error: (error: ApiError): Uint8Array => line("ERROR", error.toStatus()),
}
const PROTOBUF = {
  contentType: `${MEDIA_TYPE.protobuf};stream=watch`,
  text: false,
  error: (error: ApiError): Uint8Array =>
    encodeWatchFrame("ERROR", encodeProtobuf(StatusMessage, error.toStatus(), { apiVersion: "v1", kind: "Status" })),
}

const protobufFrame =
  ({ schema, apiVersion, kind }: Resource) =>
  ({ type, stored }: WatchFrame): Uint8Array =>
    encodeWatchFrame(type, encodeProtobuf(schema, stored.object, { apiVersion, kind }))

const partialProtobufFrame =
  (apiVersion: string) =>
  ({ type, stored }: WatchFrame): Uint8Array =>
    encodeWatchFrame(
      type,
      encodeProtobuf(PartialObjectMetadata, stored.object, { apiVersion, kind: "PartialObjectMetadata" }),
    )

/**
 * Encodes each event as a table of one row; only the first has the columns, later ones and bookmarks have null. Source:
 * pkg/endpoints/handlers/response.go watchEmbeddedEncoder.
 */
function tableFrames({ accepted, resource, includeObject, now }: FrameOptions): FrameEncoder {
  let first = true
  const frame = ({ type, stored: { object } }: WatchFrame): Uint8Array => {
    const metadata = { resourceVersion: object.metadata.resourceVersion }
    const apiVersion = `meta.k8s.io/${accepted.asVersion}`
    if (type === "BOOKMARK")
      return line(type, {
        kind: "Table",
        apiVersion,
        metadata,
        columnDefinitions: null,
        rows: [{ cells: [], object: partial(object, apiVersion) }],
      })
    const table = tableOf(resource, [object], { metadata, now: now(), includeObject, version: accepted.asVersion })
    const shown = first ? table : { ...table, columnDefinitions: null }
    first = false
    return line(type, shown)
  }
  return {
    ...JSON_LINES,
    frame,
    body: ({ frames }) => joined(frames.map(frame)),
    chunk: ({ frames }) => chunkOf(frames.map(frame)),
  }
}
