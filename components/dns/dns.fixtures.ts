import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { createSocket } from "node:dgram"
import { connect, createServer, type AddressInfo } from "node:net"
import { decode, encode, type Answer, type DecodedPacket, type Packet, type RecordType } from "dns-packet"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { Cluster } from "../cluster/testing/cluster.ts"
import { createDns, type DnsConfig } from "./dns.ts"
import { frame, Frames } from "./wire/frames.ts"
import { FLAG } from "./wire/query.ts"

export const ADDRESS = "127.0.0.1"

/** A decoded message. The types of dns-packet leave `rcode` out, which `decode` returns. */
export type Decoded = DecodedPacket & { readonly rcode: string }

/** Returns a query. `size` is the UDP size that the client announces with EDNS; without it the query has no EDNS. */
export const query = (name: string, type: RecordType, size?: number): Packet => ({
  type: "query",
  id: 7,
  flags: FLAG.recursionDesired,
  questions: [{ name, type }],
  additionals:
    size === undefined
      ? []
      : [
          {
            type: "OPT",
            name: ".",
            udpPayloadSize: size,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ],
})

export function overUdp(port: number, packet: Packet | Buffer): Promise<Decoded> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4")
    socket.on("message", (bytes) => {
      socket.close()
      resolve(decode(bytes) as Decoded)
    })
    socket.send(Buffer.isBuffer(packet) ? packet : encode(packet), port, ADDRESS)
  })
}

export function overTcp(port: number, packet: Packet): Promise<Decoded> {
  return new Promise((resolve) => {
    const frames = new Frames()
    const socket = connect(port, ADDRESS, () => socket.write(frame(encode(packet))))
    socket.on("data", (chunk: Buffer) => {
      for (const message of frames.take(chunk)) {
        socket.destroy()
        resolve(decode(message) as Decoded)
      }
    })
  })
}

/** Returns each record as a text such as `A web.example 10.0.0.1`, sorted. */
export const shown = (answers: readonly Answer[] | undefined): string[] =>
  (answers ?? [])
    .map((answer) =>
      "data" in answer
        ? `${answer.type} ${answer.name} ${typeof answer.data === "string" ? answer.data : JSON.stringify(answer.data)}`
        : answer.type,
    )
    .sort()

export interface FakeServer {
  readonly port: number
  /** A text such as `udp A example.com` for each query, in order. */
  readonly asked: string[]
  close(): Promise<void>
}

/** Starts a DNS server on loopback. `answer` returns the parts of the response; undefined sends none. */
export async function fakeServer(
  answer: (question: { readonly name: string; readonly type: string }, protocol: "udp" | "tcp") => Packet | undefined,
): Promise<FakeServer> {
  const asked: string[] = []
  const respond = (bytes: Buffer, protocol: "udp" | "tcp"): Buffer | undefined => {
    const { id, questions = [] } = decode(bytes)
    const [question] = questions
    if (id === undefined || question === undefined) throw new Error("a question was expected")
    asked.push(`${protocol} ${question.type} ${question.name}`)
    const parts = answer(question, protocol)
    return parts && encode({ type: "response", id, questions, ...parts })
  }
  const tcp = createServer((socket) => {
    const frames = new Frames()
    socket.on("error", () => socket.destroy())
    socket.on("data", (bytes: Buffer) => {
      for (const message of frames.take(bytes)) {
        const reply = respond(message, "tcp")
        if (reply !== undefined) socket.write(frame(reply))
      }
    })
  })
  await new Promise<void>((resolve) => tcp.listen(0, ADDRESS, resolve))
  const { port } = tcp.address() as AddressInfo
  const udp = createSocket("udp4")
  udp.on("message", (bytes, from) => {
    const reply = respond(bytes, "udp")
    if (reply !== undefined) udp.send(reply, from.port, from.address)
  })
  await new Promise<void>((resolve) => udp.bind(port, ADDRESS, () => resolve()))
  const close = async () => {
    await new Promise<void>((resolve) => udp.close(() => resolve()))
    await new Promise<void>((resolve) => tcp.close(() => resolve()))
  }
  return { port, asked, close }
}

export interface RunningDns {
  readonly port: number
  ask(name: string, type: RecordType): Promise<Decoded>
  stop(): Promise<void>
}

/** Starts the DNS server of a test cluster, on a free port of loopback. */
export async function startDns(
  cluster: Cluster,
  config: Partial<DnsConfig> = {},
  changed: (context: ComponentContext) => ComponentContext = (context) => context,
): Promise<RunningDns> {
  const port = await freePort()
  const dns = createDns(changed(cluster.contextFor("system:dns", ["system:masters"])), {
    addresses: [ADDRESS],
    port,
    domain: "cluster.local",
    upstreams: [],
    holdAddresses: false,
    ...config,
  })
  await dns.start(new AbortController().signal)
  return { port, ask: (name, type) => overUdp(port, query(name, type)), stop: () => dns.stop() }
}
