import { Buffer } from "node:buffer"
import { errorMessage } from "../errors/error-message.ts"
import { StorageError } from "./storage.ts"

/** The position of a value in the store. An encrypted value can be read only at the position where it was written. */
export interface Place {
  readonly key: string
  readonly revision: number
}

export interface OpenedValue {
  /** The object as JSON in UTF-8. */
  readonly json: Uint8Array
  /** Whether `seal` would now write the value differently: with another key, another provider, or none. */
  readonly stale: boolean
}

/**
 * Converts the JSON of objects to the values on disk, and back. Both methods are synchronous, because a write has no
 * await between its check and its commit. Source: apiserver pkg/storage/value/transformer.go.
 */
export interface ValueTransformer {
  /** @throws Error, when the value cannot be encrypted now */
  seal(json: Uint8Array, place: Place): Uint8Array
  /** @throws Error, when the value cannot be decrypted, or was written at another place */
  open(value: Uint8Array, place: Place): OpenedValue
}

/** Every encrypted value begins with `k8s:enc:`, and every other one is JSON. */
export const isSealed = (value: Uint8Array): boolean => value[0] === K

const K = "k".charCodeAt(0)

/** The transformer of a store without encryption: it writes JSON unchanged and refuses encrypted values. */
export const IDENTITY: ValueTransformer = {
  seal: (json) => json,
  open(value) {
    if (isSealed(value)) throw new Error("identity transformer tried to read encrypted data")
    return { json: value, stale: false }
  },
}

/** @throws StorageError encryption */
export function sealed(transformer: ValueTransformer, json: Uint8Array, place: Place): Uint8Array {
  try {
    return transformer.seal(json, place)
  } catch (cause) {
    throw encryptionError(place, cause)
  }
}

/** @throws StorageError encryption */
export function opened(transformer: ValueTransformer, value: Uint8Array, place: Place): OpenedValue {
  try {
    return transformer.open(value, place)
  } catch (cause) {
    throw encryptionError(place, cause)
  }
}

/** The words are upstream's: apiserver pkg/storage/etcd3/store.go. */
const encryptionError = ({ key }: Place, cause: unknown): StorageError =>
  new StorageError("encryption", `unable to transform key ${JSON.stringify(key)}: ${errorMessage(cause)}`, undefined, {
    cause,
  })

/**
 * Adds the place of a value before its JSON, on one line, and removes it again. It is encrypted together with the JSON,
 * so that a value that was copied to another row of the store is detected with every provider, also with those without
 * associated data (aescbc, secretbox).
 */
export const PLACED = {
  add: (json: Uint8Array, place: Place): Uint8Array => Buffer.concat([lineOf(place), json]),
  /** @throws Error, when the value was written at another place */
  remove(plain: Uint8Array, place: Place): Uint8Array {
    const line = lineOf(place)
    if (plain.length < line.length || line.compare(plain, 0, line.length) !== 0)
      throw new Error(`the value was not written as revision ${place.revision} of this key`)
    return plain.subarray(line.length)
  },
}

const lineOf = ({ key, revision }: Place): Buffer => Buffer.from(`${key}@${revision}\n`)
