import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto"

/** A key pair for X25519 (RFC 7748). Each key has 32 bytes. */
export interface ExchangeKey {
  readonly privateKey: Buffer
  readonly publicKey: Buffer
}

/** The bytes before the 32 bytes of a private key in PKCS #8. Source: RFC 8410, section 7. */
const PKCS8 = Buffer.from("302e020100300506032b656e04220420", "hex")
const LENGTH = 32

export const newExchangeKey = (): ExchangeKey =>
  exchangeKeyOf(generateKeyPairSync("x25519").privateKey.export({ format: "der", type: "pkcs8" }).subarray(-LENGTH))

/** Returns the pair of a private key. @throws Error when the key does not have 32 bytes */
export function exchangeKeyOf(privateKey: Buffer): ExchangeKey {
  if (privateKey.length !== LENGTH) throw new Error(`a key of X25519 has ${LENGTH} bytes, not ${privateKey.length}`)
  const key = createPrivateKey({ key: Buffer.concat([PKCS8, privateKey]), format: "der", type: "pkcs8" })
  const publicKey = createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-LENGTH)
  return { privateKey, publicKey }
}
