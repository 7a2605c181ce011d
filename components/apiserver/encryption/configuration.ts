/**
 * The file of `--encryption-provider-config`: which kinds of objects are encrypted on the disk, and how. Sources:
 * apiserver pkg/apis/apiserver/v1/types_encryption.go, validation/validation_encryption.go.
 */
import { Buffer } from "node:buffer"
import { z } from "zod"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { parseYaml } from "../../../pkg/yaml/yaml.ts"

const Key = z.strictObject({ name: z.string().default(""), secret: z.string().default("") })
const Keys = z.strictObject({ keys: z.array(Key).default([]) })
const Kms = z.strictObject({
  apiVersion: z.string().default("v1"),
  name: z.string().default(""),
  cachesize: z.number().int().optional(),
  endpoint: z.string().default(""),
  timeout: z.string().default("3s"),
})
const ProviderEntry = z.strictObject({
  aesgcm: Keys.optional(),
  aescbc: Keys.optional(),
  secretbox: Keys.optional(),
  identity: z.strictObject({}).optional(),
  kms: Kms.optional(),
})
const EncryptionConfiguration = z.strictObject({
  kind: z.literal("EncryptionConfiguration"),
  apiVersion: z.literal("apiserver.config.k8s.io/v1"),
  resources: z
    .array(
      z.strictObject({ resources: z.array(z.string()).default([]), providers: z.array(ProviderEntry).default([]) }),
    )
    .default([]),
})
export type EncryptionConfiguration = z.output<typeof EncryptionConfiguration>
export type ProviderEntry = z.output<typeof ProviderEntry>
export type KmsConfiguration = z.output<typeof Kms>
export type NamedKey = z.output<typeof Key>

const AES_KEY_BYTES = [16, 24, 32]
const SECRETBOX_KEY_BYTES = [32]

/**
 * Reads a configuration in YAML or JSON. @throws Error that names the field. No message contains a key.
 * @param file for messages
 */
export function parseEncryptionConfiguration(text: string, file: string): EncryptionConfiguration {
  const cannot = (what: string, cause?: unknown) =>
    new Error(`error while parsing file: error decoding encryption provider configuration file "${file}": ${what}`, {
      cause,
    })
  if (text.trim() === "")
    throw new Error(`error while parsing file: encryption provider configuration file "${file}" is empty`)
  let value: unknown
  try {
    const parsed = parseYaml(text)
    if (parsed.duplicates.length > 0) throw new Error(parsed.duplicates.join(", "))
    value = parsed.value
  } catch (err) {
    throw cannot((err as Error).message, err)
  }
  const { success, data, error } = EncryptionConfiguration.safeParse(value)
  if (!success)
    throw cannot(error.issues.map(({ path, message }) => `${pathOf(path)}: ${message}`).join(", "), undefined)
  const problems = problemsOf(data)
  if (problems.length > 0)
    throw new Error(`error while parsing file: ${problems.length > 1 ? `[${problems.join(", ")}]` : problems[0]}`)
  return data
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === "number" ? `${text}[${part}]` : text === "" ? String(part) : `${text}.${String(part)}`,
    "",
  ) || "configuration"

const required = (path: string, detail: string): string => `${path}: Required value: ${detail}`
const invalid = (path: string, value: unknown, detail: string): string =>
  `${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`

function problemsOf({ resources }: EncryptionConfiguration): readonly string[] {
  if (resources.length === 0) return [required("resources", "at least one resources is required")]
  const kmsNames = new Set<string>()
  return resources.flatMap(({ resources: names, providers }, i) => {
    const [r, p] = [`resources[${i}].resources`, `resources[${i}].providers`]
    return [
      ...(names.length === 0 ? [required(r, `at least one ${r} is required`)] : []),
      ...overlaps(names, r),
      ...names.flatMap((name, j) => resourceProblem(name, `${r}[${j}]`) ?? []),
      ...(providers.length === 0 ? [required(p, `at least one ${p} is required`)] : []),
      ...providers.flatMap((provider, j) => providerProblems(provider, `${p}[${j}]`, kmsNames)),
    ]
  })
}

/** A kind as the file names it: `secrets`, `pandas.example.com`, `*.apps`, `*.` for the core group, `*.*`. */
export function groupResourceOf(name: string): { readonly group: string; readonly resource: string } {
  const dot = name.indexOf(".")
  return dot < 0 ? { group: "", resource: name } : { group: name.slice(dot + 1), resource: name.slice(0, dot) }
}

function overlaps(names: readonly string[], path: string): readonly string[] {
  const all = names.map(groupResourceOf)
  const isOverlap = all.some((one, i) =>
    all.some(
      (other, j) =>
        i !== j &&
        !(one.group === other.group && one.resource === other.resource) &&
        ((one.group === "*" && one.resource === "*") ||
          (one.group === other.group && (one.resource === "*" || other.resource === "*"))),
    ),
  )
  const overlapping =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"
  return [
    ...(new Set(names).size < names.length
      ? [invalid(path, names, "the same resource cannot be specified multiple times")]
      : []),
    ...(isOverlap ? [invalid(path, names, overlapping)] : []),
  ]
}

const WITHOUT_API = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"]

function resourceProblem(name: string, path: string): string | undefined {
  const { group, resource } = groupResourceOf(name)
  if (name.toLowerCase() !== name) return invalid(path, name, "resource name should not contain capital letters")
  if (name === "*")
    return invalid(
      path,
      name,
      "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
    )
  if (WITHOUT_API.includes(name))
    return invalid(path, name, "resources which do not have REST API/s cannot be encrypted")
  if (group === "events.k8s.io")
    return invalid(
      path,
      name,
      "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
    )
  if (group === "extensions")
    return invalid(path, name, "'extensions' group has been removed and cannot be used for encryption")
  if (group === "*" && resource !== "*")
    return invalid(path, name, "encrypting the same resource across groups is not supported")
  return undefined
}

function providerProblems(provider: ProviderEntry, path: string, kmsNames: Set<string>): readonly string[] {
  const { kms, aesgcm, aescbc, secretbox } = provider
  const count = Object.values(provider).filter((one) => one !== undefined).length
  if (count === 0)
    return [
      invalid(
        path,
        {},
        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
      ),
    ]
  if (count > 1)
    return [
      invalid(
        path,
        Object.keys(provider),
        "more than one provider specified in a single element, should split into different list elements",
      ),
    ]
  if (kms !== undefined) return kmsProblems(kms, `${path}.kms`, kmsNames)
  if (aesgcm !== undefined) return keyProblems(aesgcm.keys, `${path}.aesgcm.keys`, AES_KEY_BYTES)
  if (aescbc !== undefined) return keyProblems(aescbc.keys, `${path}.aescbc.keys`, AES_KEY_BYTES)
  return secretbox === undefined ? [] : keyProblems(secretbox.keys, `${path}.secretbox.keys`, SECRETBOX_KEY_BYTES)
}

function keyProblems(keys: readonly NamedKey[], path: string, sizes: readonly number[]): readonly string[] {
  if (keys.length === 0) return [required(path, "at least one keys is required")]
  return keys.flatMap(({ name, secret }, i) => [
    ...(name === "" ? [required(`${path}[${i}].name`, "name is a mandatory field for a key")] : []),
    ...(secretProblem(secret, `${path}[${i}].secret`, sizes) ?? []),
  ])
}

function secretProblem(secret: string, path: string, sizes: readonly number[]): readonly string[] | undefined {
  if (secret === "") return [required(path, "secret is a mandatory field for a key")]
  const bytes = secretBytes(secret)
  if (bytes === undefined) return [invalid(path, "REDACTED", "secrets must be base64 encoded")]
  if (sizes.includes(bytes.length)) return undefined
  const expected = `[${sizes.join(" ")}]`
  return [
    invalid(path, "REDACTED", `secret is not of the expected length, got ${bytes.length}, expected one of ${expected}`),
  ]
}

/** The bytes of a key; undefined where the text is not base64. */
export function secretBytes(secret: string): Buffer | undefined {
  const text = secret.replace(/[\r\n]/g, "")
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  return Buffer.from(text, "base64")
}

function kmsProblems(kms: KmsConfiguration, path: string, names: Set<string>): readonly string[] {
  const { name, timeout, endpoint, cachesize, apiVersion } = kms
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1]?.toLowerCase() ?? ""
  const problems = [
    ...(name === "" ? [required(`${path}.name`, "name is a mandatory field for a provider")] : []),
    ...(name.includes(":")
      ? [invalid(`${path}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`)]
      : []),
    ...(names.has(name)
      ? [invalid(`${path}.name`, name, `duplicate KMS provider name ${name}, names must be unique`)]
      : []),
    ...((parseDuration(timeout) ?? 0) <= 0
      ? [invalid(`${path}.timeout`, timeout, "timeout should be a positive value")]
      : []),
    ...(endpoint === ""
      ? [invalid(`${path}.endpoint`, "", "endpoint is a mandatory field for a kms")]
      : scheme === "unix"
        ? []
        : [
            invalid(
              `${path}.endpoint`,
              endpoint,
              `unsupported scheme "${scheme}" for KMS provider, only unix is supported`,
            ),
          ]),
    ...(apiVersion !== "v1" && cachesize !== undefined
      ? [invalid(`${path}.cachesize`, cachesize, "cachesize is not supported in v2")]
      : []),
    ...(apiVersion === "v1" || apiVersion === "v2"
      ? []
      : [
          invalid(
            `${path}.apiVersion`,
            apiVersion,
            "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
          ),
        ]),
  ]
  names.add(name)
  return problems
}
