import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { message, repliesIn, uint32 } from "../../../../pkg/netlink/message.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { removePeer, setDevice, setPeer } from "../../../../pkg/netlink/wireguard.ts"
import { exchangeKeyOf } from "../../../../pkg/pki/exchange-key.ts"
import type { Peer, Self } from "./backend.ts"
import { keyIn, wireguard, WIREGUARD_PORT } from "./wireguard.ts"

const [FAMILY, INDEX, EINVAL, EOPNOTSUPP] = [0x1d, 7, 22, 95]
const key = exchangeKeyOf(Buffer.alloc(32, 1))
const self: Self = { podCidrs: ["10.42.1.0/24"], local: "192.0.2.11", uplink: { index: 2, mtu: 1500 } }
const keyOf = (byte: number) => Buffer.alloc(32, byte)
const peer = (name: string, byte: number, number: number): Peer => ({
  name,
  type: "wireguard",
  addresses: [`192.0.2.${number}`],
  podCidrs: [`10.42.${number}.0/24`],
  sources: [`192.0.2.${number}`],
  data: { PublicKey: keyOf(byte).toString("base64"), Port: WIREGUARD_PORT },
})
const told = (byte: number, number: number) =>
  setPeer(FAMILY, INDEX, {
    publicKey: keyOf(byte),
    address: `192.0.2.${number}`,
    port: WIREGUARD_PORT,
    ranges: [`10.42.${number}.0/24`],
    keepaliveSeconds: 25,
  })

/** A netlink socket that acknowledges every message, or answers by a function, and records what was sent. */
function socket(answer: (sent: Buffer) => Buffer | undefined = () => undefined) {
  const sent: Buffer[] = []
  const waiting: Buffer[] = []
  const file: NetlinkFile & { close(): void } = {
    async send(bytes) {
      const copy = Buffer.from(bytes)
      sent.push(copy)
      waiting.push(answer(copy) ?? message(2, 0, Buffer.alloc(20)))
    },
    receive: () => Promise.resolve(waiting.shift()),
    close: () => undefined,
  }
  return { file, sent }
}

/** The messages about the interface, without the flags and the number of each message. */
const bodies = (sent: readonly Buffer[]) => sent.map((bytes) => repliesIn(bytes)[0]!.body.toString("hex"))

/** A kernel that has the interface and WireGuard. */
function backend(answer: (sent: Buffer) => Buffer | undefined = () => undefined) {
  const generic = socket((sent) =>
    sent.readUInt16LE(4) === 0x10
      ? message(0x10, 0, Buffer.from([1, 2, 0, 0]), Buffer.from("060001001d000000", "hex"))
      : answer(sent),
  )
  const link = message(16, 0, Buffer.concat([Buffer.alloc(4), uint32(INDEX), uint32(1), uint32(0)]))
  const route = socket((sent) => (sent.readUInt16LE(4) === 18 ? link : undefined))
  return { made: wireguard({ key, open: () => generic.file }), route: route.file, generic }
}

describe("WireGuard", () => {
  test("sets the node's key once, and each peer only when it is added, changed or removed", async () => {
    // given
    const { made, route, generic } = backend()
    expect(await made.ensure(route, self)).toBe(INDEX)
    // when
    const [two, three] = [peer("two", 2, 12), peer("three", 3, 13)]
    await made.connect!([two, three], self, INDEX)
    await made.ensure(route, self)
    await made.connect!([two, three], self, INDEX)
    await made.connect!([peer("two", 2, 22)], self, INDEX)
    // then
    expect(bodies(generic.sent).slice(1)).toEqual(
      bodies([
        setDevice(FAMILY, INDEX, key.privateKey, WIREGUARD_PORT),
        told(2, 12),
        told(3, 13),
        removePeer(FAMILY, INDEX, keyOf(3)),
        told(2, 22),
      ]),
    )
  })

  test("keeps a public key with the first node that announced it when another node announces it too", async () => {
    // given
    const { made, route, generic } = backend()
    await made.ensure(route, self)
    await made.connect!([peer("two", 2, 12)], self, INDEX)
    const before = generic.sent.length
    // when the other node is the first one in the list
    const problems = await made.connect!([peer("evil", 2, 66), peer("two", 2, 12)], self, INDEX)
    // then
    expect(problems).toEqual(["node two: it announces the same key as another node"])
    expect(generic.sent).toHaveLength(before)
  })

  test("configures the other peers when the kernel refuses one", async () => {
    // given
    const refusal = Buffer.alloc(20)
    refusal.writeInt32LE(-EINVAL)
    const { made, route, generic } = backend((sent) => (sent.includes(keyOf(66)) ? message(2, 0, refusal) : undefined))
    await made.ensure(route, self)
    // when
    const problems = await made.connect!([peer("evil", 66, 66), peer("two", 2, 12)], self, INDEX)
    // then
    expect(problems).toEqual(["the node at 192.0.2.66: netlink: invalid argument"])
    expect(bodies(generic.sent).at(-1)).toBe(bodies([told(2, 12)])[0]!)
  })

  test.each([
    { title: "no key", data: {}, wants: "it announces undefined, which is not a WireGuard key" },
    { title: "a short key", data: { PublicKey: "AAAA" }, wants: 'it announces "AAAA", which is not a WireGuard key' },
    {
      title: "an invalid port",
      data: { PublicKey: keyOf(2).toString("base64"), Port: 70_000 },
      wants: "it announces 70000, which is no port",
    },
  ])("reports why a node that announces $title cannot be reached", ({ data, wants }) => {
    expect(() => backend().made.waysTo({ ...peer("two", 2, 12), data }, self, INDEX)).toThrow(wants)
  })

  test("reports what to do if the kernel has no WireGuard", async () => {
    const refusal = Buffer.alloc(20)
    refusal.writeInt32LE(-EOPNOTSUPP)
    const route = socket((sent) => message(2, 0, sent.readUInt16LE(4) === 18 ? nodev() : refusal))
    const made = wireguard({ key, open: () => socket().file })
    expect(await made.ensure(route.file, self).catch(String)).toBe(
      "Error: the kernel has no WireGuard: load its module, or use --flannel-backend vxlan",
    )
  })
})

test("the key of a node is generated once, and only root can read it", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-wireguard-"))
  try {
    const path = join(folder, "agent/key")
    expect(keyIn(path)).toEqual(keyIn(path))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    writeFileSync(path, "damaged")
    expect(() => keyIn(path)).toThrow(`${path}: delete the file for a new one`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

function nodev(): Buffer {
  const body = Buffer.alloc(20)
  body.writeInt32LE(-19)
  return body
}
