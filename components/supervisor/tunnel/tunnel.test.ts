import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net"
import { Duplex } from "node:stream"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { SUPERVISOR_PATHS } from "../supervisor-paths.ts"
import { TunnelAgent } from "./tunnel-agent.ts"
import { Tunnels } from "./tunnels.ts"

const servers: Server[] = []
const agents: TunnelAgent[] = []
afterEach(() => {
  for (const agent of agents.splice(0)) agent.stop()
  for (const server of servers.splice(0)) server.close()
})

async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, onConnection)
  servers.push(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

/** Two ends of one connection over loopback. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const port = await listen(resolve)
  const near = connect({ host: "127.0.0.1", port, allowHalfOpen: true })
  return [near, await promise]
}

/**
 * Starts a server and the agent of node `n1` with a tunnel between them. `kubelet` gets each connection to the kubelet.
 */
async function startTunnel(kubelet: (socket: Socket) => void, { node = "n1" } = {}) {
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
  const tunnels = new Tunnels({ clock, random: seededRandom(1) })
  const kubeletPort = await listen(kubelet)
  const opened: string[] = []
  const ends: Socket[] = []
  let reachable = true
  const { promise: first, resolve: isOpen } = Promise.withResolvers<void>()
  const agent = new TunnelAgent({
    clock,
    random: seededRandom(1),
    log: silent,
    server: "test",
    kubeletPort: () => kubeletPort,
    async upgrade(path) {
      if (!reachable) throw new Error("the server is away")
      opened.push(path)
      const [near, far] = await pair()
      ends.push(far)
      if (path === SUPERVISOR_PATHS.tunnel) {
        tunnels.open(node, far, new Uint8Array())
        isOpen()
      } else if (!tunnels.connected(node, path.slice(SUPERVISOR_PATHS.tunnel.length + 1), far, new Uint8Array()))
        far.destroy()
      return { socket: near, head: new Uint8Array() }
    },
  })
  agents.push(agent)
  void agent.run()
  await first
  return { tunnels, clock, opened, ends, agent, setReachable: (is: boolean) => void (reachable = is) }
}

/** Reads until the other side has ended. The socket stays open for writing. */
function textOf(socket: Duplex): Promise<string> {
  let text = ""
  socket.on("data", (chunk: Buffer) => void (text += chunk.toString()))
  return new Promise((resolve) => socket.once("end", () => resolve(text)))
}

describe("a connection through a tunnel", () => {
  test("leads to the kubelet, half-closes included, and many can be open at once", async () => {
    // given
    const { tunnels } = await startTunnel((socket) => void textOf(socket).then((text) => socket.end(`got ${text}`)))
    // when
    const texts = await Promise.all(
      ["one", "two", "three"].map(async (text) => {
        const socket = await tunnels.to("n1")!()
        socket.end(text)
        return textOf(socket)
      }),
    )
    // then
    expect(texts).toEqual(["got one", "got two", "got three"])
  })

  test("that is not read does not delay the others", async () => {
    // given
    const { tunnels } = await startTunnel((socket) => {
      socket.on("error", () => undefined)
      socket.once("data", (data) => {
        if (data.toString() === "much") socket.write(Buffer.alloc(32 * 1024 * 1024))
        else socket.end("little")
      })
    })
    const stuck = await tunnels.to("n1")!()
    stuck.pause()
    stuck.write("much")
    // when
    const other = await tunnels.to("n1")!()
    other.end("a")
    // then
    expect(await textOf(other)).toBe("little")
    stuck.destroy()
  })

  test("ends on both sides when one side is lost", async () => {
    // given
    const { promise: kubeletSide, resolve } = Promise.withResolvers<Socket>()
    const { tunnels } = await startTunnel(resolve)
    const socket = await tunnels.to("n1")!()
    const ended = textOf(await kubeletSide)
    // when
    socket.destroy()
    // then
    await ended
  })

  test("is refused with the agent's message when the kubelet cannot be reached", async () => {
    // given
    const { tunnels } = await startTunnel(() => undefined)
    servers[0]!.close()
    // then
    const opened = tunnels.to("n1")!()
    expect(await opened.catch((err: Error) => err.message)).toMatch(/ECONNREFUSED|Failed to connect/i)
  })

  test("fails after 10 s if the agent does not respond", async () => {
    // given
    const clock = new VirtualClock(0)
    const tunnels = new Tunnels({ clock, random: seededRandom(1) })
    const [near, far] = await pair()
    tunnels.open("n1", far, new Uint8Array())
    const opened = tunnels.to("n1")!().catch((err: Error) => err.message)
    // when
    await clock.advance(10_000)
    // then
    expect(await opened).toBe("the agent of n1 does not answer")
    near.destroy()
  })
})

describe("a tunnel", () => {
  test("belongs to its node: another node cannot take over a connection that was requested from it", async () => {
    // given
    const clock = new VirtualClock(0)
    const tunnels = new Tunnels({ clock, random: seededRandom(1) })
    const [near, far] = await pair()
    tunnels.open("n1", far, new Uint8Array())
    const line = once(near, "data") as Promise<[Buffer]>
    const opened = tunnels.to("n1")!()
    const id = (await line)[0].toString().trim().replace("dial ", "")
    const [, stolen] = await pair()
    // then
    expect(tunnels.connected("n2", id, stolen, new Uint8Array())).toBe(false)
    expect(tunnels.connected("n1", "0".repeat(32), stolen, new Uint8Array())).toBe(false)
    expect(tunnels.to("n2")).toBeUndefined()
    // when
    const [, right] = await pair()
    expect(tunnels.connected("n1", id, right, new Uint8Array())).toBe(true)
    // then
    expect(await opened).toBe(right)
    near.destroy()
  })

  test("is opened again after it was lost, and calls that waited for it fail", async () => {
    // given
    const { tunnels, clock, opened, ends, setReachable } = await startTunnel(() => undefined)
    setReachable(false)
    // when
    ends[0]!.destroy()
    await once(ends[0]!, "close")
    // then
    expect(tunnels.nodes).toEqual([])
    // when
    setReachable(true)
    while (tunnels.nodes.length === 0) await clock.advance(15_000)
    // then
    expect(opened).toEqual([SUPERVISOR_PATHS.tunnel, SUPERVISOR_PATHS.tunnel])
  })

  test("that ends at once is opened again with growing delays", async () => {
    // given
    const clock = new VirtualClock(0)
    let opened = 0
    const agent = new TunnelAgent({
      clock,
      random: seededRandom(1),
      log: silent,
      server: "test",
      kubeletPort: () => 0,
      async upgrade() {
        opened++
        const socket = new Duplex({ read: () => undefined }).destroy()
        await once(socket, "close")
        return { socket, head: new Uint8Array() }
      },
    })
    agents.push(agent)
    void agent.run()
    // when
    for (let seconds = 0; seconds < 120; seconds++) await clock.advance(1000)
    // then
    expect(opened).toBeGreaterThan(8)
    expect(opened).toBeLessThan(30)
  })

  test("closes the connections that its server has requested when the server stops responding", async () => {
    // given a connection to the kubelet that a server without power has asked for
    const clock = new VirtualClock(0)
    const connected = Promise.withResolvers<Socket>()
    const kubeletPort = await listen(connected.resolve)
    const control = Promise.withResolvers<Socket>()
    const joined = Promise.withResolvers<Socket>()
    const agent = new TunnelAgent({
      clock,
      random: seededRandom(1),
      log: silent,
      server: "test",
      kubeletPort: () => kubeletPort,
      async upgrade(path) {
        const [near, far] = await pair()
        if (path === SUPERVISOR_PATHS.tunnel) control.resolve(far)
        else joined.resolve(far)
        return { socket: near, head: new Uint8Array() }
      },
    })
    agents.push(agent)
    void agent.run()
    const server = await control.promise
    server.write("dial ab\n")
    const kubelet = await connected.promise
    const far = await joined.promise
    const heard = once(kubelet, "data")
    const ended = textOf(kubelet)
    far.write("question")
    await heard
    // when
    await clock.advance(20_000)
    await clock.advance(10_000)
    // then
    expect(await ended).toBe("question")
    server.destroy()
    far.destroy()
  })

  test("that is silent for a minute counts as lost", async () => {
    // given
    const clock = new VirtualClock(0)
    const tunnels = new Tunnels({ clock, random: seededRandom(1) })
    const [near, far] = await pair()
    tunnels.open("n1", far, new Uint8Array())
    // when
    await clock.advance(61_000)
    // then
    expect(tunnels.to("n1")).toBeUndefined()
    near.destroy()
  })

  test("replaces the earlier tunnel of its agent", async () => {
    // given
    const tunnels = new Tunnels({ clock: new VirtualClock(0), random: seededRandom(1) })
    const [[, first], [, second]] = [await pair(), await pair()]
    tunnels.open("n1", first, new Uint8Array())
    // when
    tunnels.open("n1", second, new Uint8Array())
    await once(first, "close")
    // then
    expect(tunnels.to("n1")).toBeDefined()
    second.destroy()
  })

  test("is closed when the agent sends many pings and reads no response", async () => {
    // given a connection whose other side takes no byte
    const tunnels = new Tunnels({ clock: new VirtualClock(0), random: seededRandom(1) })
    const socket = new Duplex({ read: () => undefined, write: () => undefined })
    tunnels.open("n1", socket, new Uint8Array())
    // when
    socket.push("ping\n".repeat(100_000))
    // then
    await once(socket, "close")
    expect(tunnels.nodes).toEqual([])
    expect(socket.writableLength).toBeLessThan(100_000)
  })

  test("that was lost before the server accepted it does not replace the earlier tunnel", async () => {
    // given
    const tunnels = new Tunnels({ clock: new VirtualClock(0), random: seededRandom(1) })
    const [[, alive], [, lost]] = [await pair(), await pair()]
    tunnels.open("n1", alive, new Uint8Array())
    // when
    lost.destroy()
    tunnels.open("n1", lost, new Uint8Array())
    // then
    expect(alive.destroyed).toBe(false)
    expect(tunnels.to("n1")).toBeDefined()
    alive.destroy()
  })

  test("is closed when a line is too long", async () => {
    // given
    const tunnels = new Tunnels({ clock: new VirtualClock(0), random: seededRandom(1) })
    const [near, far] = await pair()
    tunnels.open("n1", far, new Uint8Array())
    near.on("error", () => undefined)
    // when
    near.write("x".repeat(100_000))
    // then
    await once(far, "close")
    expect(tunnels.nodes).toEqual([])
  })
})
