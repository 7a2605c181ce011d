/** Objects as a shared log has them: JSON without a resourceVersion, which is the revision of the log, or encrypted. */
import { objectJson } from "../../apimachinery/json/object-json.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { StorageError, type Stored } from "../storage.ts"
import { StoredObject, type Identity, type ParseObject } from "../stored-object.ts"
import { IDENTITY, opened, sealed, type ValueTransformer } from "../value-transformer.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export interface SharedObjectsOptions {
  /** Makes an object of its JSON. */
  readonly parse: ParseObject
  /** What encrypts and decrypts values; without it they are JSON. */
  readonly transformer?: ValueTransformer | undefined
  /** Freezes every object deeply, so that changing a shared one throws. For tests. */
  readonly frozen?: boolean | undefined
}

export class SharedObjects {
  readonly #parse: ParseObject
  readonly #transformer: ValueTransformer
  readonly #frozen: boolean

  constructor({ parse, transformer = IDENTITY, frozen = false }: SharedObjectsOptions) {
    this.#parse = parse
    this.#transformer = transformer
    this.#frozen = frozen
  }

  /** Returns the JSON of an object without its resourceVersion. */
  json(object: KubeObject): Uint8Array {
    return encoder.encode(objectJson(versioned(object, undefined)))
  }

  /** Returns what is written to the log. @throws StorageError encryption */
  seal(key: string, json: Uint8Array): Uint8Array {
    return sealed(this.#transformer, json, placeOf(key))
  }

  /** An object that this process has written itself. */
  own(identity: Identity, object: KubeObject): StoredObject {
    return new StoredObject(identity, { object: versioned(object, identity.revision) }, this.#frozen)
  }

  /** An object as it came from the log, which is decrypted and parsed when somebody asks for it. */
  read(identity: Identity, value: Uint8Array): StoredObject {
    const make = () => versioned(this.#open(identity, value), identity.revision)
    return new StoredObject(identity, { make }, this.#frozen)
  }

  /** The last state of an object, as it is told at its deletion. */
  deleted(identity: Identity, last: StoredObject): StoredObject {
    return new StoredObject(identity, { make: () => versioned(last.object, identity.revision) }, this.#frozen)
  }

  /** Returns the content of an object for a snapshot, as a store on disk has it. @throws StorageError encryption */
  imageOf(stored: Stored): Uint8Array {
    return sealed(this.#transformer, stored.json, stored)
  }

  #open({ key, revision }: Identity, value: Uint8Array): KubeObject {
    const { json } = opened(this.#transformer, value, placeOf(key))
    try {
      return this.#parse(key, decoder.decode(json))
    } catch (cause) {
      const message = `Cannot read ${key} at revision ${revision}: its stored JSON is damaged`
      throw new StorageError("damaged", message, undefined, { cause })
    }
  }
}

/** The log chooses the revision after a value has been encrypted, so a value is bound to its key only. */
const placeOf = (key: string) => ({ key, revision: 0 })

function versioned(object: KubeObject, revision: number | undefined): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  if (revision === undefined) return { ...object, metadata }
  return { ...object, metadata: { ...metadata, resourceVersion: String(revision) } }
}
