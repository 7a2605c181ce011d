import { ApiError } from "../../../pkg/apimachinery/errors.ts"

/** The forms in which objects travel. */
export type Encoding = "json" | "yaml" | "protobuf"

export const MEDIA_TYPE: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  yaml: "application/yaml",
  protobuf: "application/vnd.kubernetes.protobuf",
}

/** What a client would have an answer be. */
export interface Accepted {
  readonly encoding: Encoding
  /** Another shape of the same objects: rows for people, or metadata alone. */
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined
  /** The version of meta.k8s.io in which `as` is wanted. */
  readonly asVersion: "v1" | "v1beta1"
  readonly pretty: boolean
}

/** What an endpoint can answer with. */
export interface Offer {
  readonly encodings: readonly Encoding[]
  /** False where protobuf is only for metadata alone, as of custom objects. */
  readonly protobuf?: false
  /** False where only the object itself can be had, no table and no part of it. */
  readonly transforms?: false
  /** The media types that the path says it gives: others are refused before the handler looks. */
  readonly produces: readonly string[] | undefined
}

const PRODUCES: readonly string[] = Object.values(MEDIA_TYPE)
const LIST_PRODUCES = [...PRODUCES, ...[MEDIA_TYPE.json, MEDIA_TYPE.protobuf].map((type) => `${type};stream=watch`)]

export const OBJECTS: Offer = { encodings: ["json", "yaml", "protobuf"], produces: PRODUCES }
export const LISTS: Offer = { encodings: ["json", "yaml", "protobuf"], produces: LIST_PRODUCES }
/**
 * Reviews, bindings and failures are answers of their own: nothing is there to be tabulated. Source: upstream's REST
 * storages without a TableConvertor.
 */
export const PLAIN: Offer = { encodings: ["json", "yaml", "protobuf"], transforms: false, produces: PRODUCES }
/** Custom objects have no form in protobuf, and their paths declare no media types. */
export const CUSTOM_OBJECTS: Offer = { encodings: ["json", "yaml", "protobuf"], protobuf: false, produces: undefined }
/** Watches are streams, and YAML has no framing. */
export const STREAMS: Offer = { encodings: ["json", "protobuf"], produces: LIST_PRODUCES }
export const CUSTOM_STREAMS: Offer = { encodings: ["json", "protobuf"], protobuf: false, produces: undefined }

const DEFAULT: Accepted = { encoding: "json", as: undefined, asVersion: "v1", pretty: false }

/** Clients send the same few headers over and over; anybody may send others, so only so many are remembered. */
const REMEMBERED = 256
const LONGEST_REMEMBERED = 1024
const remembered = new WeakMap<Offer, Map<string, Accepted>>()

/**
 * Chooses the form of the answer from an Accept header (RFC 9110, 12.5.1): the client's most preferred clause of which
 * every parameter is understood. Throws NotAcceptable when there is none. Source: apiserver
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
 * Whether a path gives one of the types that a client names, in so many letters. Source: go-restful route.go
 * matchesAccept.
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

/** The clauses of an Accept header, most wanted first: by q, then the more specific, then as they stand. */
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
  // Tables have no protobuf form; their rows are of any type.
  if (as === "Table" && encoding === "protobuf") return undefined
  return { encoding, as, asVersion: version, pretty }
}

/** Media types of bodies. */
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

/** The type of a body that holds an object; JSON where the client did not say. Throws UnsupportedMediaType. */
export function objectBody(contentType: string | undefined, encodings: readonly Encoding[]): Encoding {
  const type = bodyType(contentType)
  if (type === undefined || !OBJECT_BODIES.includes(type) || !encodings.includes(type as Encoding))
    throw unsupportedMediaType(encodings.map((encoding) => MEDIA_TYPE[encoding]))
  return type as Encoding
}

/** Custom objects have no Go types that would say how strategic merges go. */
const CUSTOM_PATCH_BODIES = PATCH_BODIES.filter((type) => type !== "strategic-merge-patch")

/** The type of a patch. Throws UnsupportedMediaType. */
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
