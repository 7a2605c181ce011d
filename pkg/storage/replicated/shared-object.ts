/**
 * Objects as they are in a shared log: JSON, which may be encrypted. The JSON has no resourceVersion, since that is the
 * revision in the log.
 */
import { objectJson } from "../../apimachinery/json/object-json.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { StorageError, type Stored } from "../storage.ts"
import { StoredObject, type Identity, type ParseObject } from "../stored-object.ts"
import { IDENTITY, opened, sealed, type ValueTransformer } from "../value-transformer.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export interface SharedObjectsOptions {
  /** Parses the JSON of an object. */
  readonly parse: ParseObject
  /** Encrypts and decrypts values; without it they are plain JSON. */
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

  /** Returns the value of an object for the log. @throws StorageError encryption */
  seal(key: string, json: Uint8Array): Uint8Array {
    return sealed(this.#transformer, json, placeOf(key))
  }

  /** Returns the stored form of an object that this process has written. */
  own(identity: Identity, object: KubeObject): StoredObject {
    return new StoredObject(identity, { object: versioned(object, identity.revision) }, this.#frozen)
  }

  /**
   * Returns the stored form of an object that came from the log; its value may be a function that reads it. It is
   * decrypted and parsed at its first use.
   */
  read(identity: Identity, value: Uint8Array | (() => Uint8Array)): StoredObject {
    const make = () => versioned(this.#open(identity, value instanceof Uint8Array ? value : value()), identity.revision)
    return new StoredObject(identity, { make }, this.#frozen)
  }

  /** Returns the last state of an object, for the event of its deletion. */
  deleted(identity: Identity, last: StoredObject): StoredObject {
    return new StoredObject(identity, { make: () => versioned(last.object, identity.revision) }, this.#frozen)
  }

  /**
   * Returns the bytes of an object for a snapshot, in the form of the store on disk. @throws StorageError encryption
   */
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

/**
 * The place that an encrypted value is bound to: only its key, since the log chooses the revision after the encryption.
 */
const placeOf = (key: string) => ({ key, revision: 0 })

function versioned(object: KubeObject, revision: number | undefined): KubeObject {
  const { resourceVersion: _, ...metadata } = object.metadata
  if (revision === undefined) return { ...object, metadata }
  return { ...object, metadata: { ...metadata, resourceVersion: String(revision) } }
}
