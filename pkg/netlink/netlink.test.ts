import { describe, expect, test } from "bun:test"
import { addAddress, addressBytes, hardwareBytes, linkIn, setUp } from "./links.ts"
import { message, repliesIn } from "./message.ts"
import { addElements, FAMILY_BRIDGE, interfaceKey, removeElements } from "./set-elements.ts"
import { list, request, type NetlinkFile } from "./socket.ts"

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

describe("a netlink message", () => {
  test("adds an IPv6 address that can be used at once", () => {
    // length, NEWADDR, flags, sequence, port; family, prefix, flags, scope, index; IFA_LOCAL, IFA_ADDRESS, IFA_FLAGS
    expect(hex(addAddress(2, "fd42::5/64"))).toBe(
      "48000000" +
        "1400" +
        "0506" +
        "0000000000000000" +
        "0a400000" +
        "02000000" +
        ["0200", "0100"].map((type) => "1400" + type + "fd420000000000000000000000000005").join("") +
        "0800" +
        "0800" +
        "02000000",
    )
  })

  test("adds the element of a set as nft does", () => {
    // given the end of what nft 1.0.6 sends for: add element bridge k3ts-sources ipv4 { "vethb" . 0a:58:… . 10.0.0.2 }
    const wanted =
      "2c000380" +
      "28000180" +
      "24000180" +
      "20000100" +
      "76657468620000000000000000000000" +
      "0a580a0000020000" +
      "0a000002"
    const element = {
      set: "ipv4",
      key: [interfaceKey("vethb"), hardwareBytes("0a:58:0a:00:00:02"), addressBytes("10.0.0.2")],
    }
    const [begin, add, end] = addElements({ family: FAMILY_BRIDGE, name: "k3ts-sources" }, [element])
    expect(hex(add!)).toEndWith(wanted)
    expect([begin!, end!].map(hex)).toEqual([
      "14000000" + "1000" + "0100" + "0000000000000000" + "0000000a",
      "14000000" + "1100" + "0100" + "0000000000000000" + "0000000a",
    ])
    // and removes it after having added it
    expect(
      removeElements({ family: FAMILY_BRIDGE, name: "k3ts-sources" }, [element]).map((one) => one.readUInt16LE(4)),
    ).toEqual([0x10, 0x0a0c, 0x0a0e, 0x11])
  })
})

/** A kernel that says this for each datagram that it gets, one after another. */
function kernel(...says: readonly (readonly Buffer[])[]) {
  const [sent, waiting, answers]: [Buffer[], Buffer[], (readonly Buffer[])[]] = [[], [], [...says]]
  const file: NetlinkFile = {
    send: (bytes) => {
      sent.push(Buffer.from(bytes))
      waiting.push(...(answers.shift() ?? []))
      return Promise.resolve()
    },
    receive: () => Promise.resolve(waiting.shift()),
  }
  return { file, sent, waiting }
}

/** An acknowledgement of the message at a place, or its failure. */
function answerTo(sequence: number, errno = 0): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-errno)
  const made = message(2, 0, body)
  made.writeUInt32LE(sequence, 8)
  return made
}

describe("a netlink request", () => {
  test("asks for an acknowledgement of only the last of several changes", async () => {
    const { file, sent, waiting } = kernel([answerTo(1)])
    expect(await request(file, [setUp(1), setUp(2)])).toEqual([])
    expect(repliesIn(sent[0]!).map(({ sequence }) => sequence)).toEqual([0, 1])
    expect([0, setUp(1).length].map((at) => sent[0]!.readUInt16LE(at + 6))).toEqual([0x1, 0x5])
    expect(waiting).toEqual([])
  })

  test("fails with the first error, and leaves no response for the next request", async () => {
    const { file, waiting } = kernel([answerTo(0, 17), answerTo(1)])
    expect(await request(file, [setUp(1), setUp(2)]).catch(String)).toBe("KernelError: netlink: file already exists")
    expect(waiting).toEqual([])
  })

  test("returns the response", async () => {
    const header = Buffer.alloc(16)
    header.writeInt32LE(7, 4)
    header.writeUInt32LE(0x41, 8)
    const mac = Buffer.from("0a000100" + "0a580a2a0002" + "0000", "hex")
    const { file } = kernel([message(16, 0, header, mac)])
    const [found] = await request(file, [message(18, 1, Buffer.alloc(16))])
    expect(linkIn(found!)).toEqual({ index: 7, mac: "0a:58:0a:2a:00:02", mtu: 0, isUp: true, isRunning: true })
  })
})

test("a list contains the messages of all datagrams up to the end", async () => {
  const { file } = kernel([Buffer.concat([message(20, 2), message(20, 2)]), message(20, 2), message(3, 2)])
  expect((await list(file, message(22, 0x301))).map(({ type }) => type)).toEqual([20, 20, 20])
})

test("a truncated message is left out", () => {
  expect(repliesIn(Buffer.concat([message(20, 0), message(20, 0, Buffer.alloc(8)).subarray(0, 18)]))).toHaveLength(1)
  expect(repliesIn(Buffer.alloc(16))).toEqual([])
})
