import { deepFreeze } from "../apimachinery/json/deep-freeze.ts"
import { objectJson } from "../apimachinery/json/object-json.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { StorageError, type Stored } from "./storage.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Makes the value of an object from its JSON. Needed when that takes more than JSON.parse, because a field may be kept
 * as it was written.
 * @throws Error when the text is not JSON
 */
export type ParseObject = (key: string, json: string) => KubeObject
const parsePlain: ParseObject = (_key, json) => JSON.parse(json) as KubeObject

/** A place where the JSON of a revision can be read again. */
export interface Elsewhere {
  read(revision: number): Uint8Array
  /** Whether the JSON is kept in memory after the first read, for instance because it had to be decrypted. */
  readonly isReadOnce?: boolean
  readonly parse: ParseObject | undefined
  /** Called when nobody will ask for a revision any more; for one that need not keep everything. */
  forget?(revision: number): void
}

/** The data of an object besides its content. */
export interface Identity {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly time: number
  /** See Write. */
  readonly seldomRead: boolean
}

type Content =
  | { readonly object: KubeObject }
  /** Makes the value at its first use. */
  | { readonly make: () => KubeObject }
  | { readonly json: Uint8Array; readonly parse?: ParseObject | undefined }
  | { readonly elsewhere: Elsewhere }

/**
 * An object as it was written. It has its value, its JSON, or both; the other one is made at first use, and kept. JSON
 * that is elsewhere is read at each use, unless `isReadOnce` is set.
 */
export class StoredObject implements Stored, Identity {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly time: number
  readonly seldomRead: boolean
  readonly #frozen: boolean
  #object: KubeObject | undefined
  #json: Uint8Array | undefined
  #make: (() => KubeObject) | undefined
  #elsewhere: Elsewhere | undefined
  #held = false
  #parse: ParseObject = parsePlain

  constructor({ key, revision, created, time, seldomRead }: Identity, content: Content, frozen: boolean) {
    this.key = key
    this.revision = revision
    this.created = created
    this.time = time
    this.seldomRead = seldomRead
    this.#frozen = frozen
    if ("object" in content) this.#object = frozen ? deepFreeze(content.object) : content.object
    else if ("make" in content) this.#make = content.make
    else if ("elsewhere" in content) {
      this.#elsewhere = content.elsewhere
      this.#parse = content.elsewhere.parse ?? parsePlain
    } else {
      this.#json = content.json
      this.#parse = content.parse ?? parsePlain
    }
  }

  get object(): KubeObject {
    if (this.#object !== undefined) return this.#object
    const made = this.#make?.() ?? this.#parsed(this.json)
    const object = this.#frozen ? deepFreeze(made) : made
    if (this.#elsewhere === undefined) this.#object = object
    this.#make = undefined
    return object
  }

  get json(): Uint8Array {
    if (this.#elsewhere !== undefined) {
      const json = this.#elsewhere.read(this.revision)
      if (this.#elsewhere.isReadOnce === true) [this.#json, this.#elsewhere] = [json, undefined]
      return json
    }
    // Not a Buffer: Bun needs a quarter more memory for one, and half a microsecond.
    return (this.#json ??= encoder.encode(objectJson(this.object)))
  }

  get bytes(): number | undefined {
    return this.#json?.length
  }

  /** Whether a staged write supersedes this revision. */
  get isHeld(): boolean {
    return this.#held
  }

  /**
   * Keeps the content from now on, because a staged write supersedes it, and its commit may delete the content
   * elsewhere. Staged writes wait a few turns for their commit.
   */
  hold(): void {
    this.#held = true
    if (this.#elsewhere === undefined) return
    this.#json = this.#elsewhere.read(this.revision)
    this.#elsewhere = undefined
  }

  #parsed(json: Uint8Array): KubeObject {
    try {
      return this.#parse(this.key, decoder.decode(json))
    } catch (cause) {
      throw new StorageError(
        "damaged",
        `Cannot read ${this.key} at revision ${this.revision}: its stored JSON is damaged`,
        undefined,
        { cause },
      )
    }
  }
}
