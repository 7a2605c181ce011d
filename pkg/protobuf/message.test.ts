import { describe, expect, test } from "bun:test"
import { enumeration, field, map, message, repeated, type DecodedOf, type InitOf } from "./message.ts"
import { ProtobufError, Reader } from "./reader.ts"
import { Writer } from "./writer.ts"

const State = enumeration({ READY: 0, NOT_READY: 1 })
const Port = message({ containerPort: field(2, "int32"), hostIp: field(4, "string") })
const Pod = message({
  name: field(1, "string"),
  uid: field(2, "bytes"),
  privileged: field(3, "bool"),
  exitCode: field(4, "int32"),
  createdAt: field(5, "int64"),
  limit: field(6, "uint64"),
  state: field(7, State),
  groups: repeated(8, "int64"),
  args: repeated(9, "string"),
  ports: repeated(10, Port),
  labels: map(11, "string"),
  port: field(12, Port),
  byName: map(13, Port),
  ratio: field(200, "double"),
})

describe("message", () => {
  test("decodes what it has encoded", () => {
    // given a value that uses every kind of field
    const value: InitOf<typeof Pod> = {
      name: "wéb",
      uid: new Uint8Array([1, 2, 3]),
      privileged: true,
      exitCode: -1,
      createdAt: 1_700_000_000_123_000,
      limit: 2 ** 53,
      state: "NOT_READY",
      groups: [0, -1, 1000, 2 ** 40],
      args: ["", "sh", "-c"],
      ports: [{ containerPort: 80 }, { hostIp: "127.0.0.1" }],
      labels: { app: "web", "": "empty key", __proto__x: "y" },
      port: {},
      byName: { http: { containerPort: 8080 }, none: {} },
      ratio: 0.25,
    }
    // when it goes over the wire
    const decoded = Pod.decode(Pod.encode(value))
    // then it is the same, with zero values filled in
    expect(decoded).toEqual({
      ...(value as DecodedOf<typeof Pod>),
      ports: [
        { containerPort: 80, hostIp: "" },
        { containerPort: 0, hostIp: "127.0.0.1" },
      ],
      port: { containerPort: 0, hostIp: "" },
      byName: { http: { containerPort: 8080, hostIp: "" }, none: { containerPort: 0, hostIp: "" } },
    })
  })

  test("leaves zero values out and adds them again when decoding", () => {
    // given zero values and absent ones
    const bytes = Pod.encode({ name: "", exitCode: 0, state: "READY", args: [], labels: {}, port: undefined })
    // then nothing is written
    expect(bytes.length).toBe(0)
    // and all but nested messages is there when read
    expect(Pod.decode(bytes)).toEqual({
      name: "",
      uid: new Uint8Array(0),
      privileged: false,
      exitCode: 0,
      createdAt: 0,
      limit: 0,
      state: "READY",
      groups: [],
      args: [],
      ports: [],
      labels: {},
      byName: {},
      ratio: 0,
    })
  })

  test("keeps a map key named __proto__ as a key", () => {
    // given an entry whose key would be the prototype
    const Labels = message({ labels: map(1, "string") })
    const bytes = Labels.encode({ labels: JSON.parse('{"__proto__":"x"}') })
    // then it comes back as an own property
    expect(Object.entries(Labels.decode(bytes).labels)).toEqual([["__proto__", "x"]])
  })

  test("reads an entry of a map without a value as one with an empty value", () => {
    // given entries that have a key only
    const Entries = message({ texts: map(1, "string"), messages: map(2, message({ error: field(1, "string") })) })
    const writer = new Writer()
    for (const number of [1, 2]) {
      writer.tag(number, 2)
      const mark = writer.begin()
      writer.tag(1, 2)
      writer.string("key")
      writer.end(mark)
    }
    // then
    expect(Entries.decode(writer.finish())).toEqual({ texts: { key: "" }, messages: { key: { error: "" } } })
  })

  test("reads a list of numbers in both forms and skips unknown fields", () => {
    // given a writer of an old version and with fields from the future
    const writer = new Writer()
    for (const gid of [5, 6]) {
      writer.tag(8, 0)
      writer.int64(gid)
    }
    writer.tag(99, 2)
    writer.string("future")
    writer.tag(98, 1)
    writer.double(1)
    writer.tag(97, 5)
    writer.fixed32(1)
    writer.tag(7, 0)
    writer.int32(77)
    // when it is read
    const pod = Pod.decode(writer.finish())
    // then the list is whole and an unknown enum number is the zero name
    expect(pod.groups).toEqual([5, 6])
    expect(pod.state).toBe("READY")
  })

  test("refuses two fields with the same number", () => {
    expect(() => message({ a: field(1, "string"), b: field(1, "bool") })).toThrow("b has the number 1 of another field")
  })
})

describe("Reader and Writer", () => {
  test.each([
    0n,
    1n,
    127n,
    128n,
    300n,
    2n ** 31n,
    2n ** 32n - 1n,
    2n ** 32n,
    2n ** 53n,
    2n ** 63n - 1n,
    -1n,
    -128n,
    -(2n ** 31n),
    -(2n ** 32n),
    -(2n ** 53n),
    -(2n ** 63n),
  ])("carries the 64-bit number %p exactly", (value) => {
    const writer = new Writer()
    writer.int64(value)
    writer.sint64(value)
    writer.fixed64(value)
    const wasNumber = BigInt(Number(value)) === value && value < 2n ** 63n
    if (wasNumber) writer.int64(Number(value))
    const reader = new Reader(writer.finish())
    expect(reader.int64Exact()).toBe(value)
    expect(reader.sint64()).toBe(Number(value))
    expect(BigInt.asIntN(64, reader.fixed64())).toBe(value)
    if (wasNumber) expect(reader.int64()).toBe(Number(value))
  })

  test.each([
    ["int32 -1", (w: Writer) => w.int32(-1), [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]],
    ["int32 300", (w: Writer) => w.int32(300), [0xac, 0x02]],
    ["uint32 max", (w: Writer) => w.uint32(0xffffffff), [255, 255, 255, 255, 15]],
    ["sint32 -2", (w: Writer) => w.sint32(-2), [3]],
    ["uint64 max", (w: Writer) => w.uint64(2 ** 64), [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]],
    ["string", (w: Writer) => w.string("testing"), [7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]],
    ["float", (w: Writer) => w.float(1), [0, 0, 0x80, 0x3f]],
  ])("encodes %s as the specification shows", (_name, write, bytes) => {
    const writer = new Writer()
    write(writer)
    expect([...writer.finish()]).toEqual(bytes)
  })

  test.each([0, 1, 8, 9, 12, 13, 42, 43, 127, 128, 5_000, 20_000])(
    "encodes strings of %p characters, also outside ASCII",
    (length) => {
      const texts = ["a", "é", "€", "😀"].map((character) => character.repeat(length))
      const writer = new Writer(1)
      for (const text of texts) writer.string(text)
      const reader = new Reader(writer.finish())
      expect(texts.map(() => reader.string())).toEqual(texts)
      expect(reader.more()).toBe(false)
    },
  )

  test("moves a nested message when its length takes more than a byte", () => {
    const writer = new Writer()
    const sizes = [0, 127, 128, 16_383, 16_384, 2_097_152]
    const outer = writer.begin()
    for (const size of sizes) {
      const mark = writer.begin()
      writer.raw(new Uint8Array(size).fill(7))
      writer.end(mark)
    }
    writer.end(outer)
    const reader = new Reader(writer.finish())
    reader.enter()
    expect(sizes.map(() => reader.bytes().length)).toEqual(sizes)
  })

  test.each([
    ["a string longer than the data", [0x0a, 0x05, 0x61]],
    ["a varint without end", [0x08, 0x80]],
    ["a varint of eleven bytes", [0x08, ...new Array<number>(10).fill(0x80), 0x01]],
    ["a nested message longer than its parent", [0x62, 0x03, 0x22, 0x05, 0x61]],
    ["field number 0", [0x00, 0x01]],
    ["wire type 7", [0xff, 0x01]],
    ["a truncated fixed64", [0xc1, 0x0c, 1, 2]],
    ["a group without end", [0x9b, 0x06, 0x08, 0x01]],
  ])("refuses %s", (_name, bytes) => {
    expect(() => Pod.decode(new Uint8Array(bytes))).toThrow(ProtobufError)
  })

  test("throws ProtobufError or decodes, whatever the bytes are", () => {
    // given every prefix of a good message, and each with one byte changed
    const good = Pod.encode({
      name: "web",
      groups: [1, -1],
      labels: { a: "b" },
      ports: [{ containerPort: 80 }],
      ratio: 1,
    })
    const attempt = (bytes: Uint8Array) => {
      try {
        Pod.decode(bytes)
      } catch (err) {
        if (!(err instanceof ProtobufError)) throw err
      }
    }
    // then nothing else is thrown
    for (let i = 0; i < good.length; i++) {
      attempt(good.subarray(0, i))
      for (let value = 0; value < 256; value++) {
        const changed = new Uint8Array(good)
        changed[i] = value
        attempt(changed)
      }
    }
  })

  test("refuses nesting beyond a hundred levels", () => {
    const reader = new Reader(new Uint8Array(200).map((_, i) => 199 - i))
    expect(() => {
      for (;;) reader.enter()
    }).toThrow(ProtobufError)
  })
})

test("bytes in base64 are written as the bytes that they stand for, whatever their number", () => {
  for (const length of [0, 1, 2, 3, 95, 96, 97, 127, 128, 129, 300]) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => i % 256))
    const [text, plain] = [new Writer(8), new Writer(8)]
    text.base64(bytes.toString("base64"))
    plain.bytes(bytes)
    expect([length, Buffer.from(text.finish())]).toEqual([length, Buffer.from(plain.finish())])
  }
})
