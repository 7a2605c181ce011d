/** Accepting and dialling sessions over loopback, for every protocol that needs no real client. */
import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectTcp, type Socket } from "node:net"
import { UpgradeRefused } from "./dial.ts"
import { acceptPortForward, refuseForwarded } from "./port-forward.ts"
import { connectPortForward } from "./port-forward-client.ts"
import { acceptRemoteCommand, type RemoteCommandSession } from "./remote-command.ts"
import { connectRemoteCommand } from "./remote-command-client.ts"
import { SpdyConnection } from "./spdy/connection.ts"
import type { SpdyStream } from "./spdy/stream.ts"
import { decodeStatus, encodeStatus, exitCodeOf, exitCodeStatus, failureStatus } from "./status.ts"
import { agreeToSpdy, refuseUpgrade } from "./upgrade.ts"
import {
  ALL,
  closeServers,
  dialWebSocket,
  echoPort,
  serve,
  shout,
  text,
  TTY,
  type Upgrade,
} from "./sessions.fixtures.ts"

afterEach(closeServers)

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

  test("keeps its exit code when its runtime resets the connection over the input that nobody has read", async () => {
    // given a container runtime that says how a command has ended, and closes the connection with much unread
    let reset = Promise.withResolvers<void>()
    const host = await serve((req, socket, head) => {
      if (agreeToSpdy(req, socket, ["v4.channel.k8s.io"]) === undefined) return
      let error: SpdyStream | undefined
      new SpdyConnection({
        socket,
        side: "server",
        head,
        onStream(stream) {
          if (stream.headers.streamtype === "error") error = stream
          if (stream.headers.streamtype === "stdin")
            stream.once("readable", () => {
              socket.pause()
              error!.end(encodeStatus(exitCodeStatus(3), 4), () => {
                const { resetAndDestroy } = socket as Socket
                resetAndDestroy.call(socket)
                reset.resolve()
              })
            })
          return true
        },
      })
    })
    for (let i = 0; i < 20; i++) {
      // when the client sends more in the moment of the reset
      reset = Promise.withResolvers()
      const command = await connectRemoteCommand({ url: `http://${host}/exec`, streams: ALL })
      command.stdin!.write("input")
      void reset.promise.then(() => command.stdin!.write(Buffer.alloc(100_000)))
      // then
      expect(exitCodeOf(await command.status)).toBe(3)
      await command.closed
    }
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

test.each([
  ["success", exitCodeStatus(0), 0, ""],
  ["an exit code", exitCodeStatus(42), 42, "command terminated with non-zero exit code: exit status 42"],
  ["a failure", failureStatus("gone"), undefined, "Internal error occurred: gone"],
] as const)("%s is the same after the error channel", (_, status, code, old) => {
  expect(exitCodeOf(decodeStatus(encodeStatus(status, 4), 4))).toBe(code)
  expect(encodeStatus(status, 1)).toBe(old)
  expect(decodeStatus(encodeStatus(status, 1), 1).status).toBe(status.status)
})
