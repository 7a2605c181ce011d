/** Joining a session of a client to one behind it, over loopback. */
import { afterEach, describe, expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectTcp } from "node:net"
import { Writable, type Duplex } from "node:stream"
import type { Clock } from "../clock/clock.ts"
import { realClock } from "../clock/real.ts"
import { forwardEach } from "./each-port.ts"
import { joinPortForward, joinRemoteCommand } from "./join.ts"
import { acceptPortForward, refuseForwarded } from "./port-forward.ts"
import { connectPortForward } from "./port-forward-client.ts"
import { acceptRemoteCommand } from "./remote-command.ts"
import { connectRemoteCommand } from "./remote-command-client.ts"
import { exitCodeOf, exitCodeStatus } from "./status.ts"
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

/** A clock on which all times are over at once. */
const hasty: Pick<Clock, "setTimeout"> = { setTimeout: (run) => realClock.setTimeout(run, 0) }

describe("joining two sessions", () => {
  const behind = async (onUpgrade: Upgrade, streams = ALL, clock: Pick<Clock, "setTimeout"> = realClock) => {
    const inner = await serve(onUpgrade)
    const joined = Promise.withResolvers<void>()
    const outer = await serve(async (req, socket, head) => {
      if (req.url === "/portforward") {
        const target = await forwardEach(() => connectPortForward({ url: `http://${inner}/portforward` }))
        await joinPortForward((await acceptPortForward(req, socket, head))!, target)
      } else {
        const command = await connectRemoteCommand({ url: `http://${inner}/exec`, streams })
        await joinRemoteCommand((await acceptRemoteCommand(req, socket, head, streams))!, command, clock)
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

  test("passes on what a client has sent that then disconnects, as clients do that cannot close the input", async () => {
    // given a runtime that takes input only after the client has gone
    const [got, left] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()]
    const inner = await serve(async (req, socket, head) => {
      const session = (await acceptRemoteCommand(req, socket, head, ALL))!
      got.resolve(await text(session.stdin))
      await session.exit(exitCodeStatus(0))
    })
    const joined = Promise.withResolvers<void>()
    const outer = await serve(async (req, socket, head) => {
      const command = await connectRemoteCommand({ url: `http://${inner}/exec`, streams: ALL })
      const session = (await acceptRemoteCommand(req, socket, head, ALL))!
      void session.closed.then(() => setImmediate(left.resolve))
      const { stdin } = command
      const afterwards = (work: () => void) => void left.promise.then(work)
      const late = new Writable({
        write: (chunk: Buffer, _encoding, callback) => afterwards(() => stdin!.write(chunk, () => callback())),
        final: (callback) => afterwards(() => stdin!.end(callback)),
      })
      await joinRemoteCommand(session, { ...command, stdin: late }, realClock)
      joined.resolve()
    })
    // when
    const { ws, open } = dialWebSocket(outer, "/exec", ["v4.channel.k8s.io"])
    await open
    ws.send(Buffer.from("\u0000an archive"))
    ws.close()
    // then
    expect(await got.promise).toBe("an archive")
    await joined.promise
  })

  test("closes the command's session when the client disconnects, at the latest when it could have read all", async () => {
    const gone = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const { outer, joined } = await behind(
      async (req, socket, head) => {
        const session = (await acceptRemoteCommand(req, socket, head, ALL))!
        arrived.resolve()
        await session.closed
        gone.resolve()
      },
      ALL,
      hasty,
    )
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

  test("ends the connection to the pod that the client resets, while the session goes on", async () => {
    // given a connection to a program that neither reads nor ends
    const gone = Promise.withResolvers<void>()
    const echo = await echoPort()
    const { outer, joined } = await behind(async (req, socket, head) => {
      const session = (await acceptPortForward(req, socket, head))!
      for await (const { port, data } of session)
        if (port === 80) data.pipe(connectTcp({ port: echo, host: "127.0.0.1" })).pipe(data)
        else {
          data.write("ready")
          void session.closed.then(gone.resolve)
        }
    })
    const client = await connectPortForward({ url: `http://${outer}/portforward` })
    const { data } = client.open(81)
    await once(data, "readable")
    // when
    data.destroy()
    // then
    await gone.promise
    const good = client.open(80)
    good.data.end("hello")
    expect(await text(good.data)).toBe("hello")
    client.close()
    await joined
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
