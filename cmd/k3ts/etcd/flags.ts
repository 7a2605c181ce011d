import { existsSync } from "node:fs"
import { join } from "node:path"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import { FILLING } from "../../../components/etcd/member-state.ts"
import { boolean, value } from "../cli/flags.ts"
import { reading } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { filePath } from "../cli/values.ts"

/** `https://host:port`; as in any URL the port is 443 where none is named. */
export const serverAddress = reading((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" && url.pathname === "/" && url.search === "" && url.username === ""
    ? `https://${url.hostname}:${url.port === "" ? "443" : url.port}`
    : undefined
}, "must be https://HOST:PORT")

/** Names as in k3s. */
export const etcdFlags = {
  "cluster-init": boolean("Keep the data in an etcd that runs beside this server, so that further servers can join"),
  server: value(
    serverAddress.optional(),
    "Address of a server of the cluster that this one joins as a further server",
    {
      short: "s",
      variables: ["K3TS_URL"],
      placeholder: "URL",
      defaultText: "none: this server has a cluster of its own",
    },
  ),
  "cluster-reset": boolean("Make this server's etcd a cluster of one member again, and exit"),
  "cluster-reset-restore-path": value(filePath.optional(), "Snapshot that --cluster-reset restores", {
    placeholder: "FILE",
    path: true,
  }),
}

interface EtcdFlags {
  readonly "data-dir": string
  readonly "datastore-endpoint": readonly string[] | undefined
  readonly "cluster-init": boolean
  readonly server: string | undefined
  readonly "cluster-reset": boolean
  readonly "cluster-reset-restore-path": string | undefined
}

export const etcdFolder = (dataDir: string): string => join(dataDir, "server/db/etcd")

/**
 * Whether the data of a directory are in the etcd beside its server. While a database is moved to etcd, they are in the
 * database until the end: a move that was killed half way counts for nothing.
 */
export const hasEtcdData = (dataDir: string): boolean =>
  existsSync(etcdFolder(dataDir)) &&
  !(existsSync(join(etcdFolder(dataDir), FILLING)) && existsSync(databaseFile(dataDir)))

/** Whether this server runs an etcd of its own: it is to, or did so before. @throws UsageError for flags that exclude each other */
export function runsEtcd(flags: EtcdFlags): boolean {
  const wanted = (["cluster-init", "server", "cluster-reset"] as const).filter(
    (name) => flags[name] !== undefined && flags[name] !== false,
  )
  if (flags["cluster-reset-restore-path"] !== undefined && !flags["cluster-reset"])
    throw new UsageError("--cluster-reset-restore-path needs --cluster-reset")
  if (wanted.length > 1)
    throw new UsageError(`--${wanted[0]} and --${wanted[1]} exclude each other: the first server begins, others join`)
  if (flags["datastore-endpoint"] === undefined) return wanted.length > 0 || hasEtcdData(flags["data-dir"])
  if (wanted.length > 0)
    throw new UsageError(`--${wanted[0]} is for an etcd of our own; leave it out, or leave --datastore-endpoint out`)
  return false
}
