import { parseYaml } from "../../yaml/yaml.ts"
import { decode, embedded, fields, type Shape, type StructShape } from "../go/decode.ts"
import { FIELD_SPEC } from "../kustomization/shapes.ts"
import type { FileLoader } from "../loader/file-loader.ts"
import { spec } from "./default-config.ts"
import { sortedByKind, type FieldSpec, type NameBackReference } from "./field-spec.ts"
import { EMPTY_CONFIG, mergeConfigs, type TransformerConfig } from "./transformer-config.ts"

const SPECS: Shape = { list: FIELD_SPEC }
const GVK: StructShape = { struct: "resid.Gvk", fields: fields({ group: "string", version: "string", kind: "string" }) }
const REFERENCE: StructShape = {
  struct: "builtinconfig.NameBackReferences",
  fields: { ...embedded("Gvk", GVK), ...fields({ fieldSpecs: SPECS }) },
}
const SHAPE: StructShape = {
  struct: "builtinconfig.TransformerConfig",
  fields: fields({
    namePrefix: SPECS,
    nameSuffix: SPECS,
    namespace: SPECS,
    commonLabels: SPECS,
    labels: SPECS,
    templateLabels: SPECS,
    commonAnnotations: SPECS,
    nameReference: { list: REFERENCE },
    varReference: SPECS,
    images: SPECS,
    replicas: SPECS,
  }),
}

/** Returns a field spec with all its fields. */
export const fieldSpecOf = ({ path = "", create = false, ...gvk }: Partial<FieldSpec>): FieldSpec =>
  spec(path, gvk, create)

/** Reads the files of `configurations`. @throws Error */
export async function readConfigs(loader: FileLoader, paths: readonly string[]): Promise<TransformerConfig> {
  let config = EMPTY_CONFIG
  for (const path of paths) config = mergeConfigs(config, configOf(await loader.loadText(path)))
  return config
}

function configOf(text: string): TransformerConfig {
  let given: Partial<Record<keyof TransformerConfig, readonly Partial<FieldSpec>[]>>
  const { value, duplicates } = parseYaml(text)
  if (duplicates.length > 0)
    throw new Error(
      `error converting YAML to JSON: yaml: unmarshal errors:\n${duplicates.map((one) => `  ${one}`).join("\n")}`,
    )
  try {
    given = (decode(value, SHAPE, { strict: true, coerces: true }) ?? {}) as typeof given
  } catch (err) {
    throw new Error(`error unmarshaling JSON: while decoding JSON: ${(err as Error).message}`, { cause: err })
  }
  const config = Object.fromEntries(
    Object.entries(given).map(([name, specs]) => [
      name,
      name === "nameReference"
        ? sortedByKind((specs as readonly Partial<NameBackReference>[]).map(referenceOf))
        : sortedByKind(specs.map(fieldSpecOf)),
    ]),
  )
  return { ...EMPTY_CONFIG, ...config }
}

const referenceOf = ({ fieldSpecs, ...gvk }: Partial<NameBackReference>): NameBackReference => ({
  group: "",
  version: "",
  kind: "",
  ...gvk,
  fieldSpecs: (fieldSpecs ?? []).map(fieldSpecOf),
})
