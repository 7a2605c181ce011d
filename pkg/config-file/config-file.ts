/**
 * Files that configure a component, such as an AuthenticationConfiguration or a KubeSchedulerConfiguration: YAML or
 * JSON with `apiVersion` and `kind`, read strictly. Source of the behaviour: the codecs with EnableStrict of apiserver
 * pkg/apis/apiserver/load, pkg/audit/policy/reader.go, and kube-scheduler's app/options/configfile.go.
 */
import { readFileSync } from "node:fs"
import type { Cause } from "../apimachinery/errors.ts"
import { DecodeError } from "../apimachinery/decoding/decoder-cursor.ts"
import { decodeMessage, typed } from "../apimachinery/decoding/decode.ts"
import { declaredFaults } from "../apimachinery/validation/validate.ts"
import { isJsonObject } from "../apimachinery/json/json-value.ts"
import type { ObjectOf } from "../apimachinery/fields.ts"
import type { Message } from "../apimachinery/field-spec.ts"
import { errorMessage } from "../errors/error-message.ts"
import { didYouMean } from "../names/suggest.ts"
import { parseYaml, YamlError } from "../yaml/yaml.ts"
import { lineOf } from "./line-of.ts"

/** A kind of configuration. All its versions have the same fields here. */
export interface ConfigurationKind<M extends Message = Message> {
  /** Newest first: `["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1"]`. */
  readonly apiVersions: readonly [string, ...string[]]
  readonly kind: string
  /** The file says neither `apiVersion` nor `kind`, as those of old kinds. */
  readonly isUntyped?: true
  /** The fields, without `apiVersion` and `kind`. */
  readonly schema: M
  /** Returns what is wrong in a decoded value, with defaults set, beyond what the schema says itself. */
  readonly validate?: (value: ObjectOf<M>) => readonly Cause[]
}

export interface Configuration<M extends Message = Message> {
  readonly apiVersion: string
  readonly kind: ConfigurationKind<M>
  readonly value: ObjectOf<M>
}

/** The faults of a file: each on a line of its own, `FILE:LINE: field: what is wrong`. */
export class ConfigurationError extends Error {
  override readonly name = "ConfigurationError"
}

/** No configuration of a person is larger, in bytes. */
const LARGEST = 1024 * 1024

/** Reads a file. @throws ConfigurationError also where the file cannot be read */
export const readConfiguration = <M extends Message>(
  file: string,
  kinds: readonly ConfigurationKind<M>[],
): Configuration<M> => parseConfiguration(configurationText(file), file, kinds)

/** Returns the text of a file. @throws ConfigurationError where it cannot be read */
export function configurationText(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch (err) {
    throw new ConfigurationError(`${file}: ${errorMessage(err)}`, { cause: err })
  }
}

/**
 * Reads the text of a file. Defaults are those of the schema.
 * @param file for messages
 * @throws ConfigurationError
 */
export function parseConfiguration<M extends Message>(
  text: string,
  file: string,
  kinds: readonly ConfigurationKind<M>[],
): Configuration<M> {
  if (text.length > LARGEST) throw new ConfigurationError(`${file}: has more than ${LARGEST} bytes`)
  return configurationIn(parsed(text, file), { text, file, at: "" }, kinds)
}

/** Where a configuration stands: in a file of its own, or below a field of another configuration. */
export interface Place {
  readonly text: string
  /** For messages. */
  readonly file: string
  /** The path of that field, such as `plugins[0].configuration`; empty for a file of its own. */
  readonly at: string
}

/**
 * Reads a configuration that is the value of a field of another one.
 * @throws ConfigurationError
 */
export function embeddedConfiguration<M extends Message>(
  value: unknown,
  place: Place,
  kinds: readonly ConfigurationKind<M>[],
): Configuration<M> {
  if (!isJsonObject(value)) throw refusalAt(place, [{ field: "", message: "must be a map" }])
  return configurationIn(value, place, kinds)
}

function configurationIn<M extends Message>(
  json: Readonly<Record<string, unknown>>,
  place: Place,
  kinds: readonly ConfigurationKind<M>[],
): Configuration<M> {
  const kind = kinds.find(({ isUntyped }) => isUntyped === true) ?? kindOf(json, kinds, place)
  const value = decoded(kind, json, place)
  const causes = [...declaredFaults(kind.schema, value as object), ...(kind.validate?.(value) ?? [])]
  if (causes.length > 0) throw refusalAt(place, causes)
  return { apiVersion: String(json["apiVersion"] ?? ""), kind, value }
}

/** Makes the error of a configuration that cannot be used, wherever it stands. */
export function refusalAt({ text, file, at }: Place, causes: readonly Cause[]): ConfigurationError {
  return refusal(
    text,
    file,
    causes.map((cause) => ({ ...cause, field: [at, cause.field ?? ""].filter((part) => part !== "").join(".") })),
  )
}

/**
 * Makes the error of a file that is read well and still cannot be used, as where a CEL expression of it does not
 * compile.
 */
export function refusal(text: string, file: string, causes: readonly Cause[]): ConfigurationError {
  const lines = causes.map(({ field = "", message }) => {
    const line = lineOf(text, field)
    return `${file}${line === undefined ? "" : `:${line}`}: ${field === "" ? "" : `${field}: `}${message}`
  })
  return new ConfigurationError(lines.join("\n"))
}

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  const { value, duplicates } = yamlOf(text, file)
  const [duplicate] = duplicates
  if (duplicate !== undefined) {
    const [, line, what] = /^line (\d+): (.*)$/.exec(duplicate) ?? [undefined, "1", duplicate]
    throw new ConfigurationError(`${file}:${line}: ${what}`)
  }
  if (value === null || value === undefined) throw new ConfigurationError(`${file}: is empty`)
  if (!isJsonObject(value)) throw new ConfigurationError(`${file}:1: must be a map with apiVersion and kind`)
  return value
}

function yamlOf(text: string, file: string): ReturnType<typeof parseYaml> {
  try {
    return parseYaml(text)
  } catch (err) {
    if (!(err instanceof YamlError)) throw err
    const line = err.mark === undefined ? "" : `:${err.mark.line + 1}`
    throw new ConfigurationError(`${file}${line}: is not YAML: ${err.problem}`, { cause: err })
  }
}

function kindOf<M extends Message>(
  { apiVersion, kind }: Readonly<Record<string, unknown>>,
  kinds: readonly ConfigurationKind<M>[],
  place: Place,
): ConfigurationKind<M> {
  const known = kinds.flatMap(({ apiVersions, kind: name }) =>
    apiVersions.map((version) => `apiVersion: ${version}, kind: ${name}`),
  )
  const found = kinds.find(({ apiVersions, kind: name }) => name === kind && apiVersions.includes(String(apiVersion)))
  if (found !== undefined) return found
  const field = kinds.some(({ kind: name }) => name === kind) ? "apiVersion" : "kind"
  const given = field === "kind" ? kind : apiVersion
  const what = given === undefined ? "is missing" : `${JSON.stringify(given)} is not known here`
  const where = place.at === "" ? "this file must begin with" : "it must have"
  throw refusalAt(place, [{ field, message: `${what}: ${where} ${known.join(" or ")}` }])
}

function decoded<M extends Message>(
  { schema }: ConfigurationKind<M>,
  json: Readonly<Record<string, unknown>>,
  place: Place,
): ObjectOf<M> {
  try {
    const { object, faults } = decodeMessage(typed(schema), json)
    if (faults.length === 0) return object as ObjectOf<M>
    throw refusalAt(
      place,
      faults.map((fault) => {
        const field = /^unknown field "(.*)"$/.exec(fault)?.[1] ?? ""
        const known = field.includes(".") ? [] : Object.keys(schema.fields)
        return { field, message: `this field is not known${didYouMean(field, known)}` }
      }),
    )
  } catch (err) {
    if (!(err instanceof DecodeError)) throw err
    const [, field] = /struct field \w+\.(\S+) of type/.exec(err.message) ?? []
    const line = field === undefined ? undefined : lineOf(place.text, [place.at, field].filter(Boolean).join("."))
    throw new ConfigurationError(`${place.file}${line === undefined ? "" : `:${line}`}: ${err.message}`, { cause: err })
  }
}
