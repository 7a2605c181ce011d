import { Buffer } from "node:buffer"
import { createHmac } from "node:crypto"
import type { Random } from "../../../../pkg/clock/random.ts"
import { aesGcm, TOO_SHORT, type Cipher } from "../aes.ts"

export const SEED_BYTES = 32
const INFO_BYTES = 32

/**
 * AES-GCM with a key of its own for each value: HKDF's expansion of the seed by 32 random bytes, which stand before the
 * value. So no number of writes wears the seed out. Source: apiserver
 * pkg/storage/value/encrypt/aes/aes_extended_nonce.go; RFC 5869, 2.3. @throws Error for a seed that is too short
 */
export function seedCipher(seed: Uint8Array, random: Random): Cipher {
  if (seed.length < SEED_BYTES) throw new Error(`invalid seed length ${seed.length} used for key generation`)
  const derived = (info: Uint8Array) => aesGcm(derivedKey(seed, info), random)
  return {
    encrypt(plain, associated) {
      const info = random.bytes(INFO_BYTES)
      return Buffer.concat([info, derived(info).encrypt(plain, associated)])
    },
    decrypt(sealed, associated) {
      if (sealed.length < INFO_BYTES) throw new Error(TOO_SHORT)
      return derived(sealed.subarray(0, INFO_BYTES)).decrypt(sealed.subarray(INFO_BYTES), associated)
    },
  }
}

/** HKDF's expansion with SHA-256, as far as its first block goes: 32 bytes. */
export const derivedKey = (seed: Uint8Array, info: Uint8Array): Buffer =>
  createHmac("sha256", seed).update(info).update(FIRST_BLOCK).digest()

/** The counter behind `info`. */
const FIRST_BLOCK = Buffer.from([1])
