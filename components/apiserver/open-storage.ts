import type { EncryptionConfig, EncryptionTools } from "./encryption/load.ts"
import { ownConfigurationFile } from "./encryption/credential-files.ts"
import type { SecretsEncryption } from "./encryption/secrets-encryption.ts"
import { parseOwnJson } from "./http/json.ts"
import { existsSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { RESOURCES } from "../../pkg/api/resources.ts"
import { rawFieldsOf, withRawFields } from "../../pkg/apimachinery/raw-fields.ts"
import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { MemoryStorage } from "../../pkg/storage/memory.ts"
import type { Storage, StorageError } from "../../pkg/storage/storage.ts"

const DATABASE = join("db", "state.db")

/** Returns the database file of a data directory. */
export const databaseFile = (dataDir: string): string => join(dataDir, "server", DATABASE)

export interface StorageConfig {
  /** Most bytes of history on disk; 128 MiB unless given. */
  readonly historyBytes?: number
  /** Starts even if acknowledged writes, or the whole database, are missing. */
  readonly acceptDataLoss?: boolean
  /** Freezes objects, so that code that changes one in place throws. For tests. */
  readonly frozen?: boolean
  /** What is encrypted on the disk; what was encrypted before, unless given. */
  readonly encryption?: EncryptionConfig
}

export interface OpenedStorage {
  readonly storage: Storage
  /** Turns encryption on and off and changes its keys; undefined for a store in memory. */
  readonly encryption: (() => Promise<SecretsEncryption>) | undefined
  /** Ends what goes on in the background. The store is closed by its owner, afterwards. */
  stop(): Promise<void>
}

const NOTHING_ENCRYPTED: EncryptionConfig = { secrets: false, provider: "secretbox" }

/**
 * Opens the store below `dir` (`<data-dir>/server`), or one in memory without it. SQLite is loaded only when it is
 * used, because test clusters do not need it.
 * @throws StorageError as SqliteStorage does
 */
export async function openStorage(
  dir: string | undefined,
  tools: EncryptionTools,
  { frozen = false, historyBytes, acceptDataLoss, encryption: config = NOTHING_ENCRYPTED }: StorageConfig,
): Promise<OpenedStorage> {
  const { clock, log } = tools
  if (dir === undefined)
    return { storage: new MemoryStorage({ clock, frozen }), encryption: undefined, stop: () => Promise.resolve() }
  const { SqliteStorage } = await import("../../pkg/storage/sqlite.ts")
  const file = join(dir, DATABASE)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const onProblem = (problem: StorageError | undefined) => {
    if (problem === undefined) log.info("The store takes writes again")
    else log.error("The store refuses writes; reads and watches go on", { code: problem.code, error: problem.message })
  }
  const isEncrypted = config.secrets || config.file !== undefined || existsSync(ownConfigurationFile(dir))
  const transformer = isEncrypted
    ? await (await import("./encryption/load.ts")).loadTransformer(dir, config, tools)
    : undefined
  const store = new SqliteStorage({
    file,
    transformer,
    parse: parseStored,
    evidence: clusterStateIn(dir),
    acceptLoss: acceptDataLoss,
    clock,
    frozen,
    onProblem,
    ...(historyBytes === undefined ? {} : { historyBytes }),
  })
  const unreadable = store.openSealed()
  if (unreadable.length > 0)
    log.error("Stored objects cannot be decrypted; check the keys, all other objects are served", {
      objects: unreadable.length,
      first: unreadable[0]!.message,
    })
  let opened: Promise<SecretsEncryption> | undefined
  const encryption = async (): Promise<SecretsEncryption> => {
    const { SecretsEncryption } = await import("./encryption/secrets-encryption.ts")
    return new SecretsEncryption({ ...tools, dir, config, store })
  }
  const once = () => (opened ??= encryption())
  if (isEncrypted) await once()
  return { storage: store, encryption: once, stop: async () => (await opened)?.close() }
}

const KEPT_AS_WRITTEN = RESOURCES.map(({ prefix, schema }) => ({ prefix, names: rawFieldsOf(schema) })).filter(
  ({ names }) => names.length > 0,
)

const BUILTIN: ReadonlySet<string> = new Set(RESOURCES.map(({ prefix }) => prefix))
/** The index behind `/registry/<group>/<plural>/`. */
const endOfPrefix = (key: string): number => key.indexOf("/", key.indexOf("/", key.indexOf("/", 1) + 1) + 1) + 1

/** Parses the stored JSON of an object. Raw fields of the schema keep their JSON text as it was written. */
function parseStored(key: string, json: string): KubeObject {
  // Only custom objects can have integers that JavaScript would round.
  if (!BUILTIN.has(key.slice(0, endOfPrefix(key)))) return parseOwnJson(json) as KubeObject
  const value: unknown = JSON.parse(json)
  const names = KEPT_AS_WRITTEN.find(({ prefix }) => key.startsWith(prefix))?.names ?? []
  return withRawFields(value, json, names) as KubeObject
}

/** Returns a file which shows that a server has run here. A server makes its database before any of these files. */
const clusterStateIn = (dir: string): string | undefined =>
  ["tls/service.key", "tls/serving-kube-apiserver.crt", "token"].map((name) => join(dir, name)).find(existsSync)
