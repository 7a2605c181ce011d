/**
 * Compact signed tokens (RFC 7515, 7519), synchronously.
 *
 * Why not `jose`: it signs through WebCrypto and therefore always yields to the event loop, so that in a cluster on
 * virtual time the order of events would depend on real threads. The format is three base64url parts.
 */
import { signBytes, type SigningKey, verifyBytes, type VerifyingKey } from "./signing-key.ts"

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }
export type JsonObject = { readonly [key: string]: Json | undefined }

/** Returns `payload` as a signed token in compact form. */
export function signCompact(key: SigningKey, payload: JsonObject): string {
  const head = encode({ alg: key.algorithm, kid: key.keyId })
  const input = `${head}.${encode(payload)}`
  return `${input}.${signBytes(key, Buffer.from(input)).toString("base64url")}`
}

export interface Unverified {
  readonly header: JsonObject
  readonly payload: JsonObject
  readonly input: Buffer
  readonly signature: Buffer
}

/**
 * Parses a compact token and checks only its form; undefined when it is not a compact token. A token that marks
 * extensions as critical counts as none, because no extension is supported (RFC 7515 4.1.11).
 */
export function parseCompact(token: string): Unverified | undefined {
  const parts = token.split(".")
  if (parts.length !== 3) return undefined
  const [head = "", body = "", signature = ""] = parts
  const header = decode(head)
  const payload = decode(body)
  const signed = bytesOf(signature)
  if (header === undefined || payload === undefined || signed === undefined || "crit" in header) return undefined
  return { header, payload, input: Buffer.from(`${head}.${body}`), signature: signed }
}

/**
 * Returns whether one of `keys` signed the token. With a `kid` only keys of that id are tried. The algorithm is the
 * key's, and the token must name the same one: this refuses `none` and signatures of another type of key.
 */
export function isSignedBy(
  { header, input, signature }: Unverified,
  keys: readonly VerifyingKey[],
): "yes" | "no" | "no such key" {
  const named = header.kid === undefined || header.kid === "" ? keys : keys.filter((key) => key.keyId === header.kid)
  if (named.length === 0) return "no such key"
  return named.some((key) => key.algorithm === header.alg && verifyBytes(key, input, signature)) ? "yes" : "no"
}

const encode = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url")

function decode(part: string): JsonObject | undefined {
  const bytes = bytesOf(part)
  if (bytes === undefined) return undefined
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)) as Json
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Decodes base64url without padding; undefined for anything else. Buffer alone skips characters that it cannot read.
 */
function bytesOf(part: string): Buffer | undefined {
  if (!/^[\w-]+$/.test(part) || part.length % 4 === 1) return undefined
  return Buffer.from(part, "base64url")
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
