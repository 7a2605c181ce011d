/**
 * Takes the place of a pod's containers in tests with real packets: listens on TCP and UDP ports, responds with its own
 * name, and connects on request. Runs in the pod's network namespace and exchanges lines of JSON.
 */
import { createSocket, type RemoteInfo } from "node:dgram"
import { connect, createServer, type Socket } from "node:net"
import { createInterface } from "node:readline"

export interface Probe {
  readonly id: number
  readonly address: string
  readonly port: number
  readonly protocol: "TCP" | "UDP"
  readonly timeoutMs: number
}
/** Opens a connection on which both sides send repeatedly; or closes it. */
export interface Hold {
  readonly id: number
  readonly hold: { readonly address: string; readonly port: number } | "ask" | "listen" | "end"
  /** How long to wait for what the other side sends; a second by default. */
  readonly patienceMs?: number
}
/** Sends a datagram to all (by broadcast, or to an IPv6 group), and returns the names of those who responded. */
export interface Broadcast {
  readonly id: number
  readonly broadcast: { readonly address: string; readonly port: number }
}
/** Connects repeatedly, from the first moment on, until it is told to stop. */
export interface Hammer {
  readonly id: number
  readonly hammer: { readonly address: string; readonly port: number } | "end"
}
export type Command = Probe | Hold | Hammer | Broadcast
export interface Answer {
  readonly id: number
  /** The text that the other end sent; undefined if none came in time. */
  readonly said?: string | undefined
}

const [name = "", ...ports] = process.argv.slice(2)
const tell = (answer: Answer) => void process.stdout.write(`${JSON.stringify(answer)}\n`)

for (const port of ports.map(Number)) {
  const serve = (socket: Socket) => {
    socket.on("error", () => undefined)
    socket.write(name)
    socket.on("data", () => socket.write(name))
  }
  createServer(serve).listen({ host: "::", port })
  const udp = createSocket({ type: "udp6", ipv6Only: false })
  udp.on("message", (_: Buffer, { port: from, address }: RemoteInfo) => udp.send(name, from, address))
  udp.on("error", () => undefined) // the client is gone
  udp.bind(port)
}

function probe({ id, address, port, protocol, timeoutMs }: Probe): void {
  let isDone = false
  const done = (said?: string) => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    end()
    tell({ id, said })
  }
  const timer = setTimeout(() => done(), timeoutMs)
  let end: () => void
  if (protocol === "TCP") {
    const socket = connect({ host: address, port })
    socket.on("data", (bytes) => done(bytes.toString()))
    socket.on("error", () => done())
    end = () => socket.destroy()
  } else {
    const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
    socket.on("message", (bytes) => done(bytes.toString()))
    socket.on("error", () => done())
    // Repeated, since a busy machine may lose a datagram.
    const send = () => socket.send("?", port, address, () => undefined)
    const again = setInterval(send, 50)
    send()
    end = () => {
      clearInterval(again)
      socket.close()
    }
  }
}

let held: Socket | undefined
function hold({ id, hold: what, patienceMs = 1000 }: Hold): void {
  if (what === "end") {
    held?.destroy()
    return tell({ id })
  }
  if (typeof what === "object") {
    held = connect({ host: what.address, port: what.port })
    held.on("error", () => undefined)
    held.once("data", (bytes) => tell({ id, said: bytes.toString() }))
    return
  }
  const timer = setTimeout(() => {
    held!.removeAllListeners("data")
    tell({ id })
  }, patienceMs)
  held!.once("data", (bytes) => {
    clearTimeout(timer)
    tell({ id, said: bytes.toString() })
  })
  if (what === "ask") held!.write("?")
}

function broadcast({ id, broadcast: { address, port } }: Broadcast): void {
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4")
  const names = new Set<string>()
  socket.on("message", (bytes) => names.add(bytes.toString()))
  socket.bind(0, () => {
    if (!address.includes(":")) socket.setBroadcast(true)
    socket.send("?", port, address)
  })
  setTimeout(() => {
    socket.close()
    tell({ id, said: [...names].join(" ") })
  }, 800)
}

let hammering = false
let through = 0
function hammer({ id, hammer: what }: Hammer): void {
  if (what === "end") {
    hammering = false
    return tell({ id, said: String(through) })
  }
  hammering = true
  const once = () => {
    if (!hammering) return
    const socket = connect({ host: what.address, port: what.port })
    socket.on("data", () => {
      through++
      socket.destroy()
    })
    socket.on("error", () => undefined)
    setTimeout(() => socket.destroy(), 200)
    setTimeout(once, 1)
  }
  once()
  tell({ id })
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as Command
  if ("hold" in command) hold(command)
  else if ("broadcast" in command) broadcast(command)
  else if ("hammer" in command) hammer(command)
  else probe(command)
})
tell({ id: 0, said: "ready" })
