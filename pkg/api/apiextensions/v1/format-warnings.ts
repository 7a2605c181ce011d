import { isKnownFormat } from "../../../apimachinery/structural/formats.ts"
import { someSchema } from "../../../apimachinery/structural/json-schema.ts"
import type { CustomResourceDefinitionSpec } from "./customresourcedefinitionspec.ts"
import { hoisted } from "./validation/hoisted.ts"

/**
 * Returns warnings about unknown formats, which are not checked; for an update, about new ones only. Source:
 * apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go.
 */
export function formatWarnings(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): readonly string[] {
  if (old?.versions === spec.versions) return []
  const before = new Set(old === undefined ? [] : unknownFormats(old))
  return unknownFormats(spec)
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`)
}

function unknownFormats(spec: CustomResourceDefinitionSpec): readonly string[] {
  const found: string[] = []
  const { schema, versions } = hoisted(spec)
  for (const each of [schema, ...versions.map((version) => version.schema)])
    someSchema(each?.openAPIV3Schema, ({ format = "", type }) => {
      if (format !== "" && !isKnownFormat(format, type)) found.push(format)
      return false
    })
  return found
}
