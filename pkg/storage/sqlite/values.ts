/** Writes and reads the values of the store on disk: as JSON, or encrypted. */
import type { SqliteDatabase } from "../../runtime/sqlite.ts"
import { FORMAT_WITH_ENCRYPTION } from "./format.ts"
import { StorageError, type Stored } from "../storage.ts"
import type { StoredObject } from "../stored-object.ts"
import { IDENTITY, isSealed, opened, sealed, type Place, type ValueTransformer } from "../value-transformer.ts"

export class SqliteValues {
  readonly #db: SqliteDatabase
  #transformer: ValueTransformer | undefined
  /** Whether a value has been read that would now be written differently. */
  #someStale = false

  constructor(db: SqliteDatabase) {
    this.#db = db
  }

  /** The transformer that is used now. */
  get transformer(): ValueTransformer {
    return this.#transformer ?? IDENTITY
  }

  /** Sets the transformer that encrypts and decrypts from now on; undefined: values are written as JSON. */
  use(transformer: ValueTransformer | undefined): void {
    this.#transformer = transformer
    // Makes SQLite overwrite deleted content with zeros. It costs an occasional page write.
    this.#db.exec(`PRAGMA secure_delete = ${transformer === undefined ? "OFF" : "ON"}`)
    if (transformer !== undefined) this.#db.exec(`PRAGMA user_version = ${FORMAT_WITH_ENCRYPTION}`)
  }

  /** Returns whether a value is the JSON of its object. */
  isPlain(value: Uint8Array): boolean {
    return this.#transformer === undefined && !isSealed(value)
  }

  /** @throws StorageError encryption */
  seal(stored: StoredObject): Uint8Array {
    return this.#transformer === undefined ? stored.json : sealed(this.#transformer, stored.json, stored)
  }

  /** Returns the JSON. @throws StorageError encryption */
  open(value: Uint8Array, place: Place): Uint8Array {
    const { json, stale } = opened(this.transformer, value, place)
    this.#someStale ||= stale
    return json
  }

  /**
   * Reads the JSON of these objects. Returns the failures, and whether some values would now be written differently.
   */
  openAll(objects: readonly Stored[]): { readonly failures: readonly StorageError[]; readonly someStale: boolean } {
    this.#someStale = false
    return { failures: objects.flatMap((stored) => failureOf(() => stored.json) ?? []), someStale: this.#someStale }
  }

  /**
   * Returns a function that writes objects with the present keys, also later. An object that cannot be decrypted now
   * may be decrypted later with the right keys: for it the function writes what `onDisk` returns, which is undefined
   * when the row is gone.
   */
  writer(onDisk: (revision: number) => Uint8Array | undefined): (stored: Stored) => Uint8Array {
    const { transformer } = this
    return (stored) => {
      const { key, revision } = stored
      try {
        return sealed(transformer, stored.json, { key, revision })
      } catch (err) {
        const value = onDisk(revision)
        if (value === undefined) throw err
        return value
      }
    }
  }

  /** Yields the encrypted values on disk, in steps of a few. */
  *sealed(): Iterable<Uint8Array> {
    const some = this.#db.prepare<readonly [rev: number, value: Uint8Array]>(
      `SELECT rev, value FROM log WHERE rev > ? AND substr(value, 1, 1) = x'6b' ORDER BY rev LIMIT 100`,
    )
    for (let rows = some.rows(-1); rows.length > 0; rows = some.rows(rows.at(-1)![0]))
      for (const [, value] of rows) yield value
  }
}

function failureOf(run: () => unknown): StorageError | undefined {
  try {
    run()
    return undefined
  } catch (err) {
    if (err instanceof StorageError) return err
    throw err
  }
}
