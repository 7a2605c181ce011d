/**
 * The fields of a kubeconfig in the order in which JSON has them, with the form of their values. Source: client-go
 * tools/clientcmd/api/v1/types.go.
 */
export type FieldForm = "text" | "bool" | "data" | "texts" | "map" | Fields

export interface Fields {
  readonly [field: string]: FieldForm
}

const EXTENSIONS = "map"

export const CLUSTER_FIELDS: Fields = {
  server: "text",
  "tls-server-name": "text",
  "insecure-skip-tls-verify": "bool",
  "certificate-authority": "text",
  "certificate-authority-data": "data",
  "proxy-url": "text",
  "disable-compression": "bool",
  extensions: EXTENSIONS,
}

export const USER_FIELDS: Fields = {
  "client-certificate": "text",
  "client-certificate-data": "data",
  "client-key": "text",
  "client-key-data": "data",
  token: "text",
  tokenFile: "text",
  as: "text",
  "as-uid": "text",
  "as-groups": "texts",
  "as-user-extra": "map",
  username: "text",
  password: "text",
  "auth-provider": { name: "text", config: "map" },
  exec: {
    command: "text",
    args: "texts",
    env: "texts",
    apiVersion: "text",
    installHint: "text",
    provideClusterInfo: "bool",
    interactiveMode: "text",
  },
  extensions: EXTENSIONS,
}

export const CONTEXT_FIELDS: Fields = { cluster: "text", user: "text", namespace: "text", extensions: EXTENSIONS }

/** Fields that are written even if they are empty, and with which value. */
const ALWAYS: Readonly<Record<string, unknown>> = { server: "", cluster: "", user: "" }
const ALWAYS_IN_EXEC: Readonly<Record<string, unknown>> = {
  command: "",
  args: null,
  env: null,
  provideClusterInfo: false,
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === false ||
  (typeof value === "object" && Object.keys(value).length === 0)

/** Returns an entry with its known fields in order, and without those that are empty. */
export function inOrder(entry: object, fields: Fields): Readonly<Record<string, unknown>> {
  const record = entry as Readonly<Record<string, unknown>>
  const always = fields === USER_FIELDS["exec"] ? ALWAYS_IN_EXEC : ALWAYS
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, form]) => {
      const value = record[name]
      if (isEmpty(value)) return name in always ? [[name, value ?? always[name]]] : []
      // Base64 may be in several lines, which Go reads and writes as one.
      if (form === "data") return [[name, String(value).replaceAll(/[\r\n]/g, "")]]
      return [[name, typeof form === "object" ? inOrder(value as object, form) : value]]
    }),
  )
}
