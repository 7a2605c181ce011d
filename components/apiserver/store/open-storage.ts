import type { EncryptionConfig } from "../encryption/load.ts"
import type { MeteredTools, OpenEncryption } from "../encryption/open-encryption.ts"
import { ownConfigurationFile } from "../encryption/credential-files.ts"
import type { KmsPlugin } from "../encryption/kms/plugin.ts"
import type { SecretsEncryption } from "../encryption/secrets-encryption.ts"
import { existsSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import type { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import { DATABASE } from "./database-file.ts"
import { listenerErrorLog, problemLog } from "./log-store-problem.ts"
import { parseStored } from "./parse-stored.ts"
import type { OpenedStorage, StorageConfig } from "./storage-config.ts"

const NOTHING_ENCRYPTED: EncryptionConfig = { secrets: false, provider: "secretbox" }

/**
 * Opens the store that servers share, or else the one below `dir` (`<data-dir>/server`), or one in memory without it.
 * SQLite is loaded only when it is used, because test clusters do not need it. `signal` ends the wait for a shared
 * store.
 * @throws StorageError as SqliteStorage does, or unavailable for a store that is shared
 */
export async function openStorage(
  dir: string | undefined,
  tools: MeteredTools,
  storageConfig: StorageConfig,
  signal?: AbortSignal,
): Promise<OpenedStorage> {
  const { clock, log } = tools
  const {
    frozen = false,
    historyBytes,
    acceptDataLoss,
    unsafeNoFsync,
    encryption: config = NOTHING_ENCRYPTED,
  } = storageConfig
  if (storageConfig.datastore !== undefined)
    return (await import("./open-shared-storage.ts")).openSharedStorage(
      storageConfig.datastore,
      tools,
      { ...storageConfig, dir },
      signal,
    )
  if (dir === undefined)
    return { storage: new MemoryStorage({ clock, frozen }), encryption: undefined, stop: () => Promise.resolve() }
  const { SqliteStorage } = await import("../../../pkg/storage/sqlite/sqlite.ts")
  const file = join(dir, DATABASE)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const onProblem = problemLog(log)
  const isEncrypted = config.secrets || config.file !== undefined || existsSync(ownConfigurationFile(dir))
  const learn = (plugins: readonly KmsPlugin[]) => learnKeys(store, plugins)
  const encrypting = isEncrypted ? await openEncryption(dir, config, tools, learn) : undefined
  const store: SqliteStorage = await orStop(
    encrypting,
    () =>
      new SqliteStorage({
        file,
        transformer: encrypting?.transformer,
        parse: parseStored,
        evidence: clusterStateIn(dir),
        acceptLoss: acceptDataLoss,
        unsafeNoFsync,
        clock,
        frozen,
        onProblem,
        onListenerError: listenerErrorLog(log),
        ...(historyBytes === undefined ? {} : { historyBytes }),
      }),
  )
  if (encrypting !== undefined) await learn(encrypting.plugins())
  const { failures: unreadable, someStale } = store.openSealed()
  if (unreadable.length > 0)
    log.error("Stored objects cannot be decrypted; check the keys, all other objects are served", {
      objects: unreadable.length,
      first: unreadable[0]!.message,
    })
  let opened: Promise<SecretsEncryption> | undefined
  const encryption = async (): Promise<SecretsEncryption> => {
    const { SecretsEncryption } = await import("../encryption/secrets-encryption.ts")
    const { metered } = await import("../encryption/open-encryption.ts")
    return new SecretsEncryption({ ...metered(tools), dir, config, store, someStale })
  }
  const once = () => (opened ??= encryption())
  if (isEncrypted) await once()
  encrypting?.follow()
  return {
    storage: store,
    encryption: once,
    ...(encrypting?.hasPlugins === true ? { kmsProblem: () => problemOf(encrypting.plugins()) } : {}),
    async stop() {
      await (await opened)?.close()
      await encrypting?.stop()
    },
  }
}

async function openEncryption(
  dir: string,
  config: EncryptionConfig,
  tools: MeteredTools,
  learn: (plugins: readonly KmsPlugin[]) => Promise<void>,
): Promise<OpenEncryption> {
  const { openEncryption: open, metered } = await import("../encryption/open-encryption.ts")
  return open(dir, config, metered(tools), learn)
}

/** Stops what goes on for the encryption when `open` throws: plugins would be asked for ever. */
async function orStop<T>(encrypting: OpenEncryption | undefined, open: () => T): Promise<T> {
  try {
    return open()
  } catch (err) {
    await encrypting?.stop()
    throw err
  }
}

/** Has the plugins decrypt the keys of all values on the disk, since reading them is synchronous. */
async function learnKeys(store: SqliteStorage, plugins: readonly KmsPlugin[]): Promise<void> {
  if (plugins.length === 0) return
  for (const value of store.sealedValues()) for (const plugin of plugins) plugin.note(value)
  await Promise.all(plugins.map((plugin) => plugin.learn()))
}

/** As upstream's check `kms-providers` words it. */
const problemOf = (plugins: readonly KmsPlugin[]): string | undefined => {
  const problems = plugins.flatMap(({ problem }, i) => (problem === undefined ? [] : `kms-provider-${i}: ${problem}`))
  return problems.length === 0 ? undefined : problems.join(", ")
}

/** Returns a file which shows that a server has run here. A server makes its database before any of these files. */
const clusterStateIn = (dir: string): string | undefined =>
  ["tls/service.key", "tls/serving-kube-apiserver.crt", "token"].map((name) => join(dir, name)).find(existsSync)
