import type { EncryptionConfig } from "../encryption/load.ts"
import type { EncryptionTools } from "../encryption/encryption-tools.ts"
import { ownConfigurationFile } from "../encryption/credential-files.ts"
import type { KmsPlugin } from "../encryption/kms/plugin.ts"
import type { SecretsEncryption } from "../encryption/secrets-encryption.ts"
import { existsSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import type { SqliteStorage } from "../../../pkg/storage/sqlite/sqlite.ts"
import { problemLog } from "./log-store-problem.ts"
import { parseStored } from "./parse-stored.ts"
import type { OpenedStorage, StorageConfig } from "./storage-config.ts"

const DATABASE = join("db", "state.db")

/** Returns the database file of a data directory. */
export const databaseFile = (dataDir: string): string => join(dataDir, "server", DATABASE)

const NOTHING_ENCRYPTED: EncryptionConfig = { secrets: false, provider: "secretbox" }

/**
 * Opens the store that servers share, or else the one below `dir` (`<data-dir>/server`), or one in memory without it.
 * SQLite is loaded only when it is used, because test clusters do not need it.
 * @throws StorageError as SqliteStorage does, or unavailable for a store that is shared
 */
export async function openStorage(
  dir: string | undefined,
  tools: EncryptionTools,
  storageConfig: StorageConfig,
): Promise<OpenedStorage> {
  const { clock, log } = tools
  const { frozen = false, historyBytes, acceptDataLoss, encryption: config = NOTHING_ENCRYPTED } = storageConfig
  if (storageConfig.datastore !== undefined)
    return (await import("./open-shared-storage.ts")).openSharedStorage(storageConfig.datastore, tools, storageConfig)
  if (dir === undefined)
    return { storage: new MemoryStorage({ clock, frozen }), encryption: undefined, stop: () => Promise.resolve() }
  const { SqliteStorage } = await import("../../../pkg/storage/sqlite/sqlite.ts")
  const file = join(dir, DATABASE)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const onProblem = problemLog(log)
  const isEncrypted = config.secrets || config.file !== undefined || existsSync(ownConfigurationFile(dir))
  const loaded = isEncrypted
    ? await (await import("../encryption/load.ts")).loadEncryption(dir, config, tools)
    : undefined
  const plugins = loaded?.plugins ?? []
  const store = orClose(
    plugins,
    () =>
      new SqliteStorage({
        file,
        transformer: loaded?.transformer,
        parse: parseStored,
        evidence: clusterStateIn(dir),
        acceptLoss: acceptDataLoss,
        clock,
        frozen,
        onProblem,
        ...(historyBytes === undefined ? {} : { historyBytes }),
      }),
  )
  if (plugins.length > 0) await learnKeys(store, plugins)
  const { failures: unreadable, someStale } = store.openSealed()
  if (unreadable.length > 0)
    log.error("Stored objects cannot be decrypted; check the keys, all other objects are served", {
      objects: unreadable.length,
      first: unreadable[0]!.message,
    })
  let opened: Promise<SecretsEncryption> | undefined
  const encryption = async (): Promise<SecretsEncryption> => {
    const { SecretsEncryption } = await import("../encryption/secrets-encryption.ts")
    return new SecretsEncryption({ ...tools, dir, config, store, someStale })
  }
  const once = () => (opened ??= encryption())
  if (isEncrypted) await once()
  return {
    storage: store,
    encryption: once,
    ...(plugins.length === 0 ? {} : { kmsProblem: () => problemOf(plugins) }),
    async stop() {
      await (await opened)?.close()
      for (const plugin of plugins) plugin.close()
    },
  }
}

/** Closes the plugins when `open` throws: they would be asked for ever. */
function orClose<T>(plugins: readonly KmsPlugin[], open: () => T): T {
  try {
    return open()
  } catch (err) {
    for (const plugin of plugins) plugin.close()
    throw err
  }
}

/** Has the plugins decrypt the keys of all values on the disk, since reading them is synchronous. */
async function learnKeys(store: SqliteStorage, plugins: readonly KmsPlugin[]): Promise<void> {
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
