import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import { isFullyQualifiedDomainName } from "../../../../pkg/apimachinery/validation/names.ts"
import { field, map, message, type DecodedOf } from "../../../../pkg/protobuf/message.ts"

/** How the data are encrypted: with the decrypted source as the key, or with keys derived from it. */
export const SOURCE_TYPE = { key: 0, seed: 1 } as const

/**
 * A value behind its prefix `k8s:enc:kms:v2:<name>:`. Source: apiserver
 * pkg/storage/value/encrypt/envelope/kmsv2/v2/api.proto.
 */
export const EncryptedObject = message({
  encryptedData: field(1, "bytes"),
  keyId: field(2, "string"),
  /** The key or seed, encrypted by the plugin. */
  encryptedDEKSource: field(3, "bytes"),
  annotations: map(4, "bytes"),
  encryptedDEKSourceType: field(5, "int32"),
})
export type EncryptedObject = DecodedOf<typeof EncryptedObject>
/** What the plugin needs to decrypt the source. */
export type EncryptedSource = Omit<EncryptedObject, "encryptedData">

const MOST_KEY_ID_BYTES = 1024
const MOST_SOURCE_BYTES = 1024
const MOST_ANNOTATIONS_BYTES = 32 * 1024

/** Upstream's message for an id that cannot be one; undefined for a valid id. */
export function keyIdProblem(id: string): string | undefined {
  const bytes = Buffer.byteLength(id)
  if (bytes === 0) return "keyID is empty"
  return bytes > MOST_KEY_ID_BYTES
    ? `keyID is ${bytes} bytes, which exceeds the max size of ${MOST_KEY_ID_BYTES}`
    : undefined
}

/** @throws Error in upstream's words (kmsv2/envelope.go ValidateEncryptedObject) */
export function checkSource({ keyId, encryptedDEKSource, annotations, encryptedDEKSourceType }: EncryptedSource): void {
  const isKnown = encryptedDEKSourceType === SOURCE_TYPE.key || encryptedDEKSourceType === SOURCE_TYPE.seed
  if (!isKnown) throw new Error(`unknown encryptedDEKSourceType: ${encryptedDEKSourceType}`)
  const source = encryptedDEKSource.length
  if (source === 0 || source > MOST_SOURCE_BYTES)
    throw new Error(
      `failed to validate encrypted DEK source: encrypted DEK source is ` +
        (source === 0 ? "empty" : `${source} bytes, which exceeds the max size of ${MOST_SOURCE_BYTES}`),
    )
  const idProblem = keyIdProblem(keyId)
  if (idProblem !== undefined) throw new Error(`failed to validate key id: ${idProblem}`)
  let size = 0
  for (const [key, value] of Object.entries(annotations)) {
    const problem = isFullyQualifiedDomainName(key)
    if (problem !== undefined)
      throw new Error(`failed to validate annotations: annotations: Invalid value: ${JSON.stringify(key)}: ${problem}`)
    size += Buffer.byteLength(key) + value.length
  }
  if (size > MOST_ANNOTATIONS_BYTES)
    throw new Error(
      `failed to validate annotations: total size of annotations is ${size}, which exceeds the max size of ` +
        MOST_ANNOTATIONS_BYTES,
    )
}

/** @throws Error, also ProtobufError, for what is no such object */
export function decodeEncryptedObject(value: Uint8Array): EncryptedObject {
  const object = EncryptedObject.decode(value)
  if (object.encryptedData.length === 0) throw new Error("encrypted data is empty")
  checkSource(object)
  return object
}

/** A text that is the same for the same source only. */
export function sourceKey({ keyId, encryptedDEKSource, annotations, encryptedDEKSourceType }: EncryptedSource): string {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")
  const notes = Object.entries(annotations)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [key, base64(value)])
  return JSON.stringify([encryptedDEKSourceType, base64(encryptedDEKSource), keyId, notes])
}

/** How a key's id is shown in messages. */
export const idHash = (id: string): string =>
  id === "" ? "" : `sha256:${createHash("sha256").update(id).digest("hex")}`
