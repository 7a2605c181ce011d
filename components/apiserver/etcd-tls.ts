import { readFileSync } from "node:fs"
import type { EtcdTls } from "../../pkg/etcd/connection.ts"
import type { DatastoreConfig } from "./storage-config.ts"

/** Reads the files by which an etcd and this server know each other. @throws Error that names the file */
export function etcdTlsOf({ caFile, certFile, keyFile }: DatastoreConfig): EtcdTls {
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, "utf8"))
  return { caPem: read(caFile), certPem: read(certFile), keyPem: read(keyFile) }
}
