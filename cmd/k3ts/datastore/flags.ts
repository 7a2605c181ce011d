import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { parsePostgresUrl, splitPostgresUrls } from "../../../pkg/postgres/endpoint.ts"
import { value } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import { reading } from "../cli/flag-type.ts"
import { fileToRead } from "../cli/values.ts"

const WHAT =
  "must be URLs of an etcd, as in https://192.0.2.1:2379,https://192.0.2.2:2379, or of a PostgreSQL server, as in " +
  "postgres://user:password@host/database, where sslmode may be verify-full or disable"

/** `https://192.0.2.1:2379,https://192.0.2.2:2379`, `postgres://user:password@host,host/database`: URLs of one host each. */
const endpoints = reading((text): readonly string[] | undefined => {
  const ofPostgres = splitPostgresUrls(text)
  if (ofPostgres.every((one) => parsePostgresUrl(one) !== undefined)) return ofPostgres
  const ofEtcd = text.split(",").map((one) => one.trim())
  return ofEtcd.every(isEndpoint) ? ofEtcd : undefined
}, WHAT)

function isEndpoint(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, search, hash, username, password } = new URL(text)
  const isPlain = (pathname === "" || pathname === "/") && `${search}${hash}${username}${password}` === ""
  return (protocol === "https:" || protocol === "http:") && hostname !== "" && isPlain
}

const fileFlag = (summary: string) => value(fileToRead.optional(), summary, { placeholder: "FILE", path: true })

/** Names as in k3s. */
export const datastoreFlags = {
  "datastore-endpoint": value(
    endpoints.optional(),
    "URLs of an etcd or a PostgreSQL that several servers share, separated by commas",
    {
      placeholder: "URL",
      defaultText: "a database in data-dir",
    },
  ),
  "datastore-cafile": fileFlag("Certificate authority of the shared store"),
  "datastore-certfile": fileFlag("Client certificate of this server for the shared store"),
  "datastore-keyfile": fileFlag("Key of that client certificate"),
}

interface DatastoreFlags {
  readonly "datastore-endpoint": readonly string[] | undefined
  readonly "datastore-cafile": string | undefined
  readonly "datastore-certfile": string | undefined
  readonly "datastore-keyfile": string | undefined
}

/** Returns where the store is that servers share; undefined for one of its own. @throws UsageError */
export function datastoreOf(flags: DatastoreFlags): DatastoreConfig | undefined {
  const [caFile, certFile, keyFile] = (["cafile", "certfile", "keyfile"] as const).map(
    (name) => flags[`datastore-${name}`],
  )
  const given = Object.entries({ caFile, certFile, keyFile }).flatMap(([name, file]) =>
    file === undefined ? [] : [name],
  )
  const list = flags["datastore-endpoint"]
  if (list === undefined) {
    if (given.length > 0)
      throw new UsageError(`--datastore-${given[0]!.toLowerCase()} needs --datastore-endpoint, which names the store`)
    return undefined
  }
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new UsageError("--datastore-certfile and --datastore-keyfile are given together")
  if (given.length > 0 && list.some((endpoint) => endpoint.startsWith("http:")))
    throw new UsageError("--datastore-endpoint with http: uses no certificates; write https:, or leave the files out")
  if (given.length > 0 && list.some((endpoint) => parsePostgresUrl(endpoint)?.isSecure === false))
    throw new UsageError(
      "--datastore-endpoint with this postgres: URL uses no certificates; add ?sslmode=verify-full, " +
        "or leave the files out",
    )
  return { endpoints: list, caFile, certFile, keyFile }
}
