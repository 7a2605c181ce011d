import { describe, expect, test } from "bun:test"
import { createDeflate, constants, inflateSync } from "node:zlib"
import { HEADER_DICTIONARY, HEADER_DICTIONARY_ID } from "./dictionary.ts"
import { type Frame, FrameReader, FrameWriter } from "./frames.ts"
import { HeaderReader, HeaderWriter } from "./headers.ts"

const adler32 = (bytes: Buffer) => {
  let [a, b] = [1, 0]
  for (const byte of bytes) {
    a = (a + byte) % 65521
    b = (b + a) % 65521
  }
  return ((b << 16) | a) >>> 0
}

test("the dictionary is that of the specification", () => {
  expect(HEADER_DICTIONARY.length).toBe(1423)
  expect(adler32(HEADER_DICTIONARY)).toBe(HEADER_DICTIONARY_ID)
})

describe("header blocks", () => {
  const block = (headers: Record<string, string>) => {
    const parts = [Buffer.from([0, 0, 0, Object.keys(headers).length])]
    for (const text of Object.entries(headers).flat())
      parts.push(Buffer.from([0, 0, text.length >> 8, text.length & 255]), Buffer.from(text))
    return Buffer.concat(parts)
  }

  test("that zlib has compressed as one stream over many blocks are read", async () => {
    for (const level of [0, 1, 6, 9]) {
      const reader = new HeaderReader()
      const deflate = createDeflate({ dictionary: HEADER_DICTIONARY, level })
      const compress = (bytes: Buffer) =>
        new Promise<Buffer>((resolve) => {
          const chunks: Buffer[] = []
          const take = (chunk: Buffer) => void chunks.push(chunk)
          deflate.on("data", take)
          deflate.write(bytes)
          deflate.flush(constants.Z_SYNC_FLUSH, () => {
            deflate.off("data", take)
            resolve(Buffer.concat(chunks))
          })
        })
      for (let i = 0; i < 50; i++) {
        // Growing values with few symbols make dynamic codes and references into blocks before.
        const headers = {
          streamtype: i % 2 ? "error" : "data",
          port: "8080",
          requestid: String(i),
          long: "accept-encoding, ".repeat(i * 7) + "abcdefgh".repeat(i),
        }
        expect(reader.read(await compress(block(headers)))).toEqual(headers)
      }
      deflate.close()
    }
  })

  test("that this writer has compressed are read by zlib", () => {
    const writer = new HeaderWriter()
    const blocks = [{ streamtype: "stdin" }, { streamType: "stdout", a: "b" }].map((headers) => writer.write(headers))
    expect(blocks[0]!.subarray(0, 6).toString("hex")).toBe("78bbe3c6a7c2")
    const plain = inflateSync(Buffer.concat(blocks), {
      dictionary: HEADER_DICTIONARY,
      finishFlush: constants.Z_SYNC_FLUSH,
    })
    expect(plain).toEqual(Buffer.concat([block({ streamtype: "stdin" }), block({ streamtype: "stdout", a: "b" })]))
  })

  test.each([
    ["nothing", ""],
    ["data that are no zlib stream", "0000000000"],
    ["a truncated stream", "78bbe3c6a7c20005"],
    ["a stream with another dictionary", "78bb00000000"],
    ["an invalid block type", "78bbe3c6a7c2ff"],
  ])("of %s are refused", (_, hex) => {
    expect(() => new HeaderReader().read(Buffer.from(hex, "hex"))).toThrow()
  })
})

describe("frames", () => {
  // Written down from the layouts in the specification.
  test.each<[Frame, string]>([
    [{ type: "data", streamId: 5, fin: false, data: Buffer.from("hi") }, "00000005 00000002 6869"],
    [{ type: "data", streamId: 5, fin: true, data: Buffer.alloc(0) }, "00000005 01000000"],
    [{ type: "rstStream", streamId: 3, status: 5 }, "80030003 00000008 00000003 00000005"],
    [
      { type: "settings", entries: [{ id: 7, flags: 1, value: 65536 }] },
      "80030004 0000000c 00000001 01000007 00010000",
    ],
    [{ type: "ping", id: 2 }, "80030006 00000004 00000002"],
    [{ type: "goAway", lastGoodStreamId: 9, status: 0 }, "80030007 00000008 00000009 00000000"],
    [{ type: "windowUpdate", streamId: 1, delta: 4096 }, "80030009 00000008 00000001 00001000"],
    [
      {
        type: "synStream",
        streamId: 1,
        associatedTo: 0,
        priority: 2,
        fin: false,
        unidirectional: false,
        headers: { a: "b" },
      },
      "80030001 00000028 00000001 00000000 4000 78bbe3c6a7c2 000e00f1ff 00000001 00000001 61 00000001 62 000000ffff",
    ],
    [
      { type: "synReply", streamId: 1, fin: true, headers: {} },
      "80030002 01000018 00000001 78bbe3c6a7c2 000400fbff 00000000 000000ffff",
    ],
  ])("are encoded as in the specification: %j", (frame, hex) => {
    const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex")
    expect(new FrameWriter().write(frame).toString("hex")).toBe(bytes.toString("hex"))
    expect(new FrameReader().read(bytes)).toEqual([frame])
  })

  test("are read completely however the bytes are divided", () => {
    const writer = new FrameWriter()
    const frames: Frame[] = [
      {
        type: "synStream",
        streamId: 1,
        associatedTo: 0,
        priority: 0,
        fin: false,
        unidirectional: false,
        headers: { streamtype: "data" },
      },
      { type: "data", streamId: 1, fin: false, data: Buffer.from("x".repeat(1000)) },
      { type: "data", streamId: 1, fin: true, data: Buffer.alloc(0) },
      { type: "ping", id: 1 },
    ]
    const bytes = Buffer.concat(frames.map((frame) => writer.write(frame)))
    for (const size of [1, 3, 7, 500, 5000]) {
      const reader = new FrameReader()
      const read: Frame[] = []
      for (let at = 0; at < bytes.length; at += size) read.push(...reader.read(bytes.subarray(at, at + size)))
      expect(read).toEqual(frames)
    }
  })

  test("of unknown types are skipped, and those of another version are refused", () => {
    const unknown = Buffer.from("8003000b00000001ff", "hex")
    const ping = new FrameWriter().write({ type: "ping", id: 1 })
    expect(new FrameReader().read(Buffer.concat([unknown, ping]))).toEqual([{ type: "ping", id: 1 }])
    expect(() => new FrameReader().read(Buffer.from("8002000600000004ffffffff", "hex"))).toThrow("version is 2")
  })
})
