import { deepFreeze } from "../apimachinery/deep-freeze.ts"
import { objectJson } from "../apimachinery/object-json.ts"
import type { KubeObject } from "../apimachinery/resource.ts"
import { StorageError, type Stored } from "./storage.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A live object. It has its value, its JSON, or both; the other is made when first asked for, and kept. */
export class StoredObject implements Stored {
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly #frozen: boolean
  #object: KubeObject | undefined
  #json: Uint8Array | undefined

  constructor(
    key: string,
    revision: number,
    created: number,
    content: { readonly object: KubeObject } | { readonly json: Uint8Array },
    frozen: boolean,
  ) {
    this.key = key
    this.revision = revision
    this.created = created
    this.#frozen = frozen
    if ("object" in content) this.#object = frozen ? deepFreeze(content.object) : content.object
    else this.#json = content.json
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      const object = parse(this.key, this.revision, this.#json!)
      this.#object = this.#frozen ? deepFreeze(object) : object
    }
    return this.#object
  }

  get json(): Uint8Array {
    return (this.#json ??= encoder.encode(objectJson(this.#object!)))
  }
}

function parse(key: string, revision: number, json: Uint8Array): KubeObject {
  try {
    return JSON.parse(decoder.decode(json)) as KubeObject
  } catch (cause) {
    throw new StorageError(
      "damaged",
      `Cannot read ${key} at revision ${revision}: its stored JSON is damaged`,
      undefined,
      { cause },
    )
  }
}
