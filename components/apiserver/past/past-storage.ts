import { firstOf, type Page } from "../../../pkg/storage/page.ts"
import { StorageError, type Storage, type StoreImage, type Stored } from "../../../pkg/storage/storage.ts"

/** Some objects at one revision, in the order of their keys, as a store that is only read. */
export class PastStorage implements Storage {
  readonly revision: number
  readonly compactedRevision: number
  readonly problem = undefined
  readonly #objects: readonly Stored[]

  constructor(objects: readonly Stored[], revision: number) {
    this.#objects = objects
    this.revision = revision
    this.compactedRevision = revision
  }

  get(key: string): Stored | undefined {
    return this.#objects.find((stored) => stored.key === key)
  }
  list(prefix: string): readonly Stored[] {
    return this.#objects.filter(({ key }) => key.startsWith(prefix))
  }
  page(prefix: string, after: string | undefined, limit: number): Page<Stored> {
    const all = this.list(prefix)
    const rest = after === undefined ? all : all.filter(({ key }) => key > after)
    return firstOf(rest, limit)
  }
  revisionAt(): number {
    return this.revision
  }
  since(revision: number): never {
    throw new StorageError("compacted", `Only revision ${this.revision} is here, and ${revision} is asked for`)
  }
  between(): never {
    return refuse()
  }
  history(): never {
    return refuse()
  }
  write(): never {
    return refuse()
  }
  writeAll(): never {
    return refuse()
  }
  subscribe(): never {
    return refuse()
  }
  image(): StoreImage {
    return refuse()
  }
  compact(): void {}
  close(): void {}
}

function refuse(): never {
  throw new Error("the past is only read, by get and list")
}
