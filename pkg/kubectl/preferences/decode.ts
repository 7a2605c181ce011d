import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { parseGroupVersion } from "../rest/json.ts"
import { PREFERENCE_GROUP, type Preference } from "./preference.ts"

/** What a file has: undefined when it is empty. `strict` says which fields nobody knows. */
export interface DecodedPreference {
  readonly preference: Preference
  readonly strict: string | undefined
}

/** The fields of an object: a text, or an object or a list of objects with fields of their own. */
interface Shape {
  readonly [field: string]: "text" | "texts" | Shape
}

const OPTIONS: Shape = { name: "text", default: "text" }

const shapeOf = (defaults: string, options: string, more: Shape): Shape => ({
  kind: "text",
  apiVersion: "text",
  [defaults]: { command: "text", [options]: OPTIONS },
  aliases: { name: "text", command: "text", prependArgs: "texts", appendArgs: "texts", [options]: OPTIONS },
  ...more,
})

const SHAPES = {
  v1beta1: shapeOf("defaults", "options", {
    credentialPluginPolicy: "text",
    credentialPluginAllowlist: { name: "text", command: "text" },
  }),
  v1alpha1: shapeOf("overrides", "flags", {}),
}

const isVersion = (version: string): version is keyof typeof SHAPES => Object.hasOwn(SHAPES, version)

/** The preferences of a file that is read as one of the newest version. */
export const preferenceOf = (value: Readonly<Record<string, unknown>>): Preference => present(SHAPES.v1beta1, value)

/**
 * Returns the first document of a file that is a Preference of a known version. `log` gets what is said of the others.
 * Source: kubectl pkg/kuberc/marshal.go.
 * @throws Error when there are documents, and none is one
 */
export function decodePreference(
  text: string,
  path: string,
  log: (message: string) => void,
): DecodedPreference | undefined {
  const documents = text.split(/^---[^\n]*\n?/m).filter((document) => document.trim() !== "")
  for (const [at, document] of documents.entries())
    try {
      const decoded = decodeDocument(document)
      log(`kuberc: using entry ${at + 1} (${decoded.groupVersion}) in ${path}`)
      return decoded
    } catch (err) {
      log(`kuberc: strict decoding error for entry ${at + 1} in ${path}: ${errorMessage(err)}`)
    }
  if (documents.length > 0) throw new Error(`no valid preferences found in ${path}, use --v=5 to see details`)
  log(`kuberc: no preferences found in ${path}`)
  return undefined
}

function decodeDocument(document: string): DecodedPreference & { readonly groupVersion: string } {
  const { value } = parseYaml(document)
  if (!isJsonObject(value)) throw new Error("couldn't get version/kind; json parse error: it is not an object")
  const { apiVersion = "", kind = "" } = value as { readonly apiVersion?: string; readonly kind?: string }
  const { group, version } = parseGroupVersion(apiVersion)
  if (group !== PREFERENCE_GROUP || kind !== "Preference" || !isVersion(version))
    throw new Error(
      `no kind ${goQuoted(kind)} is registered for version ${goQuoted(apiVersion)} in scheme "k8s.io/kubectl/pkg/config/scheme/scheme.go:29"`,
    )
  const shape = SHAPES[version]
  const given = present(shape, value)
  const unknown = [...unknownFields(shape, given, "")]
  const preference = (version === "v1alpha1" ? newest(given) : given) as Preference
  const strict = unknown.length === 0 ? undefined : `strict decoding error: ${unknown.join(", ")}`
  return { preference, strict, groupVersion: apiVersion }
}

/** Returns an object without the fields that are null. In a list null is an empty text or object, as for Go. */
function present(shape: Shape, value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const inside = (expected: Shape[string] | undefined, inner: unknown): unknown => {
    if (!Array.isArray(inner) || expected === undefined || expected === "text") return inner
    if (expected === "texts") return inner.map((item: unknown) => item ?? "")
    return inner.map((item: unknown) => {
      const object = item ?? {}
      return isJsonObject(object) ? present(expected, object) : item
    })
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([field, inner]) => [field, inside(Object.hasOwn(shape, field) ? shape[field] : undefined, inner)]),
  )
}

/** @throws Error for a value of another type than its field has */
function* unknownFields(shape: Shape, value: Readonly<Record<string, unknown>>, path: string): Generator<string> {
  for (const [field, inner] of Object.entries(value)) {
    const at = path === "" ? field : `${path}.${field}`
    const expected = Object.hasOwn(shape, field) ? shape[field] : undefined
    if (expected === undefined) yield `unknown field ${goQuoted(at)}`
    else if (expected === "text") checkText(inner, at)
    else if (!Array.isArray(inner)) throw wrongType(inner, at, "a list")
    else
      for (const [index, item] of inner.entries())
        if (expected === "texts") checkText(item, at)
        else if (!isJsonObject(item)) throw wrongType(item, at, "an object")
        else yield* unknownFields(expected, item, `${at}[${index}]`)
  }
}

function checkText(value: unknown, path: string): void {
  if (typeof value !== "string") throw wrongType(value, path, "string")
}

const wrongType = (value: unknown, path: string, type: string): Error =>
  new Error(
    `json: cannot unmarshal ${typeof value === "boolean" ? "bool" : typeof value} into Go struct field Preference.${path} of type ${type}`,
  )

/** The same in the newest version, where overrides are defaults and flags are options. */
function newest(old: Readonly<Record<string, unknown>>): object {
  const { overrides, aliases, ...rest } = old as Readonly<Record<string, unknown>> & {
    readonly overrides?: readonly { readonly flags?: unknown }[]
    readonly aliases?: readonly { readonly flags?: unknown }[]
  }
  const renamed = (list: readonly { readonly flags?: unknown }[] = []) =>
    list.map(({ flags, ...others }) => (flags === undefined ? others : { ...others, options: flags }))
  return { ...rest, defaults: renamed(overrides), aliases: renamed(aliases) }
}
