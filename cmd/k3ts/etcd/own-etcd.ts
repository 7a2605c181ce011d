import { join } from "node:path"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { etcdTlsFiles } from "../../../components/etcd/certificates.ts"
import { ETCD_PORTS, localUrl } from "../../../components/etcd/etcd-config.ts"
import { explainEtcd } from "../../../components/etcd/health.ts"
import { hasEtcdData } from "./flags.ts"

export const etcdTlsFolder = (dataDir: string): string => join(dataDir, "server/tls/etcd")

/** Returns how a server reaches the etcd beside it. */
export function besideEtcd(dataDir: string): DatastoreConfig {
  const { serverCa: caFile, client } = etcdTlsFiles(etcdTlsFolder(dataDir))
  return { endpoints: [localUrl({ ports: ETCD_PORTS })], caFile, ...client, explain: explainEtcd }
}

/** The same, or undefined where the server of a data directory runs none. */
export const ownEtcd = (dataDir: string): DatastoreConfig | undefined =>
  hasEtcdData(dataDir) ? besideEtcd(dataDir) : undefined
