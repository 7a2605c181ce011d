import { EtcdLog } from "../../pkg/storage/replicated/etcd/etcd-log.ts"
import { ReplicatedStorage } from "../../pkg/storage/replicated/replicated.ts"
import { StorageError } from "../../pkg/storage/storage.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import type { EncryptionTools } from "./encryption/encryption-tools.ts"
import { etcdTlsOf } from "./etcd-tls.ts"
import { problemLog } from "./log-store-problem.ts"
import { parseStored } from "./parse-stored.ts"
import type { DatastoreConfig, OpenedStorage, StorageConfig } from "./storage-config.ts"

/** How often a store that cannot be reached is tried at a start, and at which intervals. */
const ATTEMPTS = 30
const ATTEMPT_INTERVAL_MS = 1000

/**
 * Opens the store that several servers share. Waits for it for half a minute, because etcd may be starting too.
 * @throws StorageError unavailable; Error that names a file or a flag
 */
export async function openSharedStorage(
  datastore: DatastoreConfig,
  tools: EncryptionTools,
  { frozen = false, encryption }: StorageConfig,
): Promise<OpenedStorage> {
  const { clock, log } = tools
  const { endpoints } = datastore
  const tls = etcdTlsOf(datastore)
  const transformer = await sharedTransformer(encryption, tools)
  const open = () =>
    ReplicatedStorage.open({
      log: new EtcdLog({ endpoints, tls, clock }),
      clock,
      frozen,
      parse: parseStored,
      transformer,
      onProblem: problemLog(log),
    })
  for (const endpoint of endpoints)
    if (isOpenToReaders(endpoint)) log.warn("Everything in the store can be read on the way to it", { endpoint })
  for (let attempt = 1; ; attempt++) {
    try {
      return { storage: await open(), encryption: undefined, stop: () => Promise.resolve() }
    } catch (err) {
      if (!(err instanceof StorageError && err.code === "unavailable") || attempt === ATTEMPTS) throw err
      if (attempt === 1) log.warn("Waiting for the store", { endpoints, error: err.message })
      await sleep(clock, ATTEMPT_INTERVAL_MS)
    }
  }
}

/**
 * Returns what encrypts values. All servers must read what each of them has written, so the keys come from a file that
 * the administrator gives to all of them. @throws Error for keys that this server would make for itself, and for KMS
 */
async function sharedTransformer(config: StorageConfig["encryption"], tools: EncryptionTools) {
  if (config?.secrets === true)
    throw new Error(
      "Cannot use --secrets-encryption with --datastore-endpoint: its keys are this server's own. Give every server " +
        "the same --encryption-provider-config instead",
    )
  if (config?.file === undefined) return undefined
  const { loadSharedEncryption } = await import("./encryption/load.ts")
  return loadSharedEncryption(config.file, tools)
}

/** Whether others on the network can read what goes to this endpoint. */
function isOpenToReaders(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint)
  return protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)
}
