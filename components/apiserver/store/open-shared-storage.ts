import { isOpenToReaders } from "../../../pkg/postgres/endpoint.ts"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { ReplicatedStorage, type ReplicatedStorageOptions } from "../../../pkg/storage/replicated/replicated.ts"
import { SharedLogError, type SharedLog } from "../../../pkg/storage/replicated/shared-log.ts"
import { StorageError } from "../../../pkg/storage/storage.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import { datastoreOptions } from "./datastore-options.ts"
import type { MeteredTools, OpenEncryption } from "../encryption/open-encryption.ts"
import { listenerErrorLog, problemLog } from "./log-store-problem.ts"
import { parseStored } from "./parse-stored.ts"
import { withSharedCell } from "./shared-cell.ts"
import type { DatastoreConfig, OpenedStorage, StorageConfig } from "./storage-config.ts"

/** How often a store that cannot be reached is tried at a start, and at which intervals. */
const ATTEMPTS = 30
const ATTEMPT_INTERVAL_MS = 1000

/**
 * Opens the store that several servers share. Waits for it for half a minute, because it may be starting too.
 * @throws StorageError unavailable; Error that names a file or a flag; the reason of `signal`
 */
export async function openSharedStorage(
  datastore: DatastoreConfig,
  tools: MeteredTools,
  config: StorageConfig & { readonly dir: string | undefined },
  signal?: AbortSignal,
): Promise<OpenedStorage> {
  const { clock, log } = tools
  const { frozen = false, encryption } = config
  const { endpoints, openLog } = await sharedLogOf(datastore, clock)
  const agree = agreement(datastore, encryption?.file, clock)
  const encrypting = await sharedEncryption(encryption, tools, agree)
  const open = async () =>
    ReplicatedStorage.open({
      log: await openLog(),
      clock,
      frozen,
      parse: parseStored,
      transformer: encrypting?.transformer,
      onProblem: problemLog(log),
      onListenerError: listenerErrorLog(log),
      history: historyOf(config, log),
    })
  const names = endpoints.map(({ name }) => name)
  for (const { name, isOpen } of endpoints)
    if (isOpen) log.warn("Others on the network can read the data that go to the store", { endpoint: name })
  for (let attempt = 1; ; attempt++) {
    try {
      const storage = await open()
      await agree(encrypting?.text).catch((err: unknown) => {
        storage.close()
        throw err
      })
      encrypting?.follow()
      return { storage, encryption: undefined, stop: async () => encrypting?.stop() }
    } catch (err) {
      const isAway = (err instanceof StorageError || err instanceof SharedLogError) && err.code === "unavailable"
      if (!isAway || attempt === ATTEMPTS) throw err
      if (attempt === 1) log.warn("Waiting for the store", { endpoints: names, error: err.message })
      await sleep(clock, ATTEMPT_INTERVAL_MS, signal)
    }
  }
}

const HISTORY = join("db", "history.db")
const HISTORY_BYTES = 128 * 2 ** 20
const HISTORY_MS = 3_600_000

/** Returns where this server keeps earlier states; undefined where the history is off, or there is no folder for it. */
function historyOf(
  { dir, historyBytes = HISTORY_BYTES, historyMs = HISTORY_MS }: StorageConfig & { readonly dir: string | undefined },
  log: MeteredTools["log"],
): ReplicatedStorageOptions["history"] {
  if (dir === undefined || historyMs === 0) return undefined
  const file = join(dir, HISTORY)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return {
    file,
    maxBytes: historyBytes,
    maxAgeMs: historyMs,
    isTransient: (key) => key.startsWith(Lease.prefix),
    failed: (err) => log.error("The history cannot be kept, and begins anew", { file, error: errorMessage(err) }),
  }
}

interface SharedLogOpener {
  /** Names without passwords, and whether others on the network can read what goes there. */
  readonly endpoints: readonly { readonly name: string; readonly isOpen: boolean }[]
  /** @throws SharedLogError unavailable */
  openLog(): Promise<SharedLog>
}

/** Loads the client of the kind of store that is configured. @throws Error that names the file */
async function sharedLogOf(datastore: DatastoreConfig, clock: Clock): Promise<SharedLogOpener> {
  const options = datastoreOptions(datastore, clock)
  if ("postgres" in options) {
    const { PostgresLog } = await import("../../../pkg/storage/replicated/postgres/postgres-log.ts")
    return {
      endpoints: options.postgres.endpoints.map((server) => ({ name: server.name, isOpen: isOpenToReaders(server) })),
      openLog: () => Promise.resolve(new PostgresLog(options.postgres)),
    }
  }
  const { EtcdLog } = await import("../../../pkg/storage/replicated/etcd/etcd-log.ts")
  return {
    endpoints: options.etcd.endpoints.map((name) => ({ name, isOpen: isPlainHttp(name) })),
    openLog: () => EtcdLog.open(options.etcd),
  }
}

/**
 * Returns what encrypts values. All servers must read what each of them has written, so the keys come from a file that
 * the administrator gives to all of them. @throws Error for keys that this server would make for itself, and for KMS
 */
async function sharedEncryption(
  config: StorageConfig["encryption"],
  tools: MeteredTools,
  agree: (text: string) => Promise<void>,
): Promise<(OpenEncryption & { readonly text: string }) | undefined> {
  if (config?.secrets === true) {
    const { ownKeysAreNotShared } = await import("../encryption/refusals.ts")
    throw ownKeysAreNotShared()
  }
  if (config?.file === undefined) return undefined
  const { openSharedEncryption, metered } = await import("../encryption/open-encryption.ts")
  return openSharedEncryption({ ...config, file: config.file }, metered(tools), agree)
}

/** Returns what compares a configuration, or none, with that of the servers which share the store. */
const agreement =
  (datastore: DatastoreConfig, file = "", clock: Clock) =>
  async (text: string | undefined): Promise<void> => {
    const { agreeOnEncryption, ENCRYPTION_KEY, readersOf } = await import("../encryption/agreement.ts")
    await withSharedCell(datastore, ENCRYPTION_KEY, clock, (cell) => agreeOnEncryption(cell, readersOf(text, file)))
  }

/** Whether others on the network can read what goes to this endpoint. */
function isPlainHttp(endpoint: string): boolean {
  const { protocol, hostname } = new URL(endpoint)
  return protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)
}
