import { Buffer } from "node:buffer"
import { StorageError } from "./storage.ts"

/** Where a value stands in the store. An encrypted value can be read only where it was written. */
export interface Place {
  readonly key: string
  readonly revision: number
}

export interface OpenedValue {
  /** UTF-8 JSON of the object. */
  readonly json: Uint8Array
  /** Whether `seal` would now write the value otherwise: with another key, another provider, or none. */
  readonly stale: boolean
}

/**
 * Turns the JSON of objects into what is written to the disk, and back. Both are synchronous: a write has no await
 * between its check and its commit. Source: apiserver pkg/storage/value/transformer.go.
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

/** The transformer of a store without encryption: it writes JSON as it is and refuses what is encrypted. */
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
  new StorageError(
    "encryption",
    `unable to transform key ${JSON.stringify(key)}: ${cause instanceof Error ? cause.message : String(cause)}`,
    undefined,
    { cause },
  )

/**
 * Puts the place of a value before its JSON, in one line, and takes it off again. It is encrypted together with the
 * JSON, so that a value that was copied to another row of the store is noticed with every provider, also with those
 * that know no associated data (aescbc, secretbox).
 */
export const PLACED = {
  add: (json: Uint8Array, place: Place): Uint8Array => Buffer.concat([lineOf(place), json]),
  /** @throws Error, when the value is that of another place */
  remove(plain: Uint8Array, place: Place): Uint8Array {
    const line = lineOf(place)
    if (plain.length < line.length || line.compare(plain, 0, line.length) !== 0)
      throw new Error(`the value was not written as revision ${place.revision} of this key`)
    return plain.subarray(line.length)
  },
}

const lineOf = ({ key, revision }: Place): Buffer => Buffer.from(`${key}@${revision}\n`)
