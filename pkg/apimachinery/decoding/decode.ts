import { badRequest, invalid, type ApiError } from "../errors.ts"
import { invalidValue } from "../validation/field-errors.ts"
import { Cursor, DecodeError } from "./decoder-cursor.ts"
import { decoderOf } from "./decoder.ts"
import { goQuoted } from "../go/go-text.ts"
import { f } from "../fields.ts"
import type { Message } from "../field-spec.ts"
import type { KubeObject, KubeObjectInput, Resource } from "../resource.ts"

export type FieldValidation = "Ignore" | "Warn" | "Strict"

export interface DecodeOptions {
  /** Strict refuses unknown fields; Warn and Ignore report them in `faults`. Warn when absent, as upstream. */
  readonly fieldValidation?: FieldValidation | undefined
  /** Faults that the parser of the bytes found (`json: duplicate field …`), reported with the unknown fields. */
  readonly bodyFaults?: readonly string[] | undefined
  /**
   * The decoded object that `json` was made from, such as the stored object that a patch changes. A value that both
   * share (the same reference) is not decoded again.
   */
  readonly old?: KubeObject | undefined
  /**
   * For a custom object: nulls are kept where the schema does not allow null and has no default, so that validation
   * refuses them.
   */
  readonly keepsNulls?: boolean
  /** Makes the error for JSON that is not such an object; by default the one for a request's body. */
  readonly refuse?: (why: string) => ApiError
  /**
   * Returns why an object of another kind cannot be decoded as one of this; undefined when it is another version of the
   * same kind. Without it no other kind is known.
   */
  readonly foreign?: (resource: Resource, apiVersion: string, kind: string) => string | undefined
}

export interface Decoded<T> {
  /** Typed, defaulted and canonical; the given object itself if it was all that already. */
  readonly object: T
  /**
   * The faults that Strict refuses, in the words of the Warning header: `unknown field "spec.foo"`. Nearly always
   * empty.
   */
  readonly faults: readonly string[]
}

/**
 * Decodes plain JSON into an object of the kind: drops nulls and unknown fields, checks types, makes quantities and
 * times canonical, sets defaults. Required fields and values are checked after admission, by `validateObject`.
 * `apiVersion` and `kind` may be absent. @throws ApiError BadRequest, in the words of the API server. Source:
 * endpoints/handlers/create.go and rest.go transformDecodeError.
 */
export function decodeObject<T extends KubeObject, I extends KubeObjectInput>(
  resource: Resource<T, I>,
  json: unknown,
  options: DecodeOptions = {},
): Decoded<T> {
  const { apiVersion, kind } = resource
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw (options.refuse ?? badRequest)(
      `the object provided is unrecognized (must be of type ${kind}): expected a JSON object`,
    )
  const sent = json as Record<string, unknown>
  const sentKind = given(sent["kind"]) ?? kind
  const sentVersion = given(sent["apiVersion"]) ?? apiVersion
  const refuse =
    options.refuse ??
    ((why: string) =>
      badRequest(`${sentKind} in version "${versionIn(sentVersion)}" cannot be handled as a ${kind}: ${why}`))
  if (resource.definition !== undefined) checkCustom(resource, sent, sentVersion, sentKind, options.refuse)
  else if (sentKind !== kind || sentVersion !== apiVersion) {
    const why = (options.foreign ?? ((_resource, ...type) => notRegistered(...type)))(resource, sentVersion, sentKind)
    if (why !== undefined) throw refuse(why)
    throw (options.refuse ?? badRequest)(
      `the API version in the data (${sentVersion}) does not match the expected API version (${apiVersion})`,
    )
  }

  let decoded: Decoded<unknown>
  try {
    decoded = decodeMessage(
      typed(resource.schema),
      given(sent["apiVersion"]) === undefined || given(sent["kind"]) === undefined
        ? withType(sent, kind, apiVersion)
        : sent,
      options.old,
      options.keepsNulls,
    )
  } catch (err) {
    if (err instanceof DecodeError) throw refuse(err.message)
    // The nesting exceeds the stack; Go's decoder has a limit too.
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

/** The file in which upstream registers its kinds, which error messages name. */
const SCHEME = "pkg/api/legacyscheme/scheme.go:30"

/** Returns the error for an object of an undeclared kind. Source: apimachinery pkg/runtime/error.go. */
export const notRegistered = (apiVersion: string, kind: string): string =>
  `no kind ${goQuoted(kind)} is registered for version ${goQuoted(apiVersion)} in scheme ${goQuoted(SCHEME)}`

/** Returns the kind or version of an object; undefined for null and the empty text, as in Go. */
const given = (value: unknown): string | undefined =>
  value === undefined || value === null || value === "" ? undefined : typeof value === "string" ? value : String(value)

const versionIn = (apiVersion: string): string => apiVersion.slice(apiVersion.indexOf("/") + 1)

/**
 * Checks the type of a custom object, for which a wrong one is a fault of the object and not of the request. Source:
 * registry/customresource/validator.go ValidateTypeMeta.
 */
function checkCustom(
  { group, apiVersion, kind }: Pick<Resource, "group" | "apiVersion" | "kind">,
  sent: Readonly<Record<string, unknown>>,
  sentVersion: string,
  sentKind: string,
  refuse: DecodeOptions["refuse"],
): void {
  const { name } = (sent["metadata"] ?? {}) as { readonly name?: unknown }
  const named = typeof name === "string" ? name : ""
  if (sentVersion !== apiVersion) {
    if (refuse === undefined)
      throw badRequest(
        `the API version in the data (${sentVersion}) does not match the expected API version (${apiVersion})`,
      )
    throw invalid({ group: sentVersion.replace(/\/?[^/]*$/, ""), kind: sentKind }, named, [
      invalidValue("apiVersion", sentVersion, `must be ${apiVersion}`),
    ])
  }
  if (sentKind !== kind)
    throw invalid({ group, kind: sentKind }, named, [invalidValue("kind", sentKind, `must be ${kind}`)])
}

/**
 * Decodes JSON into the value of a message (DeleteOptions, a part of an object); `old` and `keepsNulls` as in
 * `DecodeOptions`. @throws DecodeError
 */
export function decodeMessage(
  message: Message,
  json: unknown,
  old?: object,
  keepsNulls: boolean = false,
): Decoded<unknown> {
  const cursor = new Cursor(keepsNulls)
  const object = decoderOf(message)(json, cursor, 0, old)
  return {
    object,
    faults: cursor.unknown.length === 0 ? NO_FAULTS : cursor.unknown.map((path) => `unknown field "${path}"`),
  }
}
const NO_FAULTS: readonly string[] = []

/** Sorts faults in the order of the document, as Go's decoder finds them; faults without a path come first. */
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

/** Returns the schema of a whole object with `apiVersion` and `kind`, which declarations leave out. */
export function typed(schema: Message): Message {
  const cached = typedSchemas.get(schema)
  if (cached !== undefined) return cached
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
