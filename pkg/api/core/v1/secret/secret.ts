import { keyPairWarnings } from "./key-pair-warnings.ts"
import { Buffer } from "node:buffer"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { atKey, invalidValue, required, tooLong } from "../../../../apimachinery/validation/field-errors.ts"
import { e, f } from "../../../../apimachinery/fields.ts"
import { jsonFault } from "../../../../apimachinery/json/json-fault.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { immutableDataFaults, keyFaults, MAX_DATA_SIZE, decodedSize } from "../configmap.ts"
import { SERVICE_ACCOUNT_NAME, SERVICE_ACCOUNT_TOKEN } from "./legacy-tokens.ts"

/** Source: pkg/registry/core/secret/strategy.go, ValidateSecret in pkg/apis/core/validation. */

/** Keys that a Secret of a type must have; basic-auth needs one of the two. */
const REQUIRED_KEYS: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockercfg": [".dockercfg"],
  "kubernetes.io/dockerconfigjson": [".dockerconfigjson"],
  "kubernetes.io/ssh-auth": ["ssh-privatekey"],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
}

const fields = {
  immutable: f.bool(5, "When true, the data cannot be changed any more.").pointer(),
  data: f.map(2, e.bytes, "Confidential values by key, in base64."),
  stringData: f.map(4, e.string, "Values as plain text, for writing only: they are put into data."),
  type: f.string(3, "Says what the data is for, and so which keys must be there.").default("Opaque"),
}
export interface Secret extends ObjectFor<typeof fields> {}

export const Secret = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Secret",
    plural: "secrets",
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "Confidential data for pods: passwords, tokens, keys.",
    columns: [
      { name: "Type", type: "string", doc: "Type of the data.", value: (secret) => secret.type },
      {
        name: "Data",
        type: "string",
        doc: "Number of keys.",
        value: (secret) => Object.keys(secret.data ?? {}).length,
      },
    ],
    fieldSelectors: { type: (secret) => secret.type },
    defaults: withStringData,
    prepareForUpdate: (secret, old) => (secret.type === "" ? { ...secret, type: old.type } : secret),
    warnings: (secret) => (secret.type === "kubernetes.io/tls" ? keyPairWarnings(secret.data) : []),
    validate: (secret) => {
      const data = secret.data ?? {}
      const size = Object.values(data).reduce((sum, value) => sum + decodedSize(value), 0)
      return [
        ...keyFaults("data", data),
        ...(size > MAX_DATA_SIZE ? [tooLong("data", MAX_DATA_SIZE)] : []),
        ...typeFaults(secret),
      ]
    },
    validateUpdate: (secret, old) => [
      ...(secret.type === old.type ? [] : [invalidValue("type", secret.type, "field is immutable")]),
      ...immutableDataFaults(secret, old, ["data"]),
    ],
  },
  fields,
)

/**
 * Moves stringData into data, where it overrides existing keys. Done by decoding, so that managed fields contain only
 * keys of data.
 */
function withStringData(secret: Secret): Secret {
  const { stringData, ...rest } = secret
  if (stringData === undefined) return secret
  const encoded = Object.fromEntries(
    Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")]),
  )
  return { ...rest, data: { ...secret.data, ...encoded } }
}

function typeFaults({ type, data = {}, metadata }: Secret): readonly Cause[] {
  if (type === SERVICE_ACCOUNT_TOKEN)
    return metadata.annotations?.[SERVICE_ACCOUNT_NAME]
      ? []
      : [required(atKey("metadata.annotations", SERVICE_ACCOUNT_NAME))]
  if (type === "kubernetes.io/basic-auth")
    return data["username"] !== undefined || data["password"] !== undefined
      ? []
      : [required("data[username]"), required("data[password]")]
  return (REQUIRED_KEYS[type] ?? []).flatMap((key) => {
    const value = data[key]
    if (value === undefined || (value === "" && type === "kubernetes.io/ssh-auth"))
      return [required(atKey("data", key))]
    return key.startsWith(".docker") ? jsonFaults(atKey("data", key), value) : []
  })
}

/** Validates JSON in a Secret. Messages never contain the value, because it is secret. */
function jsonFaults(field: string, base64: string): readonly Cause[] {
  const text = Buffer.from(base64, "base64").toString("utf8")
  try {
    const value: unknown = JSON.parse(text)
    const found = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value
    return found === "object"
      ? []
      : [
          invalidValue(
            field,
            "<secret contents redacted>",
            `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`,
          ),
        ]
  } catch {
    return [invalidValue(field, "<secret contents redacted>", jsonFault(text))]
  }
}
