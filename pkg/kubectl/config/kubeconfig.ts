import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { base64Fault } from "./base64.ts"
import { CLUSTER_FIELDS, CONTEXT_FIELDS, USER_FIELDS, type Fields } from "./fields.ts"
import { parseYaml } from "../../yaml/yaml.ts"

/** A cluster of a kubeconfig. Source of the fields: client-go tools/clientcmd/api/v1/types.go. */
export interface Cluster {
  server?: string
  "tls-server-name"?: string
  "insecure-skip-tls-verify"?: boolean
  "certificate-authority"?: string
  /** Base64. */
  "certificate-authority-data"?: string
  "proxy-url"?: string
  "disable-compression"?: boolean
  extensions?: readonly NamedExtension[]
}

export interface NamedExtension {
  readonly name: string
  readonly extension: unknown
}

/** A user of a kubeconfig. */
export interface AuthInfo {
  "client-certificate"?: string
  "client-certificate-data"?: string
  "client-key"?: string
  "client-key-data"?: string
  token?: string
  tokenFile?: string
  as?: string
  "as-uid"?: string
  "as-groups"?: readonly string[]
  "as-user-extra"?: Readonly<Record<string, readonly string[]>>
  username?: string
  password?: string
  "auth-provider"?: { readonly name: string; readonly config?: Readonly<Record<string, string>> }
  exec?: ExecConfig
  extensions?: readonly NamedExtension[]
}

/** How a program gives the credentials of a user. */
export interface ExecConfig {
  readonly command: string
  readonly args?: readonly string[] | null
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null
  readonly apiVersion?: string
  readonly installHint?: string
  readonly provideClusterInfo?: boolean
  readonly interactiveMode?: string
}

export interface Context {
  cluster?: string
  user?: string
  namespace?: string
  extensions?: readonly NamedExtension[]
}

/** One kubeconfig, or several merged, with its entries by name. */
export interface Kubeconfig {
  clusters: Map<string, Cluster>
  users: Map<string, AuthInfo>
  contexts: Map<string, Context>
  currentContext: string
  preferences: Readonly<Record<string, unknown>>
  extensions: readonly NamedExtension[]
  /** The file that each entry comes from, by the entry itself. */
  origins: Map<object, string>
}

export const emptyKubeconfig = (): Kubeconfig => ({
  clusters: new Map(),
  users: new Map(),
  contexts: new Map(),
  currentContext: "",
  preferences: {},
  extensions: [],
  origins: new Map(),
})

/** Reads the text of a kubeconfig. @throws Error in the words of client-go's decoder */
export function parseKubeconfig(text: string): Kubeconfig {
  const config = emptyKubeconfig()
  if (text.trim() === "") return config
  let value: unknown
  try {
    ;({ value } = parseYaml(text))
  } catch (err) {
    throw new Error(`yaml: ${(err as Error).message.replace(/^yaml: /, "")}`, { cause: err })
  }
  if (!isJsonObject(value))
    throw new Error(`couldn't get version/kind; json parse error: ${notAnObject(value).message}`)
  const { kind = "Config", apiVersion = "v1" } = value
  if (kind !== "Config" || apiVersion !== "v1")
    throw new Error(
      `no kind ${goQuoted(String(kind))} is registered for version ${goQuoted(String(apiVersion))} in scheme "k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50"`,
    )
  for (const [name, cluster] of named(value["clusters"], "clusters", "cluster"))
    config.clusters.set(name, cluster as Cluster)
  for (const [name, user] of named(value["users"], "users", "user"))
    config.users.set(name, withDefaults(user as AuthInfo))
  for (const [name, context] of named(value["contexts"], "contexts", "context"))
    config.contexts.set(name, context as Context)
  config.currentContext = String(value["current-context"] ?? "")
  if (isJsonObject(value["preferences"])) config.preferences = value["preferences"]
  config.extensions = (value["extensions"] ?? []) as readonly NamedExtension[]
  return config
}

const BETA = "client.authentication.k8s.io/v1beta1"

/** Programs of v1beta1 may ask the user. Source: client-go tools/clientcmd/api/v1/defaults.go. */
const withDefaults = (user: AuthInfo): AuthInfo =>
  user.exec?.apiVersion === BETA && (user.exec.interactiveMode ?? "") === ""
    ? { ...user, exec: { ...user.exec, interactiveMode: "IfAvailable" } }
    : user

/** The entries of a list by name; of two with one name the first counts. */
function named(list: unknown, field: string, key: string): Map<string, object> {
  const entries = new Map<string, object>()
  if (list === undefined || list === null) return entries
  if (!Array.isArray(list))
    throw new Error(
      `json: cannot unmarshal ${jsonType(list)} into Go struct field Config.${field} of type []v1.Named${structOf(key)}`,
    )
  for (const item of list as readonly unknown[]) {
    const record = isJsonObject(item) ? item : {}
    const { name = "" } = record
    if (typeof name !== "string") throw wrongType(name, `Named${structOf(key)}.${field}.name`, "string")
    checkFields(record[key], FIELDS[field]!, `${structOf(key)}.${field}.${key}`)
    if (!entries.has(name)) entries.set(name, { ...(record[key] as object | null | undefined) })
  }
  return entries
}

/** The error of a document that has neither a version nor a kind. */
export const notAnObject = (value: unknown): Error =>
  new Error(
    `json: cannot unmarshal ${jsonType(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  )

const structOf = (key: string): string => (key === "user" ? "AuthInfo" : key[0]!.toUpperCase() + key.slice(1))

const FIELDS: Readonly<Record<string, Fields>> = {
  clusters: CLUSTER_FIELDS,
  users: USER_FIELDS,
  contexts: CONTEXT_FIELDS,
}

const wrongType = (value: unknown, field: string, type: string): Error =>
  new Error(`json: cannot unmarshal ${jsonType(value)} into Go struct field ${field} of type ${type}`)

/** @throws Error for a field whose value has not the type that it has in Go */
function checkFields(entry: unknown, fields: Fields, path: string): void {
  if (!isJsonObject(entry)) return
  for (const [name, form] of Object.entries(fields)) {
    const value = entry[name]
    if (value === undefined || value === null) continue
    if (form === "text" && typeof value !== "string") throw wrongType(value, `${path}.${name}`, "string")
    if (form === "bool" && typeof value !== "boolean") throw wrongType(value, `${path}.${name}`, "bool")
    if (form === "data") {
      if (typeof value !== "string") throw wrongType(value, `${path}.${name}`, "[]uint8")
      const fault = base64Fault(value)
      if (fault !== undefined) throw new Error(`illegal base64 data at input byte ${fault}`)
    }
    if (typeof form === "object") checkFields(value, form, `${path}.${name}`)
  }
}

const jsonType = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : typeof value === "boolean"
        ? "bool"
        : typeof value === "object"
          ? "object"
          : typeof value
