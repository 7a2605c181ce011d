/** The only source of random numbers in k3ts, so that a seed makes a whole cluster repeatable. */
export interface Random {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number
  /** Returns `count` bytes. The bytes of the system's source are fit for secrets. */
  bytes(count: number): Uint8Array
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: pooledBytes(),
}

/** The system gives no more bytes in a call. Source: W3C Web Cryptography API, getRandomValues. */
const MOST_BYTES = 65_536

/** The runtime's `crypto`, not `node:crypto`, which takes milliseconds to load where it is not needed otherwise. */
function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count)
  for (let at = 0; at < count; at += MOST_BYTES) crypto.getRandomValues(bytes.subarray(at, at + MOST_BYTES))
  return bytes
}

/** Bytes fetched at once, because each call of the system takes over a microsecond, and each uid needs one. */
const POOL_BYTES = 4096

/**
 * Returns a function that takes random bytes from a pool. The pool overwrites the bytes it has returned, because they
 * may be a key.
 */
function pooledBytes(): (count: number) => Uint8Array {
  let pool = new Uint8Array(0)
  let used = 0
  return (count) => {
    if (count > POOL_BYTES / 4) return randomBytes(count)
    if (used + count > pool.length) {
      pool = randomBytes(POOL_BYTES)
      used = 0
    }
    const given = pool.slice(used, used + count)
    pool.fill(0, used, (used += count))
    return given
  }
}

/**
 * Returns a repeatable source: the same seed gives the same sequence. The algorithm is mulberry32; not fit for secrets.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next32 = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return (t ^ (t >>> 14)) >>> 0
  }
  const next = () => next32() / 2 ** 32
  const bytes = (count: number) => {
    const made = new Uint8Array(count)
    for (let i = 0; i < count; i++) made[i] = next32() >>> 24
    return made
  }
  return { next, bytes }
}

/** Returns a version 4 UUID, as for metadata.uid. */
export function uuid(random: Random): string {
  if (random === systemRandom) return crypto.randomUUID() // in one native call
  const bytes = random.bytes(16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  // Decoded from bytes instead of concatenated: each concatenation would keep all of its parts in memory.
  const text = Buffer.allocUnsafe(36)
  let at = 0
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text[at++] = HYPHEN
    text[at++] = DIGITS[bytes[i]! >> 4]!
    text[at++] = DIGITS[bytes[i]! & 15]!
  }
  return text.toString("latin1")
}
const HYPHEN = "-".charCodeAt(0)
const DIGITS = Buffer.from("0123456789abcdef")

/**
 * Has no vowels and no characters that look alike, so that names contain no words and are not misread. Source:
 * apimachinery pkg/util/rand.
 */
const ALPHANUMS = "bcdfghjklmnpqrstvwxz2456789"

/** Returns `length` characters for the end of a name, as generateName and controllers append them. */
export function nameSuffix(random: Random, length = 5): string {
  let text = ""
  for (let i = 0; i < length; i++) text += ALPHANUMS[Math.floor(random.next() * ALPHANUMS.length)]!
  return text
}
