import { Buffer } from "node:buffer"
import { createCipheriv, createDecipheriv } from "node:crypto"
import type { Random } from "../../../pkg/clock/random.ts"

/** Encrypts bytes with one key. `associated` is not encrypted, but decrypting takes the same again. */
export interface Cipher {
  encrypt(plain: Uint8Array, associated: Uint8Array): Uint8Array
  /** @throws Error in upstream's words */
  decrypt(sealed: Uint8Array, associated: Uint8Array): Uint8Array
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const BLOCK_BYTES = 16

export const TOO_SHORT = "the stored data was shorter than the required size"

/** AES-GCM: a nonce of 12 random bytes, the encrypted bytes, the tag. `key` has 16, 24 or 32 bytes. */
export function aesGcm(key: Uint8Array, random: Random): Cipher {
  const algorithm = `aes-${key.length * 8}-gcm` as "aes-256-gcm"
  return {
    encrypt(plain, associated) {
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: TAG_BYTES }).setAAD(associated)
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    decrypt(sealed, associated) {
      if (sealed.length < NONCE_BYTES) throw new Error(TOO_SHORT)
      try {
        const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        decipher.setAAD(associated).setAuthTag(sealed.subarray(-TAG_BYTES))
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch (cause) {
        throw new Error("cipher: message authentication failed", { cause })
      }
    },
  }
}

/**
 * AES-CBC: an initialization vector of 16 random bytes and the padded, encrypted bytes. Nothing authenticates them, so
 * whoever can change the database can change values: the others are better. Every failure has the same words, which do
 * not tell whether the padding was right.
 */
export function aesCbc(key: Uint8Array, random: Random): Cipher {
  const algorithm = `aes-${key.length * 8}-cbc`
  return {
    encrypt(plain) {
      const vector = random.bytes(BLOCK_BYTES)
      const cipher = createCipheriv(algorithm, key, vector)
      return Buffer.concat([vector, cipher.update(plain), cipher.final()])
    },
    decrypt(sealed) {
      if (sealed.length < 2 * BLOCK_BYTES) throw new Error(TOO_SHORT)
      try {
        const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, BLOCK_BYTES))
        return Buffer.concat([decipher.update(sealed.subarray(BLOCK_BYTES)), decipher.final()])
      } catch (cause) {
        throw new Error("invalid padding on input", { cause })
      }
    },
  }
}
