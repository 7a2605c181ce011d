import type { Clock } from "../../pkg/clock/clock.ts"
import { EtcdConnection } from "../../pkg/etcd/connection.ts"
import { readIfExists } from "../../pkg/files/files.ts"
import { etcdTlsFiles } from "./certificates.ts"
import { localUrl, type EtcdConfig } from "./etcd-config.ts"

/** Returns a connection to members, by default to the one of this server. The caller closes it. */
export function connectEtcd(
  config: EtcdConfig,
  clock: Clock,
  endpoints: readonly string[] = [localUrl(config)],
): EtcdConnection {
  const { serverCa, client } = etcdTlsFiles(config.tlsFolder)
  const [caPem, certPem, keyPem] = [serverCa, client.certFile, client.keyFile].map(readIfExists)
  return new EtcdConnection({ endpoints, tls: { caPem, certPem, keyPem }, clock })
}
