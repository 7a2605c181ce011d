import { afterEach, describe, expect, test } from "bun:test"
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type Server } from "node:http"
import { connect, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Interrupted, type Environment } from "../../environment/environment.ts"
import { hostEnvironment } from "../../environment/host-environment.ts"
import { runKubectl } from "../../kubectl.ts"

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A server that says what it was asked. */
async function apiServer(): Promise<string> {
  const server: Server = createServer((request, response) => void echo(request).then((body) => response.end(body)))
  server.on("upgrade", (request, socket) => {
    socket.on("error", () => undefined)
    if (request.url === "/refused") socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    else {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
      socket.pipe(socket)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  closing.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function echo(request: IncomingMessage): Promise<string> {
  let body = ""
  for await (const part of request as AsyncIterable<Buffer>) body += part.toString()
  const { "impersonate-user": user, "user-agent": agent } = request.headers
  return JSON.stringify({ method: request.method, url: request.url, body, user, agent })
}

/** Starts `kubectl proxy`, and resolves with what it prints first. */
async function startProxy(...args: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proxy-"))
  closing.push(() => rm(folder, { recursive: true }))
  const { promise, resolve } = Promise.withResolvers<string>()
  const host = hostEnvironment({ name: "kubectl", kubeconfigs: [], version: VERSION })
  const output = (write: (text: string) => void) => ({
    ...host.stdout,
    write: (text: string | Uint8Array) => Promise.resolve(write(String(text))),
  })
  const environment: Environment = {
    ...host,
    variables: {},
    home: folder,
    kubeconfigs: [],
    interrupt: AbortSignal.abort(new Interrupted()),
    stdout: output(resolve),
    stderr: output(resolve),
    serveHttp: async (place, handler) => {
      const server = await host.serveHttp!(place, handler)
      closing.push(() => server.close())
      return server
    },
  }
  void runKubectl(["proxy", "--server", await apiServer(), "--as=jane", ...args], environment)
  return promise
}

const VERSION = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.0",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64",
}

const addressOf = (text: string): string => {
  expect(text).toMatch(/^Starting to serve on 127\.0\.0\.1:\d+\n$/)
  return `http://${text.trim().slice("Starting to serve on ".length)}`
}
const started = async (...args: readonly string[]): Promise<string> => addressOf(await startProxy("--port=0", ...args))
const answerOf = async (url: string, options: RequestInit = {}): Promise<readonly [number, string]> => {
  const response = await fetch(url, { redirect: "manual", ...options })
  return [response.status, response.headers.get("location") ?? (await response.text())]
}

/** Sends bytes, and resolves with all that is answered until the connection ends. */
const exchanged = (url: string, text: string, ends: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ""
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(text))
    const done = () => {
      socket.destroy()
      resolve(answer)
    }
    socket.on("error", reject).on("end", done)
    socket.on("data", (part: Buffer) => {
      answer += part.toString()
      if (ends.test(answer)) done()
    })
  })

describe("kubectl proxy", () => {
  test("passes requests on as the user of the command line", async () => {
    const proxy = await started()
    const [status, body] = await answerOf(`${proxy}/api/v1/namespaces?a=b%20c`, { method: "POST", body: "{}" })
    expect([status, JSON.parse(body)]).toEqual([
      200,
      {
        method: "POST",
        url: "/api/v1/namespaces?a=b%20c",
        body: "{}",
        user: "jane",
        agent: expect.stringMatching(/^Bun/),
      },
    ])
    // A client that says itself who it acts as is heard.
    const [, own] = await answerOf(`${proxy}/api`, { headers: { "Impersonate-User": "other" } })
    expect(JSON.parse(own)).toMatchObject({ user: "other" })
  })

  test("refuses hosts, paths and methods that do not pass its filters, also when they are escaped", async () => {
    const proxy = await started("--reject-methods=DELETE")
    const forbidden = [403, "Forbidden\n"] as const
    expect(await answerOf(`${proxy}/api/v1/namespaces/default/pods/a/exec`)).toEqual(forbidden)
    expect(await answerOf(`${proxy}/api/v1/namespaces/default/pods/a/%65xec`)).toEqual(forbidden)
    expect(await answerOf(`${proxy}/api`, { method: "DELETE" })).toEqual(forbidden)
    expect(await answerOf(`${proxy}/api`, { headers: { Host: "evil.example.com" } })).toEqual(forbidden)
    // These are other spellings of the same path, or end with bytes that are no text.
    for (const path of [
      "/x/%2e%2e/api/v1/namespaces/default/pods/a/exec",
      "/x\\..\\api/v1/namespaces/default/pods/a/exec",
      "/api/v1/namespaces/default/pods/a/%65xec/%ff",
    ])
      expect(await exchanged(proxy, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, /Forbidden\n$|}$/)).toEndWith(
        "Forbidden\n",
      )
    const upgrade = "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n"
    const exec = `POST /api/v1/namespaces/default/pods/a/exec HTTP/1.1\r\nHost: localhost\r\n${upgrade}`
    expect(await exchanged(proxy, exec, /Forbidden\n/)).toStartWith("HTTP/1.1 403 Forbidden\r\n")
  })

  test("joins the connections of an upgrade, and closes one that the server refuses", async () => {
    const proxy = await started()
    const head = (path: string) =>
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`
    expect(await exchanged(proxy, `${head("/joined")}hello`, /hello$/)).toMatch(/^HTTP\/1\.1 101 [^]*\r\n\r\nhello$/)
    // What follows a refused upgrade on its connection would reach the server past the filters.
    const after = "DELETE /api HTTP/1.1\r\nHost: evil.example.com\r\n\r\n"
    const answer = await exchanged(proxy, `${head("/refused")}${after}`, /never/)
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[^]*\r\n\r\nno$/)
  })

  test("has the API below a path of its own, and redirects to clean paths", async () => {
    const proxy = await started("--api-prefix=/custom")
    const [, body] = await answerOf(`${proxy}/custom/version`)
    expect(JSON.parse(body)).toMatchObject({ url: "/version" })
    expect(await answerOf(`${proxy}/version`)).toEqual([404, "404 page not found\n"])
    expect(await answerOf(`${proxy}/custom`)).toEqual([307, "/custom/"])
    expect(await answerOf(`${proxy}/custom//version?a`)).toEqual([307, "/custom/version?a"])
  })

  test("serves the files of a folder, and none above it", async () => {
    const www = await mkdtemp(join(tmpdir(), "www-"))
    closing.push(() => rm(www, { recursive: true }))
    await writeFile(join(www, "a.txt"), "hello\n")
    const proxy = await started(`--www=${www}`)
    expect(await answerOf(`${proxy}/static/a.txt`)).toEqual([200, "hello\n"])
    expect(await answerOf(`${proxy}/static/a.txt`, { headers: { Range: "bytes=1-2" } })).toEqual([206, "el"])
    expect(await answerOf(`${proxy}/static/a.txt`, { headers: { Range: "bytes=9-" } })).toMatchObject({ 0: 416 })
    expect((await answerOf(`${proxy}/static/`))[1]).toContain('<pre>\n<a href="a.txt">a.txt</a>\n</pre>\n')
    const above = `GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n`
    expect(await exchanged(proxy, above, /not found\n/)).toStartWith("HTTP/1.1 404 ")
  })

  test("listens on a unix socket that only its user may use", async () => {
    const folder = await mkdtemp(join(tmpdir(), "socket-"))
    closing.push(() => rm(folder, { recursive: true }))
    const path = join(folder, "socket")
    expect(await startProxy(`--unix-socket=${path}`)).toBe(`Starting to serve on ${path}\n`)
    expect((await stat(path)).mode & 0o777).toBe(0o700)
  })

  test.each([
    [["--port=1", "--unix-socket=/x"], "error: cannot set --unix-socket and --port at the same time\n"],
    [["--port=99999"], "error: listen tcp: address 99999: invalid port\n"],
    [["--address=::1"], "error: listen tcp: address ::1:8001: too many colons in address\n"],
    [["--unix-socket=/nowhere/x"], "error: listen unix /nowhere/x: bind: no such file or directory\n"],
  ])("says what is wrong with %j", async (args, message) => {
    expect(await startProxy(...args)).toBe(message)
  })
})
