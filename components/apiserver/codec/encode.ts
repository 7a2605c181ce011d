import type { Scheme } from "../../../pkg/api/scheme.ts"
import { ApiError, type Status } from "../../../pkg/apimachinery/errors.ts"
import { f, message } from "../../../pkg/apimachinery/fields.ts"
import { type ListMeta, ObjectMeta } from "../../../pkg/apimachinery/meta.ts"
import { encodeProtobuf } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import { encodingProtobufList } from "../../../pkg/apimachinery/protobuf/list.ts"
import { internalType } from "../../../pkg/apimachinery/go/internal-type.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { StatusMessage } from "../../../pkg/apimachinery/status.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import type { ApiResult } from "../call/request.ts"
import { listBytes, saysTypeInLists, withoutType, type Parts } from "./list-bytes.ts"
import { encodingList, type ListToEncode } from "./list-steps.ts"
import { MEDIA_TYPE, type Accepted, type Encoding } from "./negotiate.ts"
import { tableOf, tableParts } from "../../../pkg/apimachinery/table/table.ts"
import { writeYaml } from "../../../pkg/yaml/write.ts"

export interface Encoded {
  readonly contentType: string
  readonly body: Uint8Array | string | Parts | Steps
}

/**
 * A body that takes long to make. The generator makes some of it with each step: it yields the next bytes, or undefined
 * when there are none yet, and returns the last ones.
 */
export interface Steps {
  readonly steps: Generator<Uint8Array | undefined, Uint8Array, undefined>
}

export interface EncodeOptions {
  readonly accepted: Accepted
  /** Whether JSON is indented. */
  readonly pretty: boolean
  /** Milliseconds since the epoch, for the ages in tables. */
  readonly now: number
  /** What the rows of a table contain of their objects. */
  readonly includeObject: "None" | "Metadata" | "Object"
  readonly scheme: Pick<Scheme, "of">
}

/** Encodes a response. Throws NotAcceptable when it has no encoding that the client accepts. */
export function encodeResult(result: ApiResult, resource: Resource, options: EncodeOptions): Encoded {
  const { accepted, pretty } = options
  if (result.kind === "status") return encodeStatus(result.status, accepted.encoding, pretty)
  if (accepted.as !== undefined) return encodeTransformed(result, resource, options)
  if (result.kind === "object") {
    const { object, stored } = result
    switch (accepted.encoding) {
      case "json":
        return {
          contentType: MEDIA_TYPE.json,
          body: pretty ? indented(object) : stored === undefined ? JSON.stringify(object) : stored.json,
        }
      case "yaml":
        return { contentType: MEDIA_TYPE.yaml, body: writeYaml(object) }
      case "protobuf":
        return { contentType: MEDIA_TYPE.protobuf, body: objectBytes(object, resource, options) }
    }
  }
  const { items } = result
  // Upstream's lists of custom objects always have the field continue.
  const metadata = resource.definition === undefined ? result.metadata : { continue: "", ...result.metadata }
  switch (accepted.encoding) {
    case "json":
      return {
        contentType: MEDIA_TYPE.json,
        body: pretty
          ? { steps: encodingList("indented", listOf(resource, metadata, items)) }
          : listBytes(resource, metadata, items),
      }
    case "yaml":
      return {
        contentType: MEDIA_TYPE.yaml,
        body: { steps: encodingList("yaml", listOf(resource, metadata, items)) },
      }
    case "protobuf":
      return {
        contentType: MEDIA_TYPE.protobuf,
        body: { steps: encodingProtobufList(resource, metadata, objectsOf(items)) },
      }
  }
}

export function encodeStatus(status: Status, encoding: Encoding, pretty: boolean): Encoded {
  switch (encoding) {
    case "json":
      return { contentType: MEDIA_TYPE.json, body: pretty ? indented(status) : JSON.stringify(status) }
    case "yaml":
      return { contentType: MEDIA_TYPE.yaml, body: writeYaml(status) }
    case "protobuf":
      return {
        contentType: MEDIA_TYPE.protobuf,
        body: encodeProtobuf(StatusMessage, status, { apiVersion: "v1", kind: "Status" }),
      }
  }
}

const indented = (value: unknown): string => JSON.stringify(value, undefined, 2) + "\n"

/** Encodes the response of a subresource, whose kind may differ from that of the resource (Scale, TokenRequest …). */
function objectBytes(object: KubeObject, resource: Resource, { scheme }: EncodeOptions): Uint8Array {
  const { apiVersion, kind } = object
  const schema =
    kind === resource.kind && apiVersion === resource.apiVersion ? resource.schema : scheme.of(apiVersion, kind)?.schema
  if (schema === undefined)
    throw new ApiError(
      "NotAcceptable",
      `${kind} in version "${apiVersion}" has no protobuf form; accepted media types: ${MEDIA_TYPE.json}, ${MEDIA_TYPE.yaml}`,
    )
  return encodeProtobuf(schema, object, { apiVersion, kind })
}

/** The kind of an object that a subresource answers with, which may be another one than that of the resource. */
function kindOf({ apiVersion, kind }: KubeObject, resource: Resource, { scheme }: EncodeOptions): Resource {
  const isOwn = kind === resource.kind && apiVersion === resource.apiVersion
  return isOwn ? resource : (scheme.of(apiVersion, kind) ?? resource)
}

const listOf = (resource: Resource, metadata: ListMeta, items: readonly Stored[]): ListToEncode<Stored> => ({
  head: { kind: `${resource.kind}List`, apiVersion: resource.apiVersion, metadata },
  field: "items",
  items,
  itemOf: saysTypeInLists(resource) ? ({ object }) => object : ({ object }) => withoutType(object),
})

const objectsOf = (items: readonly Stored[]): Iterable<KubeObject> => ({
  *[Symbol.iterator]() {
    for (const { object } of items) yield object
  },
})

/** Encodes tables, or metadata alone. Source: apiserver pkg/endpoints/handlers/response.go. */
function encodeTransformed(
  result: Exclude<ApiResult, { kind: "status" }>,
  resource: Resource,
  options: EncodeOptions,
): Encoded {
  const { accepted, pretty, now, includeObject } = options
  const apiVersion = `meta.k8s.io/${accepted.asVersion}`
  const isYaml = accepted.encoding === "yaml"
  const listed = <T>(list: ListToEncode<T>): Encoded => ({
    contentType: MEDIA_TYPE[isYaml ? "yaml" : "json"],
    body: { steps: encodingList(isYaml ? "yaml" : pretty ? "indented" : "json", list) },
  })
  const text = (value: object): Encoded =>
    isYaml
      ? { contentType: MEDIA_TYPE.yaml, body: writeYaml(value) }
      : { contentType: MEDIA_TYPE.json, body: pretty ? indented(value) : JSON.stringify(value) }
  switch (accepted.as) {
    case "Table": {
      const tableOptions = { now, includeObject, version: accepted.asVersion }
      if (result.kind === "list") {
        const { metadata, items } = result
        const { head, rowOf } = tableParts(resource, { ...tableOptions, metadata })
        const { rowOrder } = resource
        const ordered =
          rowOrder === undefined ? items : items.toSorted((a, b) => rowOrder.call(resource, a.object, b.object))
        return listed({ head, field: "rows", items: ordered, itemOf: ({ object }) => rowOf(object) })
      }
      const { object } = result
      const metadata: ListMeta = { resourceVersion: object.metadata.resourceVersion }
      return text(tableOf(kindOf(object, resource, options), [object], { ...tableOptions, metadata }))
    }
    case "PartialObjectMetadata": {
      if (result.kind === "list")
        throw new ApiError(
          "NotAcceptable",
          `you requested PartialObjectMetadata, but the requested object is a list (*${internalType(resource)}List)`,
        )
      return accepted.encoding === "protobuf"
        ? {
            contentType: MEDIA_TYPE.protobuf,
            body: encodeProtobuf(PartialObjectMetadata, result.object, { apiVersion, kind: "PartialObjectMetadata" }),
          }
        : text(partial(result.object, apiVersion))
    }
    default: {
      if (result.kind !== "list")
        throw new ApiError(
          "NotAcceptable",
          `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(resource)})`,
        )
      if (accepted.encoding === "protobuf")
        return {
          contentType: MEDIA_TYPE.protobuf,
          body: {
            steps: encodingProtobufList(
              { schema: PartialObjectMetadata, apiVersion, kind: "PartialObjectMetadata" },
              result.metadata,
              objectsOf(result.items),
            ),
          },
        }
      const head = { kind: "PartialObjectMetadataList", apiVersion, metadata: result.metadata }
      return listed({ head, field: "items", items: result.items, itemOf: ({ object }) => partial(object, apiVersion) })
    }
  }
}

/** Source: apimachinery pkg/apis/meta/v1/types.go. */
export const PartialObjectMetadata = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
  "The metadata of an object, and nothing else of it.",
  {
    metadata: f.message(1, ObjectMeta, "Standard object's metadata."),
  },
)

export const partial = ({ metadata }: KubeObject, apiVersion: string): KubeObject => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata,
})
