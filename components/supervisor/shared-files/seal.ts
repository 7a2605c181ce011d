/**
 * Encryption with a password: AES-256-GCM, with a key that scrypt derives from the password and a random salt. The
 * parameters of scrypt follow from the version and are not read from the sealed bytes: whoever can write these must not
 * decide how much work their reader does.
 */
import { Buffer } from "node:buffer"
import { createCipheriv, createDecipheriv, scrypt } from "node:crypto"
import type { Random } from "../../../pkg/clock/random.ts"

const VERSION = "k3ts-sealed-1"
const SALT_BYTES = 16
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
/** Each derivation of a key takes 32 MiB and about 50 ms. */
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 }

/** Encrypts `plain`. The result begins with the version of the format. */
export async function seal(plain: string, password: string, random: Random): Promise<Uint8Array> {
  const salt = random.bytes(SALT_BYTES)
  const nonce = random.bytes(NONCE_BYTES)
  const cipher = createCipheriv("aes-256-gcm", await keyOf(password, salt), nonce)
  cipher.setAAD(Buffer.from(VERSION))
  const sealed = [cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]
  return Buffer.from(`${VERSION}:${Buffer.concat([salt, nonce, ...sealed]).toString("base64")}`)
}

/**
 * Decrypts; returns undefined when the text was sealed with another password. @throws Error when `bytes` are not of
 * this format
 */
export async function unseal(bytes: Uint8Array, password: string): Promise<string | undefined> {
  const [version, encoded = ""] = Buffer.from(bytes).toString("latin1").split(":")
  const all = Buffer.from(encoded, "base64")
  if (version !== VERSION || all.length < SALT_BYTES + NONCE_BYTES + TAG_BYTES)
    throw new Error(
      `it does not begin with ${VERSION}, or is cut off: another version has written it, or it is damaged`,
    )
  const salt = all.subarray(0, SALT_BYTES)
  const nonce = all.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES)
  const decipher = createDecipheriv("aes-256-gcm", await keyOf(password, salt), nonce)
  decipher.setAAD(Buffer.from(VERSION))
  decipher.setAuthTag(all.subarray(-TAG_BYTES))
  try {
    const plain = decipher.update(all.subarray(SALT_BYTES + NONCE_BYTES, -TAG_BYTES))
    return Buffer.concat([plain, decipher.final()]).toString("utf8")
  } catch {
    return undefined
  }
}

const keyOf = (password: string, salt: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) =>
    scrypt(password, salt, KEY_BYTES, SCRYPT, (err, key) => (err instanceof Error ? reject(err) : resolve(key))),
  )
