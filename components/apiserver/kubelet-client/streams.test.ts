import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { connect } from "node:tls"
import { WebSocket } from "ws"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { containedFailures } from "../../../pkg/failure/contain.ts"
import { connectPortForward } from "../../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../../pkg/streaming/remote-command-client.ts"
import { heardFrom, NO_STREAMS, POD, repeating, streamServer, TALKING_PORTS } from "./stream-server.fixtures.ts"

let server: Awaited<ReturnType<typeof streamServer>>
beforeAll(async () => {
  server = await streamServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const send = (...args: Parameters<typeof server.send>) => server.send(...args)

describe("streams of a pod", () => {
  test("log is read from the kubelet of its node", async () => {
    // given
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      logs: async (pod, options) =>
        (async function* () {
          yield Buffer.from(`${pod.name} ${options.container} ${options.tailLines}\n`)
        })(),
    })

    // then
    expect(await send("GET", `${POD}/log?tailLines=3`)).toMatchObject({
      code: 200,
      text: "web c 3\n",
      headers: { "content-type": "text/plain" },
    })
    expect((await send("GET", `${POD}/log?container=other`)).code).toBe(400)
    expect((await send("GET", `${POD}/log?tailLines=-1`)).code).toBe(422)
    expect((await send("POST", `${POD}/exec?command=ls&stdout=1`)).code).toBe(400)
    expect((await send("GET", "/api/v1/namespaces/default/pods/none/log")).code).toBe(404)
    unregister()
  })

  test("log of a pod that no node runs yet is empty", async () => {
    const pod = { metadata: { name: "waits" }, spec: { containers: [{ name: "c", image: "i" }] } }
    const made = await send("POST", "/api/v1/namespaces/default/pods", pod)
    expect(made.code).toBe(201)
    expect(await send("GET", "/api/v1/namespaces/default/pods/waits/log")).toMatchObject({ code: 200, text: "" })
  })

  test.each([
    { protocols: [], base64: false },
    { protocols: ["binary.k8s.io"], base64: false },
    { protocols: ["other", "base64.binary.k8s.io"], base64: true },
  ])("log comes over a WebSocket that offers $protocols", async ({ protocols, base64 }) => {
    // given a log that has no end until the client is gone
    let ended = false
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      logs: async (_pod, _options, signal) =>
        (async function* () {
          yield Buffer.from("first \xff")
          yield Buffer.from("second")
          await new Promise((resolve) => signal.addEventListener("abort", resolve))
          ended = true
        })(),
    })

    // when
    const ws = new WebSocket(server.url(`${POD}/log?follow=true`).replace("https", "wss"), [...protocols], {
      headers: { authorization: server.authorization },
      rejectUnauthorized: false,
    })
    const messages: string[] = []
    await new Promise<void>((resolve, reject) => {
      ws.on("error", reject)
      ws.on("message", (data: Buffer, isBinary) => {
        expect(isBinary).toBe(!base64)
        messages.push(base64 ? Buffer.from(data.toString(), "base64").toString() : data.toString())
        if (messages.length === 3) resolve()
      })
    })

    // then
    expect(messages).toEqual(["", "first \xff", "second"])
    ws.terminate()
    while (!ended) await Bun.sleep(1)
    unregister()
  })

  test("log over a WebSocket is closed after its last byte, and a refusal is an HTTP response", async () => {
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      logs: async () =>
        (async function* () {
          yield Buffer.from("all")
        })(),
    })
    const open = (path: string) =>
      new WebSocket(server.url(path).replace("https", "wss"), {
        headers: { authorization: server.authorization },
        rejectUnauthorized: false,
      })
    const ws = open(`${POD}/log`)
    expect(await new Promise((resolve) => ws.on("close", resolve))).toBe(1000)
    const refused = open(`${POD}/log?container=other`)
    expect(await new Promise((resolve) => refused.on("error", resolve))).toMatchObject({
      message: expect.stringContaining("400"),
    })
    unregister()
  })

  test("exec carries streams and the exit code between client and kubelet", async () => {
    // given a node whose commands repeat their input and end with 3
    const asked: unknown[] = []
    const unregister = server.nodes.register("n1", { ...NO_STREAMS, exec: repeating(asked) })

    // when a client runs one
    const streams = { stdin: true, stdout: true, stderr: false, tty: false }
    const command = await connectRemoteCommand({
      ...server.dial(),
      url: server.url(`${POD}/exec?command=cat&command=-u&stdin=true&stdout=true`),
      streams,
    })
    let out = ""
    command.stdout!.on("data", (part: Buffer) => (out += part.toString()))
    command.stdin!.end("hello")

    // then
    expect(await command.status).toMatchObject({ reason: "NonZeroExitCode" })
    expect(out).toBe("hello")
    expect(asked).toEqual(["web", { container: "c", command: ["cat", "-u"], streams }])
    unregister()
  })

  test("exec of a command that cannot be started is refused with an HTTP response before the upgrade", async () => {
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      exec: () => Promise.reject(new Error("container is not running")),
    })
    const refused = await connectRemoteCommand({
      ...server.dial(),
      url: server.url(`${POD}/exec?command=ls&stdout=true`),
      streams: { stdin: false, stdout: true, stderr: false, tty: false },
    }).catch((err: unknown) => err)
    expect(refused).toMatchObject({
      name: "UpgradeRefused",
      status: 500,
      body: expect.stringContaining("container is not running"),
    })
    unregister()
    const gone = await connectRemoteCommand({
      ...server.dial(),
      url: server.url(`${POD}/exec?command=ls&stdout=true`),
      streams: { stdin: false, stdout: true, stderr: false, tty: false },
    }).catch((err: unknown) => err)
    expect(gone).toMatchObject({ name: "UpgradeRefused", status: 503 })
  })

  test("port-forward carries connections to the kubelet", async () => {
    const unregister = server.nodes.register("n1", { ...NO_STREAMS, portForward: TALKING_PORTS })
    const forward = await connectPortForward({ ...server.dial(), url: server.url(`${POD}/portforward`) })
    expect(await heardFrom(forward, 8080, "hello")).toBe("port 8080 says hello")
    forward.close()
    unregister()
  })

  test.each([
    ["an answer of the kubelet is no", new ApiError("InternalError", 'container not found ("c")'), 0],
    ["anything else is a", new Error("the runtime has crashed"), 1],
  ])("%s failure of the server, which it would log", async (_, err, failures) => {
    // given
    using _node = { [Symbol.dispose]: server.nodes.register("n1", { ...NO_STREAMS, exec: () => Promise.reject(err) }) }
    const before = containedFailures().get("request") ?? 0
    // when
    const refused = await connectRemoteCommand({
      ...server.dial(),
      url: server.url(`${POD}/exec?command=ls&stdout=true`),
      streams: { stdin: false, stdout: true, stderr: false, tty: false },
    }).catch((thrown: unknown) => thrown)
    // then
    expect(refused).toMatchObject({ status: 500, body: expect.stringContaining(err.message.split(" (")[0]!) })
    expect((containedFailures().get("request") ?? 0) - before).toBe(failures)
  })
})

describe("a proxy", () => {
  test.each([[`${POD}/proxy/a%20b?x=1`], ["/api/v1/namespaces/default/pods/http:web:http/proxy/a%20b?x=1"]])(
    "forwards requests: %s",
    async (path) => {
      const { code, text } = await send("POST", path, { a: 1 })
      const seen = JSON.parse(text) as { headers: Record<string, string> }
      expect(code).toBe(200)
      expect(seen).toMatchObject({ method: "POST", url: "/a%20b?x=1", body: '{"a":1}' })
      expect(seen.headers.authorization).toBeUndefined()
    },
  )

  test("rewrites links and redirects of pages to its own path", async () => {
    expect((await send("GET", `${POD}/proxy/page`)).text).toBe(
      `<a href="${POD}/proxy/other">x</a><a href="//far/away">y</a>`,
    )
    const packed = await fetch(server.url(`${POD}/proxy/packed`), {
      headers: { authorization: server.authorization },
      tls: { rejectUnauthorized: false },
    })
    expect(packed.headers.get("content-encoding")).toBe("gzip")
    expect(await packed.text()).toBe(`<a href="${POD}/proxy/other">x</a><a href="//far/away">y</a>`)
    expect((await send("GET", `${POD}/proxy/moved`)).headers.location).toBe(`${POD}/proxy/there`)
    expect(await send("GET", `${POD}/proxy?x=1`)).toMatchObject({
      code: 301,
      headers: { location: `${POD}/proxy/?x=1` },
    })
  })

  test("names the target in the error when the target cannot be reached", async () => {
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/services/empty/proxy/")).text)).toMatchObject({
      code: 503,
      message: 'no endpoints available for service "empty"',
    })
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/services/none/proxy/")).text)).toMatchObject({
      code: 404,
    })
    expect(JSON.parse((await send("GET", "/api/v1/namespaces/default/pods/web:1/proxy/")).text)).toMatchObject({
      code: 503,
      message: expect.stringContaining("error trying to reach service"),
    })
    expect(JSON.parse((await send("GET", "/api/v1/nodes/n1/proxy/logs/")).text)).toMatchObject({ code: 503 })
    expect(JSON.parse((await send("GET", "/api/v1/nodes/none/proxy/logs/")).text)).toMatchObject({
      code: 404,
      message: 'nodes "none" not found',
    })
  })

  test("reaches a node's kubelet, also by its port, and streams its response", async () => {
    // given a kubelet that answers with what it was asked, and then goes on
    const asked: string[] = []
    const unregister = server.nodes.register("n1", {
      ...NO_STREAMS,
      proxy: async ({ method, url }) => {
        asked.push(`${method} ${url}`)
        if (url.endsWith("/whole"))
          return new Response("whole", { status: 202, headers: { "Content-Type": "text/x", Allow: "GET" } })
        const parts = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const part of ["part ", "by part"]) controller.enqueue(Buffer.from(part))
            controller.close()
          },
        })
        return new Response(parts, { headers: { "Content-Type": "text/plain", "Transfer-Encoding": "chunked" } })
      },
    })

    // then
    expect(await send("GET", "/api/v1/nodes/n1/proxy/a%20b/?x=1")).toMatchObject({
      code: 200,
      text: "part by part",
      headers: { "content-type": "text/plain" },
    })
    expect(await send("POST", "/api/v1/nodes/https:n1:10250/proxy/whole")).toMatchObject({
      code: 202,
      text: "whole",
      headers: { "content-type": "text/x", allow: "GET" },
    })
    expect(await send("HEAD", "/api/v1/nodes/n1/proxy")).toMatchObject({ code: 200, text: "" })
    expect(asked).toEqual(["GET http://node/a%20b/?x=1", "POST http://node/whole", "GET http://node/"])
    unregister()

    // and another port is the machine's
    expect(JSON.parse((await send("GET", `/api/v1/nodes/n1:${server.targetPort}/proxy/there`)).text)).toMatchObject({
      url: "/there",
    })
  })

  test("forwards upgrades", async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = ""
      const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () =>
        socket.write(
          `GET ${POD}/proxy/ HTTP/1.1\r\nHost: a\r\nAuthorization: ${server.authorization}\r\nConnection: ` +
            "Upgrade\r\nUpgrade: echo\r\n\r\n",
        ),
      )
      socket.on("error", reject)
      socket.on("data", (part: Buffer) => {
        text += part.toString()
        if (text.endsWith("\r\n\r\n")) socket.write("ping")
        if (text.endsWith("ping")) {
          resolve(text)
          socket.destroy()
        }
      })
    })
    expect(answer).toStartWith("HTTP/1.1 101")
  })
})

test("an upgrade request for a path that does not upgrade gets an ordinary response", async () => {
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ""
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () =>
      socket.write(
        `GET ${POD} HTTP/1.1\r\nHost: a\r\nAuthorization: ${server.authorization}\r\nConnection: Upgrade\r\n` +
          "Upgrade: h2c\r\n\r\n",
      ),
    )
    socket.on("error", reject)
    socket.on("data", (part: Buffer) => (text += part.toString()))
    socket.on("close", () => resolve(text))
  })
  expect(answer).toStartWith("HTTP/1.1 200")
  expect(answer).toContain('"name":"web"')
})
