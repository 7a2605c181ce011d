/** The way from a server's own database to an etcd that several servers share. Source of the idea: k3s pkg/cluster/managed.go. */
import { existsSync, renameSync } from "node:fs"
import { join } from "node:path"
import { EtcdConnection } from "../../../pkg/etcd/connection.ts"
import { acknowledgedPath } from "../../../pkg/storage/sqlite/opening/acknowledged.ts"
import { EtcdLog } from "../../../pkg/storage/replicated/etcd/etcd-log.ts"
import { beginAfter } from "../../../pkg/storage/replicated/etcd/revision-base.ts"
import { SharedObjects } from "../../../pkg/storage/replicated/shared-object.ts"
import type { KeptObject } from "../../../pkg/storage/sqlite/create.ts"
import { readStore } from "../../../pkg/storage/sqlite/read.ts"
import { IDENTITY, type ValueTransformer } from "../../../pkg/storage/value-transformer.ts"
import { datastoreOptions } from "./datastore-options.ts"
import { ownConfigurationFile } from "../encryption/credential-files.ts"
import type { EncryptionTools } from "../encryption/encryption-tools.ts"
import { databaseFile } from "./database-file.ts"
import { parseStored } from "./parse-stored.ts"
import type { DatastoreConfig, StorageConfig } from "./storage-config.ts"

/** Objects that are on their way at once. */
const MOST_UNDER_WAY = 500

export interface MoveOptions {
  readonly dataDir: string
  /** An etcd without objects. */
  readonly datastore: DatastoreConfig
  readonly encryption?: StorageConfig["encryption"]
}

/**
 * Copies all live objects of a database into etcd, with their UIDs. Revisions go on behind those of the database; the
 * history of objects is left behind. The database is not changed.
 * @throws StorageError where it is damaged; SharedLogError; Error that names the mend
 */
export async function copyToEtcd(
  { dataDir, datastore, encryption }: MoveOptions,
  tools: EncryptionTools,
): Promise<void> {
  const { clock, log } = tools
  refuseToMove(dataDir)
  const from = clock.monotonic()
  const { revision, objects } = readStore(databaseFile(dataDir))
  const translate = await translator(encryption, tools)
  const options = datastoreOptions(datastore, clock)
  if (!("etcd" in options)) throw new TypeError("Objects are copied to an etcd only")
  const etcd = new EtcdConnection(options.etcd)
  await beginAfter(etcd, revision).finally(() => etcd.close())
  const shared = await EtcdLog.open(options.etcd)
  try {
    for (let i = 0; i < objects.length; i += MOST_UNDER_WAY) {
      const some = objects.slice(i, i + MOST_UNDER_WAY).map(async (object) => {
        const write = { key: object.key, value: translate(object), expected: 0 }
        if ((await shared.commit([write])) === undefined)
          throw new Error(`Cannot copy ${object.key} to etcd: there is an object already`)
      })
      await Promise.all(some)
    }
  } finally {
    shared.close()
  }
  log.info("Copied the database to etcd", {
    objects: objects.length,
    revision,
    ms: Math.round(clock.monotonic() - from),
  })
}

/** Renames the database and its files, so that no server takes it for the newest state. Some may be renamed already. */
export function putDatabaseAside(dataDir: string): void {
  const file = databaseFile(dataDir)
  const aside = `${file}.migrated`
  for (const [path, target] of [
    [file, aside],
    [`${file}-wal`, `${aside}-wal`],
    [acknowledgedPath(file), acknowledgedPath(aside)],
  ] as const)
    if (existsSync(path)) renameSync(path, target)
}

/**
 * Called before an etcd is begun for the database. @throws Error that names the mend, where only this server could read
 * its Secrets
 */
export function refuseToMove(dataDir: string): void {
  const own = ownConfigurationFile(join(dataDir, "server"))
  if (existsSync(own))
    throw new Error(
      `Cannot move the database to etcd: its Secrets are encrypted with keys that this server has made (${own}), and ` +
        "which others do not have. Start without --cluster-init and --secrets-encryption, run `k3ts secrets-encrypt " +
        "disable`, stop the server when `k3ts secrets-encrypt status` shows the stage reencrypt_finished, remove that " +
        "file, and begin again; --encryption-provider-config encrypts Secrets in etcd",
    )
}

/** Returns what makes a value of etcd of one of the database. */
async function translator(encryption: StorageConfig["encryption"], tools: EncryptionTools) {
  const transformer = encryption?.file === undefined ? IDENTITY : await configured(encryption.file, tools)
  const shared = new SharedObjects({ parse: parseStored, transformer })
  return ({ key, revision, value }: KeptObject): Uint8Array => {
    const { json } = transformer.open(value, { key, revision })
    return shared.seal(key, shared.json(parseStored(key, new TextDecoder().decode(json))))
  }
}

async function configured(file: string, tools: EncryptionTools): Promise<ValueTransformer> {
  const { configurationText, loadSharedEncryption } = await import("../encryption/load.ts")
  return (await loadSharedEncryption(configurationText(file), file, tools)).transformer
}
