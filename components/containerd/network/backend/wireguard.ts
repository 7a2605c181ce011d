import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { askForLink } from "../../../../pkg/netlink/find-link.ts"
import { configureLink, linkIn } from "../../../../pkg/netlink/links.ts"
import { KernelError, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import {
  createWireguard,
  familyIn,
  findWireguard,
  removePeer,
  setDevice,
  setPeer,
  type WireguardPeer,
} from "../../../../pkg/netlink/wireguard.ts"
import { exchangeKeyOf, newExchangeKey, type ExchangeKey } from "../../../../pkg/pki/exchange-key.ts"
import { BACKEND_PORTS } from "./backend-names.ts"
import type { Backend, Peer, Self } from "./backend.ts"
import { holdBaseAddresses } from "./device-addresses.ts"

export const WIREGUARD_DEVICE = "k3ts-wireguard"
/** The port of flannel, and of WireGuard's own examples. */
export const WIREGUARD_PORT = BACKEND_PORTS["wireguard-native"]!
/** Headers of the outer IP (20 or 40 bytes), UDP (8), WireGuard (16), its tag (16). */
const OVERHEAD = { IPv4: 60, IPv6: 80 } as const
/** The interval of keep-alive packets, in seconds, as in k3s: it keeps the mapping of a NAT alive. */
const KEEPALIVE_SECONDS = 25
/** Sources: asm-generic/errno-base.h, errno.h. */
const [ENOENT, EOPNOTSUPP] = [2, 95]

export interface WireguardOptions {
  readonly key: ExchangeKey
  /** Opens a socket of NETLINK_GENERIC. */
  readonly open: () => NetlinkFile & { close(): void }
}

/**
 * Sends packets of pods, encrypted, inside UDP packets between nodes. The kernel accepts from each peer only packets
 * whose source is in the ranges of its pods. As with VXLAN, one interface carries both families. Source: flannel
 * pkg/backend/wireguard.
 */
export function wireguard({ key, open }: WireguardOptions): Backend {
  let opened: ReturnType<WireguardOptions["open"]> | undefined
  let family: number | undefined
  /**
   * The interface that has the key, and its configured peers: their public key, and their full configuration as text.
   */
  let device: number | undefined
  const known = new Map<string, string>()

  const tell = (message: Buffer) => request((opened ??= open()), [message])

  const setUp = async (socket: NetlinkFile, self: Self): Promise<number> => {
    const { index, mtu, isUp } = linkIn((await askForLink(socket, WIREGUARD_DEVICE)) ?? (await make(socket)))
    family ??= familyIn((await tell(findWireguard()))[0]!)
    if (device !== index) {
      known.clear()
      await tell(setDevice(family, index, key.privateKey, WIREGUARD_PORT))
      device = index
    }
    const wanted = self.uplink.mtu - OVERHEAD[familyOf(self.local)]
    if (!isUp || mtu !== wanted) await request(socket, [configureLink(index, { mtu: wanted })])
    await holdBaseAddresses(socket, index, self.podCidrs)
    return index
  }

  return {
    type: "wireguard",
    device: WIREGUARD_DEVICE,
    overhead: (of) => OVERHEAD[of],
    announces: () => ({ PublicKey: key.publicKey.toString("base64"), Port: WIREGUARD_PORT }),
    async ensure(socket, self) {
      try {
        return await setUp(socket, self)
      } catch (err) {
        if (err instanceof KernelError && (err.errno === EOPNOTSUPP || err.errno === ENOENT))
          throw new Error("the kernel has no WireGuard: load its module, or use --flannel-backend vxlan", {
            cause: err,
          })
        throw err
      }
    },
    waysTo(peer, self, index) {
      peerIn(peer, self)
      return { neighbors: [], forwarding: [], routes: peer.podCidrs.map((destination) => ({ destination, index })) }
    },
    async connect(peers, self, index) {
      const problems: string[] = []
      const wanted = new Map<string, WireguardPeer>()
      for (const peer of peers) {
        const made = peerIn(peer, self)
        const id = made.publicKey.toString("base64")
        const isKnown = known.get(id) === textOf(made)
        // If two nodes announce the same key, the node that had it first keeps it, so no node can take another one's
        // packets.
        if (wanted.has(id)) problems.push(`node ${peer.name}: it announces the same key as another node`)
        if (!wanted.has(id) || isKnown) wanted.set(id, made)
      }
      for (const id of [...known.keys()].filter((one) => !wanted.has(one))) {
        await tell(removePeer(family!, index, Buffer.from(id, "base64")))
        known.delete(id)
      }
      for (const [id, peer] of wanted) {
        if (known.get(id) === textOf(peer)) continue
        try {
          await tell(setPeer(family!, index, peer))
          known.set(id, textOf(peer))
        } catch (err) {
          // A bad announcement of one node must not stop the connections to the others.
          problems.push(`the node at ${peer.address}: ${(err as Error).message}`)
        }
      }
      return problems
    },
    close() {
      opened?.close()
      opened = undefined
    },
  }
}

const textOf = ({ address, port, ranges }: WireguardPeer): string => JSON.stringify([address, port, ranges])

async function make(socket: NetlinkFile) {
  await request(socket, [createWireguard(WIREGUARD_DEVICE)])
  return (await askForLink(socket, WIREGUARD_DEVICE))!
}

/** @throws Error that says what a node should have announced */
function peerIn({ addresses, podCidrs, data }: Peer, { local }: Self) {
  const address = addresses.find((one) => familyOf(one) === familyOf(local))
  if (address === undefined) throw new Error(`it announces no address of ${familyOf(local)}, the primary family here`)
  const { PublicKey: text, Port: port = WIREGUARD_PORT } = data
  const publicKey = Buffer.from(typeof text === "string" ? text : "", "base64")
  if (publicKey.length !== 32) throw new Error(`it announces ${JSON.stringify(text)}, which is not a WireGuard key`)
  if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65_535)
    throw new Error(`it announces ${JSON.stringify(port)}, which is no port`)
  return { publicKey, address, port: port as number, ranges: podCidrs, keepaliveSeconds: KEEPALIVE_SECONDS }
}

/** Returns the key in a file, or writes a new one to it. */
export function keyIn(path: string): ExchangeKey {
  if (existsSync(path))
    try {
      return exchangeKeyOf(Buffer.from(readFileSync(path, "utf8"), "base64"))
    } catch (err) {
      throw new Error(`Cannot read the key of WireGuard in ${path}: delete the file for a new one`, { cause: err })
    }
  const key = newExchangeKey()
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${key.privateKey.toString("base64")}\n`, { mode: 0o600 })
  return key
}
