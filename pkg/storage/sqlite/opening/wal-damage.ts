import type { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC_LITTLE = 0x377f0682
const MAGIC_BIG = 0x377f0683

/**
 * Returns what is wrong with the write-ahead log of a database that no process has open; undefined if nothing is.
 * SQLite takes the first invalid frame for the end of the log and silently drops commits after it. After a crash of the
 * machine an invalid end is normal, and contains no acknowledged write: since each commit is on disk before the next
 * begins, at most one transaction, which ends with its commit frame, can be incomplete. So a commit of the same log
 * after an invalid frame means that the data on disk has changed. Source: sqlite.org/fileformat2.html, section 4.
 */
export function walDamage(path: string): string | undefined {
  const wal = readFileSync(path)
  // A header that was never synced to disk is zeros, or too short.
  if (wal.length <= HEADER || wal.subarray(0, HEADER).every((byte) => byte === 0)) return undefined
  const magic = wal.readUInt32BE(0)
  if (magic !== MAGIC_LITTLE && magic !== MAGIC_BIG) return "its head is not one"
  const little = magic === MAGIC_LITTLE
  let sum = checksum(wal.subarray(0, 24), [0, 0], little)
  if (sum[0] !== wal.readUInt32BE(24) || sum[1] !== wal.readUInt32BE(28)) return "its head does not match its checksum"
  const size = FRAME_HEADER + wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  let [valid, committed] = [true, false]
  for (let at = HEADER; at + size <= wal.length; at += size) {
    // Frames of an earlier round of the log have other salts, and come after those of this one.
    const own = wal.subarray(at + 8, at + 16).equals(salts)
    if (valid) {
      sum = checksum(
        wal.subarray(at + FRAME_HEADER, at + size),
        checksum(wal.subarray(at, at + 8), sum, little),
        little,
      )
      valid = own && sum[0] === wal.readUInt32BE(at + 16) && sum[1] === wal.readUInt32BE(at + 20)
      if (valid) continue
    }
    if (!own) continue
    if (committed) return `what was committed after byte ${at} cannot be read`
    committed = wal.readUInt32BE(at + 4) !== 0
  }
  return undefined
}

/** SQLite's running checksum over 32-bit words, in the byte order that the log was written with. */
function checksum(bytes: Buffer, [first, second]: readonly [number, number], little: boolean): [number, number] {
  let [a, b] = [first, second]
  for (let i = 0; i < bytes.length; i += 8) {
    a = (a + (little ? bytes.readUInt32LE(i) : bytes.readUInt32BE(i)) + b) >>> 0
    b = (b + (little ? bytes.readUInt32LE(i + 4) : bytes.readUInt32BE(i + 4)) + a) >>> 0
  }
  return [a, b]
}
