import { parseYaml } from "../../yaml/yaml.ts"
import { prefixed } from "../node/errors.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { spec } from "./default-config.ts"
import type { FieldSpec } from "./field-spec.ts"
import { EMPTY_CONFIG, mergeConfigs, type TransformerConfig } from "./transformer-config.ts"

type Json = Readonly<Record<string, unknown>>
const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}

/**
 * Returns what the OpenAPI definitions in the files of `crds` say of fields: which are names, references, labels or
 * annotations. Source: kustomize accumulator/loadconfigfromcrds.go.
 */
export async function readCrdConfig(loader: FileLoader, paths: readonly string[]): Promise<TransformerConfig> {
  let config = EMPTY_CONFIG
  for (const path of paths) {
    const text = await loader.loadText(path)
    let definitions: Json
    try {
      definitions = objectOf(parseYaml(text).value)
    } catch (err) {
      throw prefixed(`unable to parse open API definition from '${path}'`, err)
    }
    for (const name of Object.keys(definitions)) config = mergeConfigs(config, configOf(definitions, name))
  }
  return config
}

function configOf(definitions: Json, name: string): TransformerConfig {
  const properties = propertiesOf(definitions, name)
  if (!["kind", "apiVersion", "metadata"].every((field) => Object.hasOwn(properties, field))) return EMPTY_CONFIG
  return fieldsOf(definitions, name, name.split(".").at(-1)!, [])
}

const propertiesOf = (definitions: Json, name: string): Json => {
  const schema = objectOf(objectOf(definitions[name])["Schema"] ?? objectOf(definitions[name])["schema"])
  return objectOf(schema["properties"])
}

/** The deepest nesting that is followed: definitions may refer to themselves. */
const MOST_LEVELS = 50

function fieldsOf(definitions: Json, name: string, kind: string, path: readonly string[]): TransformerConfig {
  let config = EMPTY_CONFIG
  if (path.length > MOST_LEVELS) return config
  const at = (...names: readonly string[]): readonly FieldSpec[] => [spec([...path, ...names].join("/"), { kind })]
  for (const [field, declared] of Object.entries(propertiesOf(definitions, name))) {
    const property = objectOf(declared)
    const text = (extension: string) => {
      const value = property[extension]
      return typeof value === "string" ? value : undefined
    }
    const found = {
      ...EMPTY_CONFIG,
      ...(text("x-kubernetes-annotation") === undefined ? {} : { commonAnnotations: at(field) }),
      ...(text("x-kubernetes-label-selector") === undefined ? {} : { commonLabels: at(field) }),
      ...(text("x-kubernetes-identity") === undefined ? {} : { namePrefix: at(field) }),
    }
    config = mergeConfigs(config, found)
    const version = text("x-kubernetes-object-ref-api-version")
    const target = text("x-kubernetes-object-ref-kind")
    if (version !== undefined && target !== undefined) {
      const fieldSpecs = at(field, text("x-kubernetes-object-ref-name-key") ?? "name")
      const nameReference = [{ group: "", version, kind: target, fieldSpecs }]
      config = mergeConfigs(config, { ...EMPTY_CONFIG, nameReference })
    }
    const reference = text("$ref")
    if (reference !== undefined) config = mergeConfigs(config, fieldsOf(definitions, reference, kind, [...path, field]))
  }
  return config
}
