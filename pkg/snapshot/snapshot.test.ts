import { describe, expect, test } from "bun:test"
import { zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { createHash } from "node:crypto"
import { BLOCK_BYTES, encodeIndex, readIndex, SNAPSHOT_FORMAT, type SnapshotIndex } from "./format.ts"
import { packSnapshot, type SnapshotContents } from "./pack.ts"
import type { SnapshotRecord } from "./records.ts"
import { bytesSource } from "./sources.ts"
import { openSnapshot, verifySnapshot } from "./unpack.ts"

const INFO = { revision: 9000, time: 1_800_000_000_000, version: "1.2.3", node: "node-1", cluster: "uid-1" }
const bytes = (text: string) => new TextEncoder().encode(text)

/** Objects of 10 KB and two files, so that there are several blocks. */
function contents(count: number): SnapshotContents {
  const objects = Array.from({ length: count }, (_, i) => ({
    key: `/registry/core/configmaps/default/c${i}`,
    revision: 2 * i + 2,
    created: i + 1,
    time: INFO.time + i,
    transient: i % 3 === 0,
    seldomRead: i % 5 === 0,
    value: bytes(`{"n":${i},\n"text":"${String(i).repeat(3000)}é"}`),
  }))
  const files = [
    { path: "token", content: bytes("secret\n") },
    { path: "tls/server-ca.key", content: new Uint8Array([0, 10, 255]) },
  ]
  return { info: INFO, objects, files }
}

async function packed(from: SnapshotContents, compression: SnapshotIndex["compression"] = "zstd"): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(packSnapshot(from, compression)))
}

async function unpacked(file: Uint8Array): Promise<SnapshotRecord[]> {
  const snapshot = await openSnapshot(bytesSource(file))
  return Array.fromAsync(snapshot.records())
}

describe("a snapshot", () => {
  for (const compression of ["zstd", "none"] as const)
    test(`returns every file and object byte for byte (${compression})`, async () => {
      // given more objects than a block holds
      const given = contents(1000)

      // when they are packed
      const file = await packed(given, compression)

      // then they come out as they went in
      expect(await unpacked(file)).toEqual([...given.files, ...(given.objects as never[])].map(withBuffers))
      const index = await readIndex(bytesSource(file))
      expect(index).toMatchObject({ ...INFO, format: SNAPSHOT_FORMAT, compression, objects: 1000, files: 2 })
      expect(index.blocks.length).toBeGreaterThan(2)
      expect(Math.max(...index.blocks.map(([, raw]) => raw))).toBeLessThan(BLOCK_BYTES + 20_000)
    })

  test("that is compressed is a zstd file for other programs", async () => {
    const file = await packed(contents(1))
    expect(zstdDecompressSync(file).toString()).toContain('{"file":"token","bytes":7}\nsecret\n')
  })
})

const withBuffers = (record: SnapshotRecord): SnapshotRecord =>
  "path" in record
    ? { ...record, content: Buffer.from(record.content) }
    : { ...record, value: Buffer.from(record.value) }

describe("a snapshot is refused", () => {
  const changed = (file: Buffer, at: number) => {
    const copy = Buffer.from(file)
    copy[at]! ^= 1
    return copy
  }
  const table: readonly { title: string; given: (file: Buffer) => Buffer; wants: RegExp }[] = [
    { title: "with a changed byte in a block", given: (file) => changed(file, 5000), wants: /is damaged/ },
    {
      title: "with a changed byte in its index",
      given: (file) => changed(file, file.length - 40),
      wants: /index does/,
    },
    { title: "that was cut off", given: (file) => file.subarray(0, -1), wants: /its end is missing/ },
    { title: "that is empty", given: () => Buffer.alloc(0), wants: /its end is missing/ },
    {
      title: "with bytes before it",
      given: (file) => Buffer.concat([Buffer.alloc(3), file]),
      wants: /its length is not what its index says/,
    },
  ]
  for (const { title, given, wants } of table)
    test(`${title}, before its last record is returned`, async () => {
      const file = given(await packed(contents(1000), "none"))
      await expect(unpacked(file)).rejects.toThrow(wants)
      await expect(verifySnapshot(bytesSource(file))).rejects.toThrow(wants)
    })

  /** A snapshot of one block, whose index says what `index` says. */
  function made(stored: Uint8Array, raw: number, index: Partial<SnapshotIndex> = {}): Buffer {
    const sha256 = createHash("sha256").update(stored).digest("hex")
    const blocks = [[stored.length, raw]] as const
    const whole = {
      format: SNAPSHOT_FORMAT,
      ...INFO,
      compression: "zstd",
      objects: 0,
      files: 0,
      blocks,
      sha256,
    } as const
    return Buffer.concat([stored, encodeIndex({ ...whole, ...index })])
  }

  test("of a later format, with its number", async () => {
    const file = made(Buffer.alloc(0), 0, { format: SNAPSHOT_FORMAT + 1 })
    await expect(readIndex(bytesSource(file))).rejects.toThrow(
      /has format 2, this version of k3ts reads formats up to 1/,
    )
  })

  test("that expands to more than its index says, without allocating memory for it", async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 2 ** 20))
    await expect(unpacked(made(bomb, 1000))).rejects.toThrow(/cannot be decompressed/)
  })

  test("whose index has a block that is too large", async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 2 ** 20))
    await expect(unpacked(made(bomb, 200 * 2 ** 20))).rejects.toThrow(/index has an unknown form/)
  })

  test("whose records claim more bytes than there are", async () => {
    const stored = zstdCompressSync(bytes('{"file":"x","bytes":99}\nabc\n'))
    await expect(unpacked(made(stored, 28, { files: 1 }))).rejects.toThrow(
      /length of a record is not what its first line says/,
    )
  })
})
