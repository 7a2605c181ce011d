import { createSocket } from "node:dgram"
import { connect } from "node:net"
import { decode, encode, type Packet } from "dns-packet"
import type { Clock } from "../../pkg/clock/clock.ts"

/**
 * How long one server is waited for, and how long an answer is kept at most. Sources: CoreDNS forward and cache
 * plugins.
 */
const TIMEOUT_MS = 2000
const MAX_KEEP_MS = 30_000
const MAX_CACHED = 10_000

interface Cached {
  readonly packet: Packet
  readonly until: number
}

/**
 * Forwards queries for names outside of the cluster to the host's servers, one after the other until one responds, and
 * caches responses for their TTL. Without servers every such query fails at once. `ask` never rejects: undefined means
 * that no server responded.
 */
export function createForwarder(
  servers: readonly string[],
  { clock }: { readonly clock: Clock },
): { ask(query: Packet): Promise<Packet | undefined> } {
  const cache = new Map<string, Cached>()
  const underWay = new Map<string, Promise<Packet | undefined>>()

  return {
    async ask(query) {
      const [question] = query.questions ?? []
      if (question === undefined) return undefined
      const key =
        `${question.name.toLowerCase()} ${question.type} ` +
        `${(query.additionals ?? []).some(({ type }) => type === "OPT")}`
      const kept = cache.get(key)
      if (kept !== undefined && kept.until > clock.monotonic())
        return { ...kept.packet, id: query.id ?? 0, questions: query.questions ?? [] }
      const asked = underWay.get(key) ?? resolve(query, key)
      underWay.set(key, asked)
      const packet = await asked
      underWay.delete(key)
      return packet === undefined ? undefined : { ...packet, id: query.id ?? 0, questions: query.questions ?? [] }
    },
  }

  async function resolve(query: Packet, key: string): Promise<Packet | undefined> {
    for (const server of servers) {
      const packet = await overUdp(server, query).then(
        (answer) => (answer?.flag_tc === true ? overTcp(server, query) : answer),
        () => undefined,
      )
      if (packet === undefined) continue
      keep(key, packet)
      return packet
    }
    return undefined
  }

  function keep(key: string, packet: Packet): void {
    const ttls = [...(packet.answers ?? []), ...(packet.authorities ?? [])].flatMap((record) =>
      "ttl" in record && typeof record.ttl === "number" ? [record.ttl] : [],
    )
    if (ttls.length === 0) return
    cache.delete(key)
    cache.set(key, { packet, until: clock.monotonic() + Math.min(MAX_KEEP_MS, Math.min(...ttls) * 1000) })
    if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value!)
  }

  function overUdp(server: string, query: Packet): Promise<(Packet & { flag_tc?: boolean }) | undefined> {
    return new Promise((done) => {
      const socket = createSocket(server.includes(":") ? "udp6" : "udp4")
      const timer = clock.setTimeout(() => finish(undefined), TIMEOUT_MS)
      const finish = (packet: Packet | undefined) => {
        timer.cancel()
        socket.close()
        done(packet)
      }
      socket.once("error", () => finish(undefined))
      socket.on("message", (bytes) => {
        const packet = parse(bytes)
        if (packet?.id === query.id) finish(packet)
      })
      socket.send(encode(query), 53, server, (err) => {
        if (err) finish(undefined)
      })
    })
  }

  function overTcp(server: string, query: Packet): Promise<Packet | undefined> {
    return new Promise((done) => {
      const socket = connect(53, server)
      const timer = clock.setTimeout(() => finish(undefined), TIMEOUT_MS)
      let received = Buffer.alloc(0)
      const finish = (packet: Packet | undefined) => {
        timer.cancel()
        socket.destroy()
        done(packet)
      }
      socket.on("error", () => finish(undefined))
      socket.on("close", () => finish(undefined))
      socket.on("connect", () => {
        const bytes = encode(query)
        socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]))
      })
      socket.on("data", (bytes: Buffer) => {
        received = Buffer.concat([received, bytes])
        if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0))
          finish(parse(received.subarray(2, 2 + received.readUInt16BE(0))))
      })
    })
  }
}

function parse(bytes: Buffer): Packet | undefined {
  try {
    return decode(bytes)
  } catch {
    return undefined // not a DNS message: treated as no response
  }
}
