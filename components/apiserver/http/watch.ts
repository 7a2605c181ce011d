import { Buffer } from "node:buffer"
import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { encodeProtobuf, encodeWatchFrame } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { StatusMessage } from "../../../pkg/apimachinery/status.ts"
import type { WatchFrame } from "../cacher/frame.ts"
import { PartialObjectMetadata, partial } from "./encode.ts"
import { MEDIA_TYPE, type Accepted } from "./negotiate.ts"
import { tableOf } from "../../../pkg/apimachinery/table.ts"

/** How the frames of one watch are written. */
export interface FrameEncoder {
  readonly contentType: string
  /** Whether frames are text, for WebSocket messages. */
  readonly text: boolean
  frame(frame: WatchFrame): Uint8Array
  error(error: ApiError): Uint8Array
}

export interface FrameOptions {
  readonly accepted: Accepted
  readonly resource: Resource
  readonly includeObject: "None" | "Metadata" | "Object"
  readonly now: () => number
}

/**
 * The encoder that fits what was asked for. Frames in JSON and protobuf, and those of metadata alone, are made once for all watchers that want them.
 * Source: apiserver pkg/endpoints/handlers/watch.go.
 */
export function frameEncoder(options: FrameOptions): FrameEncoder {
  const { accepted, resource } = options
  const apiVersion = `meta.k8s.io/${accepted.asVersion}`
  if (accepted.as === "Table") return tableFrames(options)
  if (accepted.encoding === "protobuf") {
    const contentType = `${MEDIA_TYPE.protobuf};stream=watch`
    const error = (err: ApiError) => encodeWatchFrame("ERROR", encodeProtobuf(StatusMessage, err.toStatus(), { apiVersion: "v1", kind: "Status" }))
    return accepted.as === undefined
      ? { contentType, text: false, error, frame: (frame) => frame.encoded(`protobuf ${resource.apiVersion}`, protobufFrame(resource)) }
      : { contentType, text: false, error, frame: (frame) => frame.encoded(`protobuf metadata ${apiVersion}`, partialProtobufFrame(apiVersion)) }
  }
  if (accepted.as === undefined) return { contentType: MEDIA_TYPE.json, text: true, frame: (frame) => frame.line, error: jsonError }
  return { contentType: MEDIA_TYPE.json, text: true, error: jsonError, frame: (frame) => frame.encoded(`metadata ${apiVersion}`, ({ type, stored }) => line(type, partial(stored.object, apiVersion))) }
}

const line = (type: string, object: unknown): Uint8Array => Buffer.from(`{"type":${JSON.stringify(type)},"object":${JSON.stringify(object)}}\n`)
const jsonError = (error: ApiError): Uint8Array => line("ERROR", error.toStatus())

const protobufFrame = ({ schema, apiVersion, kind }: Resource) => ({ type, stored }: WatchFrame): Uint8Array =>
  encodeWatchFrame(type, encodeProtobuf(schema, stored.object, { apiVersion, kind }))

const partialProtobufFrame = (apiVersion: string) => ({ type, stored }: WatchFrame): Uint8Array =>
  encodeWatchFrame(type, encodeProtobuf(PartialObjectMetadata, stored.object, { apiVersion, kind: "PartialObjectMetadata" }))

/** Each event is a table of one row; only the first tells the columns. */
function tableFrames({ accepted, resource, includeObject, now }: FrameOptions): FrameEncoder {
  let first = true
  return {
    contentType: MEDIA_TYPE.json,
    text: true,
    error: jsonError,
    frame({ type, stored: { object } }) {
      const metadata = { resourceVersion: object.metadata.resourceVersion }
      const apiVersion = `meta.k8s.io/${accepted.asVersion}`
      if (type === "BOOKMARK") return line(type, { kind: "Table", apiVersion, metadata, columnDefinitions: [], rows: [{ cells: [], object: partial(object, apiVersion) }] })
      const table = tableOf(resource, [object], { metadata, now: now(), includeObject, version: accepted.asVersion })
      const told = first ? table : { ...table, columnDefinitions: [] }
      first = false
      return line(type, told)
    },
  }
}
