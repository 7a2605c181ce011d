import { Buffer, isUtf8 } from "node:buffer"
import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { jsonFault } from "../../../pkg/apimachinery/json/json-fault.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { jsonType } from "../codec/type-meta.ts"

/** The position at which a chunked list continues. */
export interface ListPosition {
  /** The revision that the list shows; -1 for the present one, when the revision of the earlier chunks has expired. */
  readonly revision: number
  /** The last key sent, without the prefix of the collection. */
  readonly after: string | undefined
}

/** Source of the form: apiserver pkg/storage/continue.go EncodeContinue. */
export const encodeToken = ({ revision, after }: ListPosition): string =>
  Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start: `${after ?? ""}\u0000` })).toString(
    "base64url",
  )

/**
 * Decodes the token of a client.
 * @throws ApiError BadRequest. Source: apiserver pkg/storage/continue.go DecodeContinue.
 */
export function decodeToken(text: string): ListPosition {
  const { v = "", rv = 0, start = "" } = fieldsOf(text)
  if (v !== "meta.k8s.io/v1") throw wrong(`: server does not recognize this encoded version ${v}`)
  if (rv === 0) throw wrong(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
  if (start === "") throw wrong(": encoded start key empty (version meta.k8s.io/v1)")
  const key = start.startsWith("/") ? start : `/${start}`
  // A key must not lead out of the collection into another one.
  if (key !== "/" && key.split("/").some((part, i) => i > 0 && (part === "" || part === "." || part === "..")))
    throw wrong(`: ${start}`)
  return { revision: rv, after: key.slice(1).replace(/\u0000$/, "") }
}

const wrong = (why: string) => badRequest(`invalid continue token: continue key is not valid${why}`)

interface TokenFields {
  readonly v?: string
  readonly rv?: number
  readonly start?: string
}
const TYPES = { v: ["string", "string"], rv: ["number", "int64"], start: ["string", "string"] } as const

function fieldsOf(text: string): TokenFields {
  const bytes = base64Bytes(text)
  const json = bytes.toString()
  let token: unknown
  try {
    token = JSON.parse(json)
  } catch {
    // Go names the byte as a character.
    throw wrong(`: ${jsonFault(isUtf8(bytes) ? json : bytes.toString("latin1"))}`)
  }
  if (token === null) return {}
  if (!isJsonObject(token))
    throw wrong(`: json: cannot unmarshal ${jsonType(token)} into Go value of type storage.continueToken`)
  for (const [name, [type, goType]] of Object.entries(TYPES)) {
    const value = token[name]
    if (value === undefined || value === null) continue
    if (typeof value !== type || (goType === "int64" && !Number.isSafeInteger(value)))
      throw wrong(
        `: json: cannot unmarshal ${typeof value === "number" ? `number${type === "number" ? ` ${value}` : ""}` : jsonType(value)} into Go struct field continueToken.${name} of type ${goType}`,
      )
  }
  return token as TokenFields
}

/** Source of the fault: Go's encoding/base64 CorruptInputError. */
function base64Bytes(text: string): Buffer {
  const bad = text.search(/[^A-Za-z0-9_-]/)
  if (bad >= 0 || text.length % 4 === 1)
    throw wrong(`: illegal base64 data at input byte ${bad >= 0 ? bad : text.length - 1}`)
  return Buffer.from(text, "base64url")
}
