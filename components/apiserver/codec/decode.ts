import { Buffer } from "node:buffer"
import { type ApiError, badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { Message } from "../../../pkg/apimachinery/field-spec.ts"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { DeleteOptions } from "../../../pkg/apimachinery/meta.ts"
import { decodeProtobuf, isEnvelope, openEnvelope } from "../../../pkg/apimachinery/protobuf/envelope.ts"
import { StatusMessage } from "../../../pkg/apimachinery/status.ts"
import { withRawFields } from "../../../pkg/apimachinery/json/raw-fields.ts"
import type { Patch } from "../../../pkg/client/client.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { BodyError } from "./body-error.ts"
import { parseJson, type Parsed } from "./json.ts"
import type { BodyType, Encoding } from "./negotiate.ts"
import { jsonType, noTypeMeta, wrongTypeMeta } from "./type-meta.ts"

/** Bytes that are no UTF-8 become U+FFFD, as in Go's decoder. A byte order mark is kept and is no white space. */
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })

/** The YAML parser is large and YAML bodies are rare: it is loaded with the first one. */
const yamlParser = () => import("./yaml.ts")

export interface BodyOptions {
  readonly encoding: Encoding
  readonly scheme: Scheme
  /** The kind of the expected object, for error messages; undefined for options, whose errors name none. */
  readonly kind: string | undefined
  /** Whether the object must name its apiVersion and kind. */
  readonly mustBeTyped?: boolean
  /** Fields whose JSON text is kept as it was sent. */
  readonly rawFields?: readonly string[]
}

/**
 * Decodes a body into plain JSON.
 * @throws ApiError BadRequest when the bytes do not fit the encoding, or are no object
 */
export async function decodeBody(bytes: Uint8Array, options: BodyOptions): Promise<Parsed> {
  try {
    const body = objectFrom(await parsed(bytes, options))
    if (options.mustBeTyped === true) checkTyped(body.value, bytes)
    return body
  } catch (err) {
    throw err instanceof BodyError ? refusal(err, bytes, options) : err
  }
}

const refusal = ({ message }: BodyError, bytes: Uint8Array, { kind }: BodyOptions): ApiError =>
  badRequest(
    kind === undefined
      ? message
      : `the object provided is unrecognized (must be of type ${kind}): ${message} (${summary(bytes)})`,
  )

function parsed(bytes: Uint8Array, { encoding, scheme, rawFields = [] }: BodyOptions): Parsed | Promise<Parsed> {
  switch (encoding) {
    case "json":
      try {
        const text = lenient.decode(bytes)
        const parsed = parseJson(text)
        return rawFields.length === 0 ? parsed : { ...parsed, value: withRawFields(parsed.value, text, rawFields) }
      } catch (err) {
        throw err instanceof BodyError ? new BodyError(`${NO_TYPE}${err.message}`) : err
      }
    case "yaml":
      return yamlParser().then(({ parseYaml }) => parseYaml(bytes))
    case "protobuf":
      return { value: fromProtobuf(bytes, scheme), faults: [] }
  }
}

const NO_TYPE = "couldn't get version/kind; json parse error: "

/** Null counts as an object without fields. Source: apimachinery pkg/runtime/serializer/json/meta.go Interpret. */
function objectFrom({ value, faults }: Parsed): Parsed {
  if (value === null) return { value: {}, faults }
  if (!isJsonObject(value)) throw new BodyError(NO_TYPE + noTypeMeta(value))
  const problem = wrongTypeMeta(value)
  if (problem !== undefined) throw new BodyError(NO_TYPE + problem)
  const { apiVersion } = value
  if (typeof apiVersion === "string" && apiVersion.split("/").length > 2)
    throw new BodyError(`unexpected GroupVersion string: ${apiVersion}`)
  return { value, faults }
}

/**
 * Checks that a custom object, which has no Go type, names its apiVersion and kind. Source: apimachinery
 * pkg/runtime/serializer/json/json.go Decode.
 */
function checkTyped(value: unknown, bytes: Uint8Array): void {
  const { kind, apiVersion } = value as { readonly kind?: unknown; readonly apiVersion?: unknown }
  for (const [name, given] of [
    ["Kind", kind],
    ["apiVersion", apiVersion],
  ] as const)
    if (given === undefined || given === "")
      throw new BodyError(`Object '${name}' is missing in '${lenient.decode(bytes)}'`)
}

/** Returns the beginning of a body for error messages. Source: endpoints/handlers/rest.go summarizeData. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>"
  const shown = Buffer.from(bytes.subarray(0, SHOWN_BYTES)).toString(bytes[0] === OPEN_BRACE ? "utf8" : "hex")
  return bytes.length > SHOWN_BYTES ? `${shown} ...` : shown
}
const SHOWN_BYTES = 30
const OPEN_BRACE = 123

function fromProtobuf(bytes: Uint8Array, scheme: Scheme): unknown {
  if (bytes.length === 0) throw new BodyError("empty data")
  if (!isEnvelope(bytes))
    throw new BodyError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
  const { apiVersion, kind, raw } = readable(() => openEnvelope(bytes))
  if (bytes.length === MAGIC_BYTES) throw new BodyError("empty body")
  const message = messageOf(apiVersion, kind, scheme)
  if (message === undefined)
    throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`)
  return { apiVersion, kind, ...readable(() => decodeProtobuf(message, raw)) }
}
const MAGIC_BYTES = 4

/** Returns the result of `read`. @throws BodyError when the bytes are no protobuf */
function readable<T>(read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new BodyError(errorMessage(err))
  }
}

/** DeleteOptions and Status are kinds of every group. */
const EVERYWHERE: Readonly<Record<string, Message>> = { DeleteOptions, Status: StatusMessage }

const messageOf = (apiVersion: string, kind: string, scheme: Scheme): Message | undefined =>
  EVERYWHERE[kind] ?? scheme.of(apiVersion, kind)?.schema

export interface DecodedPatch {
  readonly patch: Patch
  readonly faults: readonly string[]
  /** See ApiRequest. */
  readonly patchFault?: ApiError
}

/** Decodes a patch. Source of the error messages: endpoints/handlers/patch.go. @throws ApiError BadRequest */
export async function decodePatch(bytes: Uint8Array, type: Exclude<BodyType, Encoding>): Promise<DecodedPatch> {
  switch (type) {
    case "apply-patch":
      return applyPatch(bytes)
    case "json-patch": {
      const parsed = patchJson(bytes, "error decoding patch: ")
      const faults = [...parsed.faults, ...operationFaults(parsed.value)].map((fault) => `json patch ${fault}`)
      return { patch: { type: "json", body: parsed.value ?? [] }, faults }
    }
    case "merge-patch": {
      const parsed = patchJson(bytes, "error decoding patch: ")
      if (parsed.value === null) throw badRequest("Invalid JSON Patch")
      return {
        patch: { type: "merge", body: patchObject(parsed.value, "error decoding patch: ") },
        faults: parsed.faults,
      }
    }
    case "strategic-merge-patch": {
      const parsed = patchJson(bytes, "")
      return { patch: { type: "strategic", body: patchObject(parsed.value ?? {}, "") }, faults: parsed.faults }
    }
  }
}

async function applyPatch(bytes: Uint8Array): Promise<DecodedPatch> {
  const { parseYaml } = await yamlParser()
  try {
    const { value, faults } = parseYaml(bytes)
    if (value !== null && !isJsonObject(value))
      throw wrongPatch("error decoding YAML: error unmarshaling JSON: while decoding JSON: ", value, OBJECT)
    return { patch: { type: "apply", body: value ?? {} }, faults }
  } catch (err) {
    throw err instanceof BodyError
      ? badRequest(`error decoding YAML: error converting YAML to JSON: ${err.message}`)
      : err
  }
}

function patchJson(bytes: Uint8Array, prefix: string): Parsed {
  try {
    return parseJson(lenient.decode(bytes))
  } catch (err) {
    throw err instanceof BodyError ? badRequest(prefix + err.message) : err
  }
}

const OBJECT = "map[string]interface {}"

function patchObject(value: unknown, prefix: string): object {
  if (!isJsonObject(value)) throw wrongPatch(prefix, value, OBJECT)
  return value
}

const wrongPatch = (prefix: string, value: unknown, goType: string): ApiError =>
  badRequest(`${prefix}${noTypeMeta(value, goType)}`)

/**
 * Checks that a JSON patch is a list of operations, and lists the fields that operations do not have. Source:
 * endpoints/handlers/patch.go jsonPatchOp.
 */
function operationFaults(value: unknown): readonly string[] {
  if (value === null) return []
  if (!Array.isArray(value)) throw wrongPatch("error decoding patch: ", value, "[]handlers.jsonPatchOp")
  return value.flatMap((operation: unknown, i) => {
    if (operation === null) return []
    if (!isJsonObject(operation)) throw wrongPatch("error decoding patch: ", operation, "handlers.jsonPatchOp")
    for (const name of ["op", "from", "path"]) {
      const given = operation[name] ?? ""
      if (typeof given !== "string")
        throw badRequest(
          `error decoding patch: json: cannot unmarshal ${jsonType(given)} into Go struct field jsonPatchOp.${name} of type string`,
        )
    }
    return Object.keys(operation)
      .filter((name) => !OPERATION_FIELDS.includes(name))
      .map((name) => `unknown field "[${i}].${name}"`)
  })
}
const OPERATION_FIELDS: readonly string[] = ["op", "from", "path", "value"]
