/** Accepting, dialling and joining sessions over loopback, for every protocol that needs no real client. */
import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server } from "node:http"
import { createServer as createTcpServer, connect as connectTcp, type AddressInfo } from "node:net"
import type { Duplex, Readable } from "node:stream"
import { type RawData, WebSocket } from "ws"
import { UpgradeRefused } from "./dial.ts"
import { forwardEach } from "./each-port.ts"
import { joinPortForward, joinRemoteCommand } from "./join.ts"
import { acceptPortForward, refuseForwarded } from "./port-forward.ts"
import { connectPortForward } from "./port-forward-client.ts"
import { acceptRemoteCommand, type CommandStreams, type RemoteCommandSession } from "./remote-command.ts"
import { connectRemoteCommand } from "./remote-command-client.ts"
import { decodeStatus, encodeStatus, exitCodeOf, exitCodeStatus, failureStatus } from "./status.ts"
import { refuseUpgrade } from "./upgrade.ts"

const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

type Upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer) => void
async function serve(onUpgrade: Upgrade): Promise<string> {
  const server: Server = createServer()
  server.on("upgrade", onUpgrade)
  server.listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function echoPort(): Promise<number> {
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, "127.0.0.1")
  servers.push(server)
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

const ALL: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false }
const TTY: CommandStreams = { stdin: true, stdout: true, stderr: false, tty: true }

async function text(stream: Readable | undefined): Promise<string> {
  let got = ""
  for await (const chunk of stream ?? []) got += String(chunk)
  return got
}

/** A command that says in capitals what it is told, complains once, and exits with 3. */
async function shout(session: RemoteCommandSession | undefined): Promise<void> {
  if (session === undefined) return
  session.stderr?.write("complaint")
  for await (const chunk of session.stdin ?? []) session.stdout?.write(String(chunk).toUpperCase())
  await session.exit(exitCodeStatus(3))
}

describe("a remote command over SPDY", () => {
  test("has its streams, the end of its input and its exit code", async () => {
    const host = await serve((req, socket, head) => void acceptRemoteCommand(req, socket, head, ALL).then(shout))
    const command = await connectRemoteCommand({ url: `http://${host}/exec`, streams: ALL })
    command.stdin!.end("hello")
    expect(await Promise.all([text(command.stdout), text(command.stderr), command.status])).toEqual([
      "HELLO",
      "complaint",
      exitCodeStatus(3),
    ])
    command.close()
    await command.closed
  })

  test("gets every size of the terminal, and has no stderr", async () => {
    const sizes: unknown[] = []
    const host = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, { ...TTY, stderr: true }))!
      expect(session.stderr).toBeUndefined()
      for await (const size of session.resize!) if (sizes.push(size) === 2) break
      await session.exit(exitCodeStatus(0))
    })
    const command = await connectRemoteCommand({ url: `http://${host}/exec`, streams: TTY })
    command.resize({ width: 80, height: 24 })
    command.resize({ width: 100, height: 30 })
    command.stdout!.resume()
    expect(exitCodeOf(await command.status)).toBe(0)
    expect(sizes).toEqual([
      { width: 80, height: 24 },
      { width: 100, height: 30 },
    ])
    command.close()
  })

  test("that loses its connection fails, and the server notices that its client is gone", async () => {
    const arrived = Promise.withResolvers<RemoteCommandSession>()
    const host = await serve(
      (req, socket, head) =>
        void acceptRemoteCommand(req, socket, head, ALL).then((session) => arrived.resolve(session!)),
    )
    const command = await connectRemoteCommand({ url: `http://${host}/exec`, streams: ALL })
    const session = await arrived.promise
    command.close()
    expect((await command.status).status).toBe("Failure")
    await session.closed
    expect(await text(session.stdin)).toBe("")
    session.stdout!.write("to nobody")
    await session.exit(exitCodeStatus(0))
  })

  test("that is refused fails with the reason", async () => {
    const host = await serve((_req, socket) => refuseUpgrade(socket, 404, "container not found"))
    const failure = await connectRemoteCommand({ url: `http://${host}/exec`, streams: ALL }).catch(
      (err: unknown) => err,
    )
    expect(failure).toBeInstanceOf(UpgradeRefused)
    expect(failure).toMatchObject({ status: 404, body: "container not found" })
  })

  test("whose server supports no common version is refused", async () => {
    const host = await serve((req, socket, head) => void acceptPortForward(req, socket, head))
    await expect(connectRemoteCommand({ url: `http://${host}/exec`, streams: ALL })).rejects.toThrow(
      "server accepts [portforward.k8s.io]",
    )
  })

  test("whose server cannot be reached fails with the socket's error", async () => {
    await expect(connectRemoteCommand({ url: "http://127.0.0.1:1/exec", streams: ALL })).rejects.toThrow()
  })
})

/** Messages of a WebSocket with the channel split off. */
function dialWebSocket(host: string, path: string, protocols: string[]) {
  const ws = new WebSocket(`ws://${host}${path}`, protocols)
  const channels = new Map<number, Buffer>()
  const add = (number: number, data: Buffer) =>
    channels.set(number, Buffer.concat([channels.get(number) ?? Buffer.alloc(0), data]))
  ws.on("message", (data: RawData) => {
    const message = data as Buffer
    if (ws.protocol.includes("base64")) add(message[0]! - 0x30, Buffer.from(message.toString().slice(1), "base64"))
    else add(message[0]!, message.subarray(1))
  })
  const closed = new Promise<number>((resolve) => ws.on("close", resolve))
  const open = new Promise<void>((resolve, reject) => {
    ws.on("open", () => resolve())
    ws.on("error", reject)
  })
  return { ws, channels, closed, open }
}

describe("a remote command over WebSocket", () => {
  test.each([
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
  ])("%s has its streams and its end", async (protocol) => {
    // given a command that ends with its first line, for only v5 can end its input
    const host = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, ALL))!
      const [line] = (await once(session.stdin!, "data")) as [Buffer]
      session.stdout!.write(line.toString().toUpperCase())
      session.stderr!.write("complaint")
      await session.exit(exitCodeStatus(3))
    })
    // when it is told something
    const { ws, channels, closed, open } = dialWebSocket(host, "/exec", [protocol])
    await open
    expect(ws.protocol).toBe(protocol)
    ws.send(protocol.includes("base64") ? `0${Buffer.from("hello").toString("base64")}` : Buffer.from("\0hello"))
    // then all comes, the status last, and the connection is closed in order
    expect(await closed).toBe(1000)
    expect(channels.get(1)?.toString()).toBe("HELLO")
    expect(channels.get(2)?.toString()).toBe("complaint")
    const status = decodeStatus(channels.get(3)!.toString(), protocol.startsWith("v") ? 4 : 1)
    expect(status.message).toContain("exit status 3")
    expect(exitCodeOf(status)).toBe(protocol.startsWith("v") ? 3 : undefined)
  })

  test("v5 can end its input", async () => {
    const host = await serve((req, socket, head) => void acceptRemoteCommand(req, socket, head, ALL).then(shout))
    const { ws, channels, closed, open } = dialWebSocket(host, "/exec", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
    await open
    ws.send(Buffer.from("\0hello"))
    ws.send(Buffer.from([255, 0]))
    await closed
    expect(channels.get(1)?.toString()).toBe("HELLO")
  })

  test("gets no more input than it reads: the rest waits at the client", async () => {
    const part = Buffer.alloc(256 * 1024 + 1)
    const host = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, { ...ALL, stderr: false }))!
      let got = 0
      for await (const chunk of session.stdin!) got += (chunk as Buffer).length
      session.stdout!.write(String(got))
      await session.exit(exitCodeStatus(0))
    })
    const { ws, channels, closed, open } = dialWebSocket(host, "/exec", ["v5.channel.k8s.io"])
    await open
    for (let i = 0; i < 100; i++) ws.send(part)
    ws.send(Buffer.from([255, 0]))
    await closed
    expect(channels.get(1)?.toString()).toBe(String(100 * 256 * 1024))
  })

  test("goes on with other channels when one ends with a full buffer", async () => {
    // given a command that reads its input only once its end is there, and then the size of its terminal
    const host = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, { ...ALL, stderr: false, tty: true }))!
      await once(session.stdin!, "readable")
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate) // the end comes right behind
      let got = 0
      for await (const chunk of session.stdin!) got += (chunk as Buffer).length
      session.stdout!.write(String(got))
      for await (const { width } of session.resize!) {
        session.stdout!.write(` ${width}`)
        break
      }
      await session.exit(exitCodeStatus(0))
    })
    const { ws, channels, closed, open } = dialWebSocket(host, "/exec", ["v5.channel.k8s.io"])
    await open
    // when the end comes with more than fits, and then another channel says something
    ws.send(Buffer.alloc(300 * 1024 + 1))
    ws.send(Buffer.from([255, 0]))
    ws.send(Buffer.from(`\u0004${JSON.stringify({ Width: 80, Height: 24 })}`))
    await closed
    // then
    expect(channels.get(1)?.toString()).toBe(`${300 * 1024} 80`)
  })

  test("with an unknown subprotocol is refused", async () => {
    const host = await serve((req, socket, head) => void acceptRemoteCommand(req, socket, head, ALL))
    const { open } = dialWebSocket(host, "/exec", ["v9.channel.k8s.io"])
    await expect(open).rejects.toBeDefined()
  })
})

describe("port forwarding", () => {
  const forwardTo =
    (echo: number): Upgrade =>
    async (req, socket, head) => {
      for await (const connection of (await acceptPortForward(req, socket, head)) ?? []) {
        if (connection.port !== 80) {
          refuseForwarded(connection, "p", "u", "connection refused")
          continue
        }
        const target = connectTcp({ port: echo, host: "127.0.0.1", allowHalfOpen: true })
        connection.data.pipe(target).pipe(connection.data)
      }
    }

  test("over SPDY carries connections concurrently and reports ports that cannot be reached", async () => {
    const host = await serve(forwardTo(await echoPort()))
    const client = await connectPortForward({ url: `http://${host}/portforward` })
    const [first, second, refused] = [client.open(80), client.open(80), client.open(81)]
    first.data.write("a")
    second.data.end("b")
    refused.data.end()
    expect(await Promise.all([text(second.data), second.error])).toEqual(["b", ""])
    expect(await refused.error).toBe("error forwarding port 81 to pod p, uid u: connection refused")
    first.data.end("c")
    expect(await text(first.data)).toBe("ac")
    client.close()
    await client.closed
  })

  test.each(["v4.channel.k8s.io", "v4.base64.channel.k8s.io"])(
    "over WebSocket channels (%s) begins each channel with its port",
    async (protocol) => {
      const host = await serve(forwardTo(await echoPort()))
      const { ws, channels, open } = dialWebSocket(host, "/portforward?ports=80&ports=81", [protocol])
      const message = new Promise<void>((resolve) =>
        ws.on("message", () => channels.get(0)?.length === 7 && (channels.get(3)?.length ?? 0) > 2 && resolve()),
      )
      await open
      ws.send(protocol.includes("base64") ? `0${Buffer.from("hello").toString("base64")}` : Buffer.from("\0hello"))
      await message
      expect(channels.get(0)?.toString("latin1")).toBe("\x50\0hello")
      expect(channels.get(1)?.toString("latin1")).toBe("\x50\0")
      expect(channels.get(3)?.toString("latin1")).toBe(
        "\x51\0error forwarding port 81 to pod p, uid u: connection refused",
      )
      ws.terminate()
    },
  )

  test("over WebSocket channels needs a list of ports", async () => {
    const host = await serve(forwardTo(1))
    await expect(dialWebSocket(host, "/portforward", ["v4.channel.k8s.io"]).open).rejects.toBeDefined()
    await expect(dialWebSocket(host, "/portforward?ports=70000", ["v4.channel.k8s.io"]).open).rejects.toBeDefined()
  })
})

describe("joining two sessions", () => {
  const behind = async (onUpgrade: Upgrade, streams = ALL) => {
    const inner = await serve(onUpgrade)
    const joined = Promise.withResolvers<void>()
    const outer = await serve(async (req, socket, head) => {
      if (req.url === "/portforward") {
        const target = await forwardEach(() => connectPortForward({ url: `http://${inner}/portforward` }))
        await joinPortForward((await acceptPortForward(req, socket, head))!, target)
      } else {
        const command = await connectRemoteCommand({ url: `http://${inner}/exec`, streams })
        await joinRemoteCommand((await acceptRemoteCommand(req, socket, head, streams))!, command)
      }
      joined.resolve()
    })
    return { outer, joined: joined.promise }
  }

  test("forwards a command's streams, their ends, much data and the exit code", async () => {
    const { outer, joined } = await behind(
      (req, socket, head) => void acceptRemoteCommand(req, socket, head, ALL).then(shout),
    )
    const command = await connectRemoteCommand({ url: `http://${outer}/exec`, streams: ALL })
    command.stdin!.end("x".repeat(4 * 1024 * 1024))
    const [out, err, status] = await Promise.all([text(command.stdout), text(command.stderr), command.status])
    expect([out === "X".repeat(4 * 1024 * 1024), err, exitCodeOf(status)]).toEqual([true, "complaint", 3])
    command.close()
    await joined
  })

  test("lets a WebSocket v5 client end the input of a command over SPDY, and forwards sizes", async () => {
    const { outer, joined } = await behind(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, TTY))!
      for await (const { width } of session.resize!) {
        session.stdout!.write(`${width} `)
        break
      }
      await shout(session)
    }, TTY)
    const { ws, channels, closed, open } = dialWebSocket(outer, "/exec", ["v5.channel.k8s.io"])
    await open
    ws.send(Buffer.from('\x04{"Width":132,"Height":50}\n'))
    ws.send(Buffer.from("\0hello"))
    ws.send(Buffer.from([255, 0]))
    await Promise.all([closed, joined])
    expect(channels.get(1)?.toString()).toBe("132 HELLO")
  })

  test("closes the command's session when the client disconnects", async () => {
    const gone = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const { outer, joined } = await behind(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, ALL))!
      arrived.resolve()
      await session.closed
      gone.resolve()
    })
    const command = await connectRemoteCommand({ url: `http://${outer}/exec`, streams: ALL })
    await arrived.promise
    command.close()
    await Promise.all([gone.promise, joined])
  })

  test("a connection that cannot be opened any more fails with the reason, and the session goes on", async () => {
    const echo = await echoPort()
    const inner = await serve(async (req, socket, head) => {
      for await (const { data } of (await acceptPortForward(req, socket, head))!)
        data.pipe(connectTcp({ port: echo, host: "127.0.0.1" })).pipe(data)
    })
    let isThere = true
    const outer = await serve(async (req, socket, head) => {
      const target = await forwardEach(async () => {
        if (!isThere) throw new Error("sandbox is gone")
        return connectPortForward({ url: `http://${inner}/portforward` })
      })
      await joinPortForward((await acceptPortForward(req, socket, head))!, target)
    })
    const client = await connectPortForward({ url: `http://${outer}/portforward` })
    const first = client.open(80)
    first.data.write("a")
    await once(first.data, "readable")

    isThere = false
    const late = client.open(80)
    late.data.write("lost")
    expect(await late.error).toBe("error forwarding port 80: sandbox is gone")
    first.data.end("b")
    expect(await text(first.data)).toBe("ab")
    client.close()
    await client.closed
  })

  test("forwards port-forward connections and their errors", async () => {
    const echo = await echoPort()
    const { outer, joined } = await behind(async (req, socket, head) => {
      for await (const connection of (await acceptPortForward(req, socket, head))!) {
        if (connection.port === 81) refuseForwarded(connection, "p", "u", "connection refused")
        else
          connection.data.pipe(connectTcp({ port: echo, host: "127.0.0.1", allowHalfOpen: true })).pipe(connection.data)
      }
    })
    const client = await connectPortForward({ url: `http://${outer}/portforward` })
    const [good, bad] = [client.open(80), client.open(81)]
    good.data.end("x".repeat(1024 * 1024))
    bad.data.end()
    expect((await text(good.data)).length).toBe(1024 * 1024)
    expect(await bad.error).toContain("connection refused")
    client.close()
    await joined
  })

  test.each([
    ["has ended while its client still sends", (data: Duplex) => void data.end("bye"), 4 * 1024 * 1024],
    ["does not read", () => {}, 300 * 1024],
  ])("a connection whose program %s holds up no other one of the session", async (_, program, size) => {
    // given
    const echo = await echoPort()
    const { outer, joined } = await behind(async (req, socket, head) => {
      const session = (await acceptPortForward(req, socket, head))!
      for await (const { port, data } of session)
        if (port === 80) data.pipe(connectTcp({ port: echo, host: "127.0.0.1" })).pipe(data)
        else program(data)
    })
    const client = await connectPortForward({ url: `http://${outer}/portforward` })
    client.open(81).data.write(Buffer.alloc(size))

    // when
    const good = client.open(80)
    good.data.end("hello")

    // then
    expect(await text(good.data)).toBe("hello")

    client.close()
    await joined
  })

  test.each([
    "failed to execute portforward in network namespace: read tcp4 127.0.0.1:1->127.0.0.1:9: read: connection reset by peer",
    "failed to execute portforward in network namespace: write tcp4 127.0.0.1:1->127.0.0.1:9: write: broken pipe",
  ])("ends only the connection that a program in the pod broke: %s", async (reason) => {
    // given a runtime that reports it as containerd 1.6 does, after the program's last words
    const echo = await echoPort()
    const { outer, joined } = await behind(async (req, socket, head) => {
      for await (const connection of (await acceptPortForward(req, socket, head))!) {
        if (connection.port === 81) {
          connection.data.write("bye")
          refuseForwarded(connection, "p", "u", reason)
        } else connection.data.pipe(connectTcp({ port: echo, host: "127.0.0.1" })).pipe(connection.data)
      }
    })
    const client = await connectPortForward({ url: `http://${outer}/portforward` })

    // when
    const broken = client.open(81)

    // then its client gets what was said, and no error, upon which kubectl would end everything
    expect(await text(broken.data)).toBe("bye")
    expect(await broken.error).toBe("")
    const good = client.open(80)
    good.data.end("hello")
    expect(await text(good.data)).toBe("hello")
    client.close()
    await joined
  })
})

test.each([
  ["success", exitCodeStatus(0), 0, ""],
  ["an exit code", exitCodeStatus(42), 42, "command terminated with non-zero exit code: exit status 42"],
  ["a failure", failureStatus("gone"), undefined, "Internal error occurred: gone"],
] as const)("%s is the same after the error channel", (_, status, code, old) => {
  expect(exitCodeOf(decodeStatus(encodeStatus(status, 4), 4))).toBe(code)
  expect(encodeStatus(status, 1)).toBe(old)
  expect(decodeStatus(encodeStatus(status, 1), 1).status).toBe(status.status)
})
