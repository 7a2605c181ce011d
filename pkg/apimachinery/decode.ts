import { badRequest, type ApiError } from "./errors.ts"
import { Cursor, decoderOf, DecodeError } from "./decoder.ts"
import { f, type Message } from "./fields.ts"
import type { KubeObject, KubeObjectInput, Resource } from "./resource.ts"

export type FieldValidation = "Ignore" | "Warn" | "Strict"

export interface DecodeOptions {
  /** Strict refuses what no field takes; Warn and Ignore report it in `faults`. Warn when absent, as upstream. */
  readonly fieldValidation?: FieldValidation | undefined
  /** Faults that the parser of the bytes found (`json: duplicate field …`), reported with the unknown fields. */
  readonly bodyFaults?: readonly string[] | undefined
  /**
   * An object of the kind that was decoded before and that `json` was made from: what is the very same in both is not
   * looked at again.
   */
  readonly known?: KubeObject | undefined
  /** How JSON that is no such object is refused; as the body of a request unless given. */
  readonly refuse?: (why: string) => ApiError
}

export interface Decoded<T> {
  /** Typed, defaulted, canonical; the very object that was given when it was all that already. */
  readonly object: T
  /** What Strict would refuse, ready for a Warning header: `unknown field "spec.foo"`. Empty nearly always. */
  readonly faults: readonly string[]
}

/**
 * Plain JSON as an object of the kind: nulls dropped, types checked, quantities and times canonical, unknown fields
 * dropped, defaults set. Required-ness and values are not checked here but after admission, by `validateObject`.
 * `apiVersion` and `kind` may be left out.
 * @throws ApiError BadRequest, in the words of the API server. Source: endpoints/handlers/create.go and rest.go
 * transformDecodeError.
 */
export function decodeObject<T extends KubeObject, I extends KubeObjectInput>(
  resource: Resource<T, I>,
  json: unknown,
  options: DecodeOptions = {},
): Decoded<T> {
  const { apiVersion, kind, version } = resource
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw (options.refuse ?? badRequest)(
      `the object provided is unrecognized (must be of type ${kind}): expected a JSON object`,
    )
  const sent = json as Record<string, unknown>
  const sentKind = sent["kind"] ?? kind
  const sentVersion = sent["apiVersion"] ?? apiVersion
  if (sentVersion !== apiVersion)
    throw (options.refuse ?? badRequest)(
      `the API version in the data (${String(sentVersion)}) does not match the expected API version (${apiVersion})`,
    )
  const refuse =
    options.refuse ??
    ((why: string) => badRequest(`${String(sentKind)} in version "${version}" cannot be handled as a ${kind}: ${why}`))
  if (sentKind !== kind)
    throw refuse(`the kind in the data (${String(sentKind)}) does not match the expected kind (${kind})`)

  let decoded: Decoded<unknown>
  try {
    decoded = decodeMessage(
      typed(resource.schema),
      sent["apiVersion"] === undefined || sent["kind"] === undefined ? withType(sent, kind, apiVersion) : sent,
      options.known,
    )
  } catch (err) {
    if (err instanceof DecodeError) throw refuse(err.message)
    // Nested so deep that the stack ends: Go's decoder has a limit too.
    if (err instanceof RangeError) throw refuse("exceeded max depth")
    throw err
  }
  const faults =
    options.bodyFaults === undefined || options.bodyFaults.length === 0
      ? decoded.faults
      : inOrder([...options.bodyFaults, ...decoded.faults], sent)
  if (faults.length > 0 && options.fieldValidation === "Strict")
    throw refuse(`strict decoding error: ${faults.join(", ")}`)
  return { object: decoded.object as T, faults }
}

/**
 * Any JSON as the value of a message (DeleteOptions, a part of an object); `known` as in `DecodeOptions`. @throws
 * DecodeError
 */
export function decodeMessage(message: Message, json: unknown, known?: object): Decoded<unknown> {
  const cursor = new Cursor()
  const object = decoderOf(message)(json, cursor, 0, known)
  return {
    object,
    faults: cursor.unknown.length === 0 ? NO_FAULTS : cursor.unknown.map((path) => `unknown field "${path}"`),
  }
}
const NO_FAULTS: readonly string[] = []

/** Faults as they stand in the document, as a decoder meets them; those of a parser that tells no paths come first. */
function inOrder(faults: readonly string[], sent: Record<string, unknown>): readonly string[] {
  const places = new Map<string, number>()
  const walk = (value: unknown, path: string): void => {
    places.set(path, places.size)
    if (typeof value !== "object" || value === null) return
    if (Array.isArray(value)) for (const [i, item] of value.entries()) walk(item, `${path}[${i}]`)
    else for (const [key, item] of Object.entries(value)) walk(item, path === "" ? key : `${path}.${key}`)
  }
  walk(sent, "")
  const place = (fault: string): number => places.get(/field "(.*)"$/.exec(fault)?.[1] ?? "") ?? -1
  return faults.toSorted((a, b) => place(a) - place(b))
}

function withType(sent: Record<string, unknown>, kind: string, apiVersion: string): Record<string, unknown> {
  if (!("kind" in sent) && !("apiVersion" in sent)) return { kind, apiVersion, ...sent }
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = sent
  return { kind, apiVersion, ...rest }
}

const typedSchemas = new WeakMap<Message, Message>()

/** The schema of a whole object with `apiVersion` and `kind`, which declarations leave to shared code. */
export function typed(schema: Message): Message {
  const known = typedSchemas.get(schema)
  if (known !== undefined) return known
  const made: Message = {
    ...schema,
    fields: {
      apiVersion: f.string(0, "Version of the schema of this object."),
      kind: f.string(0, "Kind of this object."),
      ...schema.fields,
    },
  }
  typedSchemas.set(schema, made)
  return made
}
