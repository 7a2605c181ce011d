import { endOfPrefix, type EtcdKeyValue } from "../../../etcd/messages.ts"
import type { SharedEntry } from "../shared-log.ts"
import { placeOf, type Numbering } from "./numbering.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The prefix of all objects in etcd, the same as upstream's. */
const PREFIX = "/registry/"

/** The keys of the log in etcd. */
export class Keys {
  readonly range = { key: encoder.encode(PREFIX), rangeEnd: endOfPrefix(encoder.encode(PREFIX)) }
  /**
   * A key without an object. It is written to make the watch advance when nothing else is written, and sorts before the
   * keys of all resources.
   */
  readonly progress = encoder.encode(`${PREFIX}.progress`)
  readonly #progressText = `${PREFIX}.progress`
  readonly numbering: Numbering

  constructor(numbering: Numbering) {
    this.numbering = numbering
  }

  /** Returns the key of an object; undefined for `progress`. */
  text(key: Uint8Array): string | undefined {
    const text = decoder.decode(key)
    return text === this.#progressText ? undefined : text
  }

  entry(key: string, { createRevision, modRevision, version, value: written }: EtcdKeyValue): SharedEntry {
    const { value, place } = placeOf(written)
    const revision = this.numbering.revisionOf(modRevision, place)
    return { key, revision, created: version === 1 ? revision : this.numbering.revisionOf(createRevision, 0), value }
  }
}
