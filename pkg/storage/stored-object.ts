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
  /** The JSON, or a function that is called for it at its first use, for instance to decrypt it. */
  | { readonly json: Uint8Array | (() => Uint8Array); readonly parse?: ParseObject | undefined }

/** An object as it was written. It has its value, its JSON, or both; the other one is made at first use, and kept. */
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
  #open: (() => Uint8Array) | undefined
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
    else {
      if (content.json instanceof Uint8Array) this.#json = content.json
      else this.#open = content.json
      this.#parse = content.parse ?? parsePlain
    }
  }

  get object(): KubeObject {
    if (this.#object !== undefined) return this.#object
    const made = this.#make?.() ?? this.#parsed(this.json)
    this.#make = undefined
    return (this.#object = this.#frozen ? deepFreeze(made) : made)
  }

  get json(): Uint8Array {
    if (this.#open !== undefined) [this.#json, this.#open] = [this.#open(), undefined]
    // Not a Buffer: Bun needs a quarter more memory for one, and half a microsecond.
    return (this.#json ??= encoder.encode(objectJson(this.object)))
  }

  get bytes(): number | undefined {
    return this.#json?.length
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
