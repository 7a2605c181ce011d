import { isObject, type Json, type JsonObject } from "../../../../pkg/jwt/jws.ts"
import { unescapeProperty } from "../../../../pkg/cel/escape.ts"
import { Double, ListValue, MapValue, type Value } from "../../../../pkg/cel/values/values.ts"

/** Why a token is refused whose signature is good. */
export class ClaimsRefused extends Error {}

/** Returns a claim that must be text; null counts as the empty text, as in Go. @throws ClaimsRefused */
export function textClaim(claims: JsonObject, name: string): string {
  if (!Object.hasOwn(claims, name)) throw new ClaimsRefused("claim not present")
  const value = claims[name] ?? null
  if (value === null) return ""
  if (typeof value === "string") return value
  throw new ClaimsRefused(`json: cannot unmarshal ${goKind(value)} into Go value of type string`)
}

/** Returns a claim that is one text or a list of them. @throws ClaimsRefused */
export function textsClaim(claims: JsonObject, name: string): readonly string[] {
  const value = claims[name] ?? null
  if (value === null) return []
  if (!Array.isArray(value)) return [textClaim(claims, name)]
  return value.map((item: Json) => {
    if (item === null) return ""
    if (typeof item === "string") return item
    throw new ClaimsRefused("json: cannot unmarshal array into Go value of type string")
  })
}

/** Returns a claim that must be true or false. @throws ClaimsRefused */
export function booleanClaim(claims: JsonObject, name: string): boolean {
  const value = claims[name] ?? null
  if (value === null) return false
  if (typeof value === "boolean") return value
  throw new ClaimsRefused(`json: cannot unmarshal ${goKind(value)} into Go value of type bool`)
}

/** Names a value of JSON as Go's decoder does. */
const goKind = (value: Json): string =>
  Array.isArray(value)
    ? "array"
    : typeof value === "boolean"
      ? "bool"
      : typeof value === "object"
        ? "object"
        : typeof value

/**
 * Returns a value of JSON for an expression. All numbers are doubles, as Go decodes them, and a property whose name an
 * expression cannot write is found by its escaped name too: `claims.acme__dot__com`. Source: apiserver
 * plugin/pkg/authenticator/token/oidc newClaimsValue, unescapeWrapper.
 */
export function celValue(json: Json | undefined): Value {
  if (typeof json === "number") return new Double(json)
  if (Array.isArray(json)) return new ClaimsList(json)
  if (isObject(json)) return new ClaimsMap(json)
  return (json ?? null) as Value
}

class ClaimsMap extends MapValue {
  readonly #json: JsonObject
  constructor(json: JsonObject) {
    super()
    this.#json = json
  }
  get size(): number {
    return Object.keys(this.#json).length
  }
  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined
    const name = unescapeProperty(key) ?? key
    const found = Object.hasOwn(this.#json, name) ? name : key
    return Object.hasOwn(this.#json, found) ? celValue(this.#json[found]) : undefined
  }
  keys(): Iterable<Value> {
    return Object.keys(this.#json)
  }
}

class ClaimsList extends ListValue {
  readonly #json: readonly Json[]
  constructor(json: readonly Json[]) {
    super()
    this.#json = json
  }
  get size(): number {
    return this.#json.length
  }
  at(index: number): Value {
    return celValue(this.#json[index])
  }
}
