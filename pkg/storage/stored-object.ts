import { deepFreeze } from "../apimachinery/deep-freeze.ts"
import { objectJson } from "../apimachinery/object-json.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { StorageError, type Stored } from "./storage.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Makes a value of an object's JSON, where that takes more than JSON.parse: a field may be kept as it was written. Throws when it is no JSON. */
export type ParseObject = (key: string, json: string) => KubeObject
const parsePlain: ParseObject = (_key, json) => JSON.parse(json) as KubeObject

/** A live object. It has its value, its JSON, or both; the other is made when first asked for, and kept. */
export class StoredObject implements Stored {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly #frozen: boolean
  #object: KubeObject | undefined
  #json: Uint8Array | undefined
  readonly #parse: ParseObject = parsePlain

  constructor(
    key: string,
    revision: number,
    created: number,
    content: { readonly object: KubeObject } | { readonly json: Uint8Array; readonly parse?: ParseObject | undefined },
    frozen: boolean,
  ) {
    this.key = key
    this.revision = revision
    this.created = created
    this.#frozen = frozen
    if ("object" in content) this.#object = frozen ? deepFreeze(content.object) : content.object
    else {
      this.#json = content.json
      this.#parse = content.parse ?? parsePlain
    }
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      const object = this.#parsed(this.#json!)
      this.#object = this.#frozen ? deepFreeze(object) : object
    }
    return this.#object
  }

  get json(): Uint8Array {
    return (this.#json ??= encoder.encode(objectJson(this.#object!)))
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
