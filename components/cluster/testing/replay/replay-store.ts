import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { MemoryStorage, type Beginning, type MemoryStorageOptions } from "../../../../pkg/storage/memory.ts"
import type { Stored, Write } from "../../../../pkg/storage/storage.ts"
import type { RecordedIdentities } from "./identities.ts"

/**
 * The store of a replay: what controllers create there gets the names and UIDs that it got in the recording, so that
 * recorded references, and whoever looks for a pod of the incident, find it.
 */
export class ReplayStore extends MemoryStorage {
  readonly #identities: RecordedIdentities

  constructor(options: MemoryStorageOptions, beginning: Beginning, identities: RecordedIdentities) {
    super(options, beginning)
    this.#identities = identities
  }

  /** Makes a recorded write, as it is. */
  play(write: Write): Promise<Stored> {
    return super.write(write)
  }

  override write(write: Write): Promise<Stored> {
    return super.write(this.#identified(write))
  }

  override writeAll(writes: readonly Write[]): Promise<readonly Stored[]> {
    return super.writeAll(writes.map((write) => this.#identified(write)))
  }

  #identified(write: Write): Write {
    if (write.expected !== 0 || write.object === null) return write
    const { key, object } = write
    const taken = (name: string) => this.get(keyWith(key, object, name)) !== undefined
    const { name, uid } = this.#identities.of(key, object, taken)
    if (name === object.metadata.name && uid === object.metadata.uid) return write
    return {
      ...write,
      key: keyWith(key, object, name),
      object: { ...object, metadata: { ...object.metadata, name: name!, uid: uid! } },
    }
  }
}

const keyWith = (key: string, { metadata }: KubeObject, name = ""): string =>
  key.slice(0, key.length - (metadata.name ?? "").length) + name
