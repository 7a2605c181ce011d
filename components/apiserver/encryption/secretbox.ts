import { Buffer } from "node:buffer"
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js"
import type { Random } from "../../../pkg/clock/random.ts"
import { TOO_SHORT, type Cipher } from "./aes.ts"

const NONCE_BYTES = 24
const TAG_BYTES = 16

/** XSalsa20 and Poly1305, NaCl's secretbox: a nonce of 24 random bytes, the tag, the encrypted bytes. */
export function secretbox(key: Uint8Array, random: Random): Cipher {
  return {
    encrypt(plain) {
      const nonce = random.bytes(NONCE_BYTES)
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(plain)])
    },
    decrypt(sealed) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Error(TOO_SHORT)
      try {
        // Copied, because a part of a row of SQLite may lie at any place, and words are read here.
        return xsalsa20poly1305(key, sealed.slice(0, NONCE_BYTES)).decrypt(sealed.slice(NONCE_BYTES))
      } catch (cause) {
        throw new Error("the value was not encrypted with this key, or has been changed", { cause })
      }
    },
  }
}
