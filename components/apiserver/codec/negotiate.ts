import { ApiError } from "../../../pkg/apimachinery/errors.ts"

/** The encodings of objects. */
export type Encoding = "json" | "yaml" | "protobuf"

export const MEDIA_TYPE: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
}

/** The form of the response that a client asks for. */
export interface Accepted {
  readonly encoding: Encoding
  /** Another shape of the objects: a table, or metadata alone. */
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined
  /** The version of meta.k8s.io for `as`. */
  readonly asVersion: "v1" | "v1beta1"
  readonly pretty: boolean
}

/** The forms that an endpoint offers. */
export interface Offer {
  readonly encodings: readonly Encoding[]
  /** False when protobuf is offered for metadata alone, as for custom objects. */
  readonly protobuf?: false
  /** False when the objects are offered neither as a table nor as metadata alone. */
  readonly transforms?: false
  /** The media types that the path declares: other types are refused before the handler runs. */
  readonly produces: readonly string[] | undefined
}

const PRODUCES: readonly string[] = Object.values(MEDIA_TYPE)
const LIST_PRODUCES = [...PRODUCES, ...[MEDIA_TYPE.json, MEDIA_TYPE.protobuf].map((type) => `${type};stream=watch`)]

export const OBJECTS: Offer = { encodings: ["json", "yaml", "protobuf"], produces: PRODUCES }
export const LISTS: Offer = { encodings: ["json", "yaml", "protobuf"], produces: LIST_PRODUCES }
/**
 * The offer of reviews, bindings and failures, which have no tables. Source: upstream's REST storages without a
 * TableConvertor.
 */
export const PLAIN: Offer = { encodings: ["json", "yaml", "protobuf"], transforms: false, produces: PRODUCES }
/** The offer of /version. */
export const JSON_ALONE: Offer = { encodings: ["json"], transforms: false, produces: [MEDIA_TYPE.json] }
/** Custom objects have no protobuf encoding, and their paths declare no media types. */
export const CUSTOM_OBJECTS: Offer = { encodings: ["json", "yaml", "protobuf"], protobuf: false, produces: undefined }
/** The offer of watches, which are streams: YAML has no framing. */
export const STREAMS: Offer = { encodings: ["json", "protobuf"], produces: LIST_PRODUCES }
export const CUSTOM_STREAMS: Offer = { encodings: ["json", "protobuf"], protobuf: false, produces: undefined }

const DEFAULT: Accepted = { encoding: "json", as: undefined, asVersion: "v1", pretty: false }

/** Size of the cache: clients repeat a few headers, but may send any number of others. */
const REMEMBERED = 256
const LONGEST_REMEMBERED = 1024
const remembered = new WeakMap<Offer, Map<string, Accepted>>()

/**
 * Chooses the form of the response from an Accept header (RFC 9110, 12.5.1): the client's most preferred clause whose
 * parameters are all known. Throws NotAcceptable when there is none. Source: apiserver
 * pkg/endpoints/handlers/negotiation.
 */
export function negotiate(accept: string | undefined, offer: Offer): Accepted {
  if (accept === undefined || accept === "") return DEFAULT
  let known = remembered.get(offer)
  if (known === undefined) remembered.set(offer, (known = new Map<string, Accepted>()))
  const found = known.get(accept)
  if (found !== undefined) return found
  if (offer.produces !== undefined && !isProduced(accept, offer.produces)) throw noSuchForm(offer.produces)
  for (const clause of parseAccept(accept)) {
    const accepted = match(clause, offer)
    if (accepted === undefined) continue
    if (accept.length > LONGEST_REMEMBERED) return accepted
    if (known.size >= REMEMBERED) known.clear()
    known.set(accept, accepted)
    return accepted
  }
  throw notAcceptable(
    offer.encodings.map((encoding) =>
      offer === STREAMS || offer === CUSTOM_STREAMS ? `${MEDIA_TYPE[encoding]};stream=watch` : MEDIA_TYPE[encoding],
    ),
  )
}

/**
 * Whether a path declares one of the types in the header, compared as text. Source: go-restful route.go matchesAccept.
 */
const isProduced = (accept: string, produces: readonly string[]): boolean =>
  accept.split(",").some((clause) => {
    const type = clause.split(";", 1)[0]!.trim()
    return type === "*/*" || produces.includes(type)
  })

/** Source: go-restful jsr311.go detectRoute. */
const noSuchForm = (produces: readonly string[]): ApiError =>
  new ApiError("NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${produces.join(", ")}`, {})

export const notAcceptable = (supported: readonly string[]): ApiError =>
  new ApiError("NotAcceptable", `only the following media types are accepted: ${supported.join(", ")}`)

export interface Clause {
  readonly type: string
  readonly subtype: string
  readonly q: number
  readonly params: ReadonlyMap<string, string>
}

/** Parses an Accept header into its clauses: sorted by q, then the more specific first, then in their order. */
export function parseAccept(header: string): readonly Clause[] {
  const clauses: Clause[] = []
  for (const text of header.split(",")) {
    const [range = "", ...rest] = text.split(";")
    const [type = "", subtype = ""] = range.trim().toLowerCase().split("/")
    if (type === "" || (subtype === "" && type !== "*")) continue
    const params = new Map<string, string>()
    let q = 1
    for (const param of rest) {
      const equals = param.indexOf("=")
      if (equals < 0) continue
      const name = param.slice(0, equals).trim().toLowerCase()
      const value = param
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, "$1")
      if (name === "q") q = Number.isNaN(Number(value)) ? 1 : Number(value)
      else params.set(name, value)
    }
    clauses.push({ type, subtype: subtype === "" ? "*" : subtype, q, params })
  }
  const width = ({ type, subtype }: Clause) => (type === "*" ? 2 : subtype === "*" ? 1 : 0)
  return clauses.sort((a, b) => b.q - a.q || width(a) - width(b))
}

function match({ type, subtype, params }: Clause, offer: Offer): Accepted | undefined {
  const isWhole = params.get("as") === undefined
  const encoding = offer.encodings.find((candidate) => {
    if (candidate === "protobuf" && offer.protobuf === false && isWhole) return false
    const [ourType, ourSubtype] = MEDIA_TYPE[candidate].split("/")
    return (type === "*" || type === ourType) && (subtype === "*" || subtype === ourSubtype)
  })
  if (encoding === undefined) return undefined
  const stream = params.get("stream")
  if (stream !== undefined && stream !== "" && (stream !== "watch" || encoding === "yaml")) return undefined
  const pretty = params.get("pretty") === "1"
  const as = params.get("as")
  const version = params.get("v")
  if (as === undefined && version === undefined && params.get("g") === undefined)
    return { encoding, as: undefined, asVersion: "v1", pretty }
  if (offer.transforms === false || params.get("g") !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1"))
    return undefined
  if (as !== "Table" && as !== "PartialObjectMetadata" && as !== "PartialObjectMetadataList") return undefined
  // Tables have no protobuf encoding: their rows hold objects of any type.
  if (as === "Table" && encoding === "protobuf") return undefined
  return { encoding, as, asVersion: version, pretty }
}

/** The media types of bodies. */
export type BodyType = Encoding | "json-patch" | "merge-patch" | "strategic-merge-patch" | "apply-patch"

const BODY_TYPES: Readonly<Record<string, BodyType>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/vnd.kubernetes.protobuf": "protobuf",
  "application/json-patch+json": "json-patch",
  "application/merge-patch+json": "merge-patch",
  "application/strategic-merge-patch+json": "strategic-merge-patch",
  "application/apply-patch+yaml": "apply-patch",
}
const OBJECT_BODIES: readonly BodyType[] = ["json", "yaml", "protobuf"]
const PATCH_BODIES: readonly BodyType[] = ["json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"]

/** Returns the encoding of a body with an object; JSON when there is no Content-Type. Throws UnsupportedMediaType. */
export function objectBody(contentType: string | undefined, encodings: readonly Encoding[]): Encoding {
  const type = bodyType(contentType)
  if (type === undefined || !OBJECT_BODIES.includes(type) || !encodings.includes(type as Encoding))
    throw unsupportedMediaType(encodings.map((encoding) => MEDIA_TYPE[encoding]))
  return type as Encoding
}

/** Custom kinds have no Go types, which strategic merge patches need. */
const CUSTOM_PATCH_BODIES = PATCH_BODIES.filter((type) => type !== "strategic-merge-patch")

/** Returns the type of a patch. Throws UnsupportedMediaType. */
export function patchBody(contentType: string | undefined, isCustom = false): Exclude<BodyType, Encoding> {
  const bodies = isCustom ? CUSTOM_PATCH_BODIES : PATCH_BODIES
  const type = contentType === undefined ? undefined : bodyType(contentType)
  if (type === undefined || !bodies.includes(type)) {
    if (isCustom)
      throw unsupportedMediaType(
        Object.entries(BODY_TYPES)
          .filter(([, known]) => bodies.includes(known))
          .map(([mediaType]) => mediaType),
      )
    // Source: go-restful jsr311.go detectRoute.
    throw new ApiError("UnsupportedMediaType", "415: Unsupported Media Type", {})
  }
  return type as Exclude<BodyType, Encoding>
}

export const isApplyPatch = (contentType: string | undefined): boolean => bodyType(contentType) === "apply-patch"

function bodyType(contentType: string | undefined): BodyType | undefined {
  if (contentType === undefined || contentType === "") return "json"
  const exact = BODY_TYPES[contentType]
  if (exact !== undefined) return exact
  const [type = "", ...parameters] = contentType.split(";")
  // A parameter has a name and a value (Go's mime.ParseMediaType); the last one may be empty.
  if (
    parameters.some(
      (parameter, i) => !parameter.includes("=") && (parameter.trim() !== "" || i < parameters.length - 1),
    )
  )
    return undefined
  return BODY_TYPES[type.trim().toLowerCase()]
}

const unsupportedMediaType = (supported: readonly string[]): ApiError =>
  new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(", ")}`,
  )
