import type { Storage } from "../../../pkg/storage/storage.ts"
import type { EncryptionConfig } from "../encryption/load.ts"
import type { SecretsEncryption } from "../encryption/secrets-encryption.ts"

export interface StorageConfig {
  /** Most bytes of history on disk; 128 MiB unless given. */
  readonly historyBytes?: number
  /** How long history is kept, in milliseconds; an hour unless given, and none with 0. */
  readonly historyMs?: number
  /** Starts even if acknowledged writes, or the whole database, are missing. */
  readonly acceptDataLoss?: boolean
  /** Whether commits do not wait for the disk: after a power cut the store may be lost. For tests of other programs. */
  readonly unsafeNoFsync?: boolean
  /** Freezes objects, so that code that changes one in place throws. For tests. */
  readonly frozen?: boolean
  /** What is encrypted on the disk; what was encrypted before, unless given. */
  readonly encryption?: EncryptionConfig
  /** The store that several servers share; one of its own below the data directory unless given. */
  readonly datastore?: DatastoreConfig | undefined
}

export interface OpenedStorage {
  readonly storage: Storage
  /** Turns encryption on and off and changes its keys; undefined for a store in memory. */
  readonly encryption: (() => Promise<SecretsEncryption>) | undefined
  /** Why a KMS plugin is not healthy; absent where none is configured. */
  readonly kmsProblem?: () => string | undefined
  /** Ends what goes on in the background. The store is closed by its owner, afterwards. */
  stop(): Promise<void>
}

/** Where the store is that several servers share. */
export interface DatastoreConfig {
  /**
   * `https://host:2379` or `http://host:2379` of each member of an etcd, or `postgres://user:password@host/database` of
   * a PostgreSQL server and its standbys.
   */
  readonly endpoints: readonly string[]
  /** Files in PEM by which the store and this server know each other. */
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
  /** Returns what the administrator can do about an error of etcd. */
  readonly explain?: ((message: string) => string | undefined) | undefined
}
