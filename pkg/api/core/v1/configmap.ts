import { Buffer } from "node:buffer"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  atKey,
  forbiddenField,
  invalidValue,
  invalidValues,
  tooLong,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f } from "../../../apimachinery/fields.ts"
import { isConfigMapKey } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: pkg/registry/core/configmap/strategy.go, ValidateConfigMap in pkg/apis/core/validation. */

/**
 * The size of all values of a ConfigMap or a Secret together, in bytes. Source: MaxSecretSize in k8s.io/api
 * core/v1/types.go.
 */
export const MAX_DATA_SIZE = 1024 * 1024

const fields = {
  immutable: f.bool(4, "When true, the data cannot be changed any more.").pointer(),
  data: f.map(2, e.string, "Text values by key."),
  binaryData: f.map(3, e.bytes, "Binary values by key, in base64."),
}
export interface ConfigMap extends ObjectFor<typeof fields> {}

export const ConfigMap = defineResource(
  {
    group: "",
    version: "v1",
    kind: "ConfigMap",
    plural: "configmaps",
    shortNames: ["cm"],
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "Configuration for pods to read as environment variables or files.",
    columns: [
      {
        name: "Data",
        type: "string",
        doc: "Number of keys.",
        value: (cm) => Object.keys(cm.data ?? {}).length + Object.keys(cm.binaryData ?? {}).length,
      },
    ],
    validate: ({ data = {}, binaryData = {} }) => {
      const size =
        Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0) +
        Object.values(binaryData).reduce((sum, value) => sum + decodedSize(value), 0)
      return [
        ...keyFaults("data", data),
        ...Object.keys(data)
          .filter((key) => Object.hasOwn(binaryData, key))
          .map((key) => invalidValue(atKey("data", key), key, "duplicate of key present in binaryData")),
        ...keyFaults("binaryData", binaryData),
        ...(size > MAX_DATA_SIZE ? [tooLong(WHOLE, MAX_DATA_SIZE)] : []),
      ]
    },
    validateUpdate: (cm, old) => immutableDataFaults(cm, old, ["data", "binaryData"]),
  },
  fields,
)

/** Returns faults of the keys of a ConfigMap or a Secret, which become names of files and variables. */
export const keyFaults = (path: string, data: Readonly<Record<string, string>>): readonly Cause[] =>
  Object.keys(data).flatMap((key) => invalidValues(atKey(path, key), key, isConfigMapKey(key)))

/** Returns how many bytes a base64 text encodes. */
export const decodedSize = (base64: string): number => Buffer.byteLength(base64, "base64")

/** The path of the whole object, as upstream writes it. */
const WHOLE = "[]"

type Data = Readonly<Record<string, string>> | undefined
type Holder<K extends string> = { readonly immutable?: boolean | undefined } & { readonly [P in K]?: Data }

/** Once an object has `immutable: true`, neither that nor its data may change. */
export function immutableDataFaults<K extends string>(
  obj: Holder<K>,
  old: Holder<K>,
  fields: readonly K[],
): readonly Cause[] {
  if (old.immutable !== true) return []
  const why = "field is immutable when `immutable` is set"
  return [
    ...(obj.immutable === true ? [] : [forbiddenField("immutable", why)]),
    ...fields.filter((field) => !sameMap(obj[field], old[field])).map((field) => forbiddenField(field, why)),
  ]
}

function sameMap(a: Data = {}, b: Data = {}): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}
