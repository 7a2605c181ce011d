import type { SqliteDatabase, SqliteStatement } from "../../runtime/sqlite.ts"
import type { LiveObjects } from "../live-objects.ts"
import { firstOf, type Page } from "../page.ts"
import { resourceOf, SortedKeys } from "../sorted-keys.ts"
import type { StorageEvent, Stored } from "../storage.ts"
import { type Identity, StoredObject } from "../stored-object.ts"
import { type Parsing, UncachedObject } from "../uncached-object.ts"

/** How the content of objects on disk is read. */
export interface DiskReader extends Parsing {
  /** Returns the JSON of a revision that is live, or was when the index was read. */
  json(key: string, revision: number): Uint8Array
}

type IndexRow = readonly [rev: number, created: number, time: number, key: string]

/** A text that follows all keys with a prefix. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

/**
 * The live objects of a store on disk. Those that are seldom read (Events) are on disk only; all others are in memory.
 *
 * The keys of those on disk are in a temporary table, which SQLite keeps in memory: 20,000 of them take 2 MB. The table
 * is part of each transaction, and so is rolled back with it. An index in the file would write a page more for each
 * object; a map of them takes up to 14 MB, since its entries lie scattered among the garbage of a busy time.
 */
export class SqliteLiveObjects implements LiveObjects {
  /** All objects but those on disk. */
  readonly inMemory = new SortedKeys<StoredObject>()
  /** The resources that have had objects on disk. SQLite is not asked about others. */
  readonly #onDisk = new Set<string>()
  readonly #reader: DiskReader
  readonly #add: SqliteStatement
  readonly #remove: SqliteStatement
  readonly #one: SqliteStatement<IndexRow>
  readonly #range: SqliteStatement<IndexRow>
  readonly #countAfter: SqliteStatement<readonly [number]>

  constructor(db: SqliteDatabase, reader: DiskReader) {
    this.#reader = reader
    db.exec(`
      PRAGMA temp_store = MEMORY;
      CREATE TEMP TABLE on_disk (key TEXT PRIMARY KEY, rev INTEGER NOT NULL, created INTEGER NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID;
    `)
    this.#add = db.prepare("INSERT OR REPLACE INTO on_disk (key, rev, created, time) VALUES (?, ?, ?, ?)")
    this.#remove = db.prepare("DELETE FROM on_disk WHERE key = ?")
    this.#one = db.prepare("SELECT rev, created, time, key FROM on_disk WHERE key = ?")
    this.#range = db.prepare(
      "SELECT rev, created, time, key FROM on_disk WHERE key > ? AND key < ? ORDER BY key LIMIT ?",
    )
    this.#countAfter = db.prepare("SELECT count(*) FROM on_disk WHERE key > ?")
  }

  /** Takes a write into the index, in the open transaction, if it is of an object on disk. */
  index({ type, key, stored }: Pick<StorageEvent, "type" | "key"> & { readonly stored: StoredObject }): void {
    if (stored.seldomRead && type !== "delete") this.add(stored)
    else if (this.#isOnDisk(key)) this.#remove.run(key)
  }

  /** Adds an object on disk to the index. */
  add({ key, revision, created, time }: Stored): void {
    this.#onDisk.add(resourceOf(key) ?? "")
    this.#add.run(key, revision, created, time)
  }

  get(key: string): Stored | undefined {
    const inMemory = this.inMemory.get(key)
    if (inMemory !== undefined || !this.#isOnDisk(key)) return inMemory
    const [row] = this.#one.rows(key)
    if (row === undefined) return undefined
    const { parse, frozen } = this.#reader
    const [revision, created, time] = row
    const json = () => this.#reader.json(key, revision)
    return new StoredObject({ key, revision, created, time, seldomRead: true }, { json, parse }, frozen)
  }

  set(stored: StoredObject): void {
    if (stored.seldomRead) this.inMemory.delete(stored.key)
    else this.inMemory.set(stored)
  }

  delete(key: string): void {
    this.inMemory.delete(key)
  }

  values(): readonly Stored[] {
    return [...this.inMemory.values(), ...this.#listed("")]
  }

  startingWith(prefix: string): readonly Stored[] {
    const inMemory = this.inMemory.startingWith(prefix)
    if (resourceOf(prefix) !== undefined && !this.#isOnDisk(prefix)) return inMemory
    return inOrder(inMemory, this.#listed(prefix))
  }

  page(prefix: string, after: string | undefined, limit: number): Page<Stored> {
    const inMemory = this.inMemory.page(prefix, after, limit)
    if (!this.#isOnDisk(prefix)) return inMemory
    const onDisk = this.#listed(prefix, after, limit)
    // Two counts, because comparing each key with the end of the prefix takes three times as long as counting it.
    const last = onDisk.at(-1)?.key ?? after ?? prefix
    const further = onDisk.length < limit ? 0 : this.#after(last) - this.#after(endOf(prefix))
    return firstOf(inOrder(inMemory.items, onDisk), limit, inMemory.remaining + further)
  }

  #isOnDisk(key: string): boolean {
    return this.#onDisk.size > 0 && this.#onDisk.has(resourceOf(key) ?? "")
  }

  #after(key: string): number {
    return this.#countAfter.rows(key)[0]![0]
  }

  /** Returns the first `limit` objects on disk, all of them for -1. No key is the prefix itself. */
  #listed(prefix: string, after = prefix, limit = -1): readonly Stored[] {
    return this.#range
      .rows(after < prefix ? prefix : after, endOf(prefix), limit)
      .map(([revision, created, time, key]) => new ObjectOnDisk({ key, revision, created, time }, this.#reader))
  }
}

class ObjectOnDisk extends UncachedObject {
  protected readonly parsing: DiskReader

  constructor(identity: Omit<Identity, "seldomRead">, reader: DiskReader) {
    super(identity)
    this.parsing = reader
  }

  get json(): Uint8Array {
    return this.parsing.json(this.key, this.revision)
  }
}

/** Returns the objects of two lists in the order of their keys. */
function inOrder(some: readonly Stored[], others: readonly Stored[]): readonly Stored[] {
  if (some.length === 0 || others.length === 0) return some.length === 0 ? others : some
  return [...some, ...others].sort((a, b) => (a.key < b.key ? -1 : 1))
}
