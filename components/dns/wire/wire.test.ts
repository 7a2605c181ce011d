import { describe, expect, test } from "bun:test"
import { decode, encode, type Answer, type Packet } from "dns-packet"
import { query as packet, type Decoded } from "../dns.fixtures.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { HEADER_BYTES, layoutOf } from "./layout.ts"
import { RCODE, readQuery, type Query } from "./query.ts"
import { questionOf } from "./question.ts"
import { failure, passReply, writeRefusal, writeReply } from "./reply.ts"

const UDP = { address: "10.0.0.1", protocol: "udp" } as const
const TCP = { address: "10.0.0.1", protocol: "tcp" } as const

function read(message: Packet | Buffer, client: typeof UDP | typeof TCP = UDP): Query {
  const query = readQuery(Buffer.isBuffer(message) ? message : encode(message), client)
  if (typeof query !== "object") throw new Error(`refused with ${query}`)
  return query
}
const changed = (message: Buffer, change: (copy: Buffer) => void): Buffer => {
  const copy = Buffer.from(message)
  change(copy)
  return copy
}
const plain = encode(packet("Web.Example", "A"))
const address = (name: string, last: number): Answer => ({
  name,
  type: "A",
  ttl: 30,
  class: "IN",
  data: `10.0.0.${last}`,
})

describe("a question", () => {
  test("is read with its name in lower case", () => {
    expect(read(plain)).toMatchObject({ name: "web.example", type: 1, hasEdns: false, dnssecOk: false, limit: 512 })
  })

  test("has a name in which labels that contain dots, backslashes or letters beyond ASCII are like no others", () => {
    // given
    const asked = (...labels: readonly string[]) =>
      Buffer.concat([
        plain.subarray(0, HEADER_BYTES),
        ...labels.flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, "latin1")]),
        Buffer.from([0, 0, 1, 0, 1]),
      ])
    const all = [["a.b"], ["a\\", "b"], ["a", "b"], ["a\\.b"], ["a\\046b"], ["a\\092", "b"], ["\xc0"], ["\xe0"]]
    // when
    const names = all.map((labels) => read(asked(...labels)).name)
    // then
    expect(new Set(names).size).toBe(all.length)
    expect(names.filter((name) => name.endsWith(".b"))).toHaveLength(3)
    // and it is passed on under another name with the same bytes
    for (const [i, labels] of all.entries())
      expect(questionOf(read(plain), names[i]).message.subarray(HEADER_BYTES)).toEqual(
        asked(...labels.map((label) => label.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()))).subarray(
          HEADER_BYTES,
        ),
      )
    // and the records of an answer stand under it
    const escaped = read(asked("a.b", "c\\"))
    const reply = writeReply(escaped, { ...failure(0, ""), answers: [address(escaped.name, 1)] })
    expect(reply.subarray(escaped.questionEnd, escaped.questionEnd + 4)).toEqual(Buffer.from([0xc0, 12, 0, 1]))
    expect(layoutOf(reply).records).toHaveLength(1)
  })

  test.each([
    { title: "over UDP without EDNS", size: undefined, client: UDP, wants: 512 },
    { title: "over UDP with a small EDNS size", size: 100, client: UDP, wants: 512 },
    { title: "over UDP with an EDNS size", size: 1000, client: UDP, wants: 1000 },
    { title: "over UDP with an EDNS size that would need fragments", size: 4096, client: UDP, wants: 1232 },
    { title: "over TCP", size: 512, client: TCP, wants: 65_535 },
  ])("$title allows an answer of $wants bytes", ({ size, client, wants }) => {
    expect(read(packet("a", "A", size), client).limit).toBe(wants)
  })

  const withEdns = encode(packet("a.b", "A", 1232))
  test.each([
    {
      title: "a message that is an answer gets no response",
      message: changed(plain, (copy) => copy.writeUInt8(0x81, 2)),
      wants: undefined,
    },
    { title: "a message that is too short gets no response", message: plain.subarray(0, 11), wants: undefined },
    {
      title: "another opcode",
      message: changed(plain, (copy) => copy.writeUInt8(0x28, 2)),
      wants: RCODE.notImplemented,
    },
    { title: "two questions", message: changed(plain, (copy) => copy.writeUInt16BE(2, 4)), wants: RCODE.formatError },
    { title: "a truncated question", message: plain.subarray(0, 20), wants: RCODE.formatError },
    { title: "a truncated record", message: withEdns.subarray(0, -1), wants: RCODE.formatError },
    {
      title: "a compressed name",
      message: changed(plain, (copy) => copy.writeUInt16BE(0xc00c, 12)),
      wants: RCODE.formatError,
    },
    {
      title: "another class",
      message: changed(plain, (copy) => copy.writeUInt16BE(3, copy.length - 2)),
      wants: RCODE.refused,
    },
    {
      title: "another version of EDNS",
      message: changed(withEdns, (copy) => copy.writeUInt8(1, copy.length - 5)),
      wants: RCODE.badVersion,
    },
  ])("$title is refused with $wants", ({ message, wants }) => {
    expect(readQuery(message, UDP)).toBe(wants as number)
  })

  test("of random bytes is read or refused, but never throws", () => {
    const random = seededRandom(7)
    for (let i = 0; i < 20_000; i++) {
      const message = Buffer.from(i % 2 === 0 ? random.bytes(Math.floor(random.next() * 64)) : withEdns)
      for (let flips = 0; flips < 3 && message.length > 0; flips++)
        message[Math.floor(random.next() * message.length)] = Math.floor(random.next() * 256)
      const query = readQuery(message, UDP)
      if (typeof query === "object") expect(writeReply(query, failure(RCODE.refused, "")).length).toBeGreaterThan(11)
      if (typeof query === "number") expect(writeRefusal(message, query).length).toBeGreaterThan(11)
    }
  })
})

describe("an answer of the cluster's own names", () => {
  const reply = { ...failure(RCODE.noError, "test"), authoritative: true }

  test("repeats the question as the client wrote it, and its records point to that name", () => {
    const bytes = writeReply(read(plain), { ...reply, answers: [address("web.example", 1)] })
    expect(bytes.length).toBe(plain.length + 16)
    expect(decode(bytes)).toMatchObject({
      id: 7,
      flag_aa: true,
      flag_rd: true,
      flag_tc: false,
      questions: [{ name: "Web.Example" }],
      answers: [{ name: "Web.Example", data: "10.0.0.1" }],
    })
  })

  test("leaves out additional records that do not fit, without being marked as truncated", () => {
    const additionals = Array.from({ length: 40 }, (_, i) => address(`host-${i}.example`, i))
    const answer = decode(writeReply(read(plain), { ...reply, answers: [address("web.example", 1)], additionals }))
    expect(answer.flag_tc).toBe(false)
    expect(answer.additionals!.length).toBeWithin(10, 20)
  })

  test("repeats the question in a refusal of its class, since clients drop an answer to another question", () => {
    const chaos = changed(plain, (copy) => copy.writeUInt16BE(3, copy.length - 2))
    const refusal = decode(writeRefusal(chaos, RCODE.refused)) as Decoded
    expect([refusal.id, refusal.rcode, refusal.questions]).toEqual([
      7,
      "REFUSED",
      [{ name: "Web.Example", type: "A", class: "CH" }],
    ])
  })

  test("has an OPT record, with the upper bits of the code, only for clients that sent one", () => {
    const options = (message: Buffer) => (decode(message).additionals ?? []).map(({ type }) => type)
    expect(options(writeReply(read(packet("a", "A")), reply))).toEqual([])
    expect(options(writeReply(read(packet("a", "A", 1232)), reply))).toEqual(["OPT"])
    const refusal = decode(writeRefusal(plain, RCODE.badVersion)) as Decoded
    expect(refusal.additionals).toMatchObject([{ type: "OPT", extendedRcode: 1 }])
  })
})

describe("a forwarded answer", () => {
  const theirs = encode({
    type: "response",
    id: 999,
    flags: 1 << 7,
    questions: [{ name: "web.example", type: "A" }],
    answers: Array.from({ length: 40 }, (_, i) => address("web.example", i)),
  })

  test("has the id and the spelling of the client's query, and reduced TTLs", () => {
    const answer = decode(passReply(read(plain, TCP), theirs, 10))
    expect(answer).toMatchObject({ id: 7, questions: [{ name: "Web.Example" }] })
    expect(answer.answers).toHaveLength(40)
    expect(answer.answers![0]).toMatchObject({ ttl: 20 })
  })

  test("is truncated after a whole record when it does not fit, and is marked as truncated", () => {
    const bytes = passReply(read(plain), theirs, 0)
    expect(bytes.length).toBeLessThanOrEqual(512)
    const answer = decode(bytes)
    expect([answer.flag_tc, answer.answers?.length]).toEqual([true, layoutOf(bytes).records.length])
  })
})
