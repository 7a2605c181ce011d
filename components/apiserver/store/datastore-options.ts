import { readFileSync } from "node:fs"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { EtcdOptions } from "../../../pkg/etcd/connection.ts"
import { parsePostgresUrl } from "../../../pkg/postgres/endpoint.ts"
import type { PostgresOptions } from "../../../pkg/postgres/session.ts"
import type { DatastoreConfig } from "./storage-config.ts"

/** How the store that servers share is reached: one of the two is there. */
export type DatastoreOptions = { readonly etcd: EtcdOptions } | { readonly postgres: PostgresOptions }

/** Reads the files by which the store and this server know each other. @throws Error that names the file */
export function datastoreOptions({ endpoints, explain, ...files }: DatastoreConfig, clock: Clock): DatastoreOptions {
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, "utf8"))
  const tls = { caPem: read(files.caFile), certPem: read(files.certFile), keyPem: read(files.keyFile) }
  const servers = endpoints.map(parsePostgresUrl).filter((server) => server !== undefined)
  return servers.length > 0
    ? { postgres: { endpoints: servers, tls, clock } }
    : { etcd: { endpoints, tls, clock, explain } }
}
