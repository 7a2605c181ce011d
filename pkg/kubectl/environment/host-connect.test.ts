import { expect, test } from "bun:test"
import { createServer as createHttp } from "node:http"
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from "node:net"
import { createServer as createTls } from "node:tls"
import { openClusterPki } from "../../pki/cluster-pki.ts"
import type { HttpRequest, TlsOptions } from "./connect.ts"
import { hostConnect } from "./host-connect.ts"

/** Listens on loopback until the end of the test. */
async function listening(server: Server): Promise<AsyncDisposable & { readonly at: string }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => sockets.add(socket))
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  return { at: `127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: close }
}

/** A server that does `answer` with each request, of which it counts those and the connections. */
async function counting(answer: (socket: Socket, request: number) => void) {
  const counts = { requests: 0, connections: 0 }
  const server = createTcp((socket) => {
    counts.connections++
    socket.on("error", () => undefined)
    socket.on("data", () => answer(socket, ++counts.requests))
  })
  return Object.assign(await listening(server), { counts })
}

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

async function ask(url: string, request: Partial<HttpRequest> = {}): Promise<string> {
  const { body } = await hostConnect.send({
    ...{ method: "GET", url: new URL(url), headers: { Accept: "application/json" }, tls: {}, isWhole: true },
    ...request,
  })
  return Buffer.concat(await Array.fromAsync(body)).toString()
}

/** A server that answers with the name in the client's certificate, or with `nobody`. */
async function secure() {
  const pki = openClusterPki({ now: () => Date.now() })
  const leaf = (commonName: string) =>
    pki.issue({
      ...{ name: commonName, authority: "server-ca", ipAddresses: ["127.0.0.1"] },
      subject: { commonName, organizations: [] },
    })
  const { certPem: ca } = pki.authorities["server-ca"]
  const { keyPem: key, certPem: cert } = leaf("server")
  const server = createTls({ key, cert, ca, requestCert: true, rejectUnauthorized: false }, (socket) => {
    socket.on("error", () => undefined)
    socket.on("data", () => {
      const name = String(socket.getPeerCertificate().subject?.CN ?? "nobody")
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${name.length}\r\n\r\n${name}`)
    })
  })
  const client = (name: string): TlsOptions => {
    const { keyPem, certPem } = leaf(name)
    return { ca, key: keyPem, cert: certPem }
  }
  return Object.assign(await listening(server), { ca, client })
}

test("each request trusts the authorities that it names, and shows the certificate that it names", async () => {
  // given two servers of two authorities
  await using one = await secure()
  await using other = await secure()
  const by = (tls: TlsOptions) => ask(`https://${one.at}/`, { tls })
  const unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
  const alice = one.client("alice")

  // when the first is asked in turn by several clients, with its own authority, with the other's and with none
  expect(await by(alice)).toBe("alice")
  await expect(by({ ...alice, ca: other.ca })).rejects.toThrow(unknown)
  expect(await by({ ...alice, insecureSkipVerify: true })).toBe("alice")

  // then no connection that was kept is used with less trust, or for somebody else
  await expect(by({ ...alice, ca: other.ca })).rejects.toThrow(unknown)
  await expect(by({})).rejects.toThrow(unknown)
  expect(await by({ ca: one.ca })).toBe("nobody")
  expect(await by(one.client("bob"))).toBe("bob")
  expect(await ask(`https://${other.at}/`, { tls: other.client("carol") })).toBe("carol")
  expect(await by(alice)).toBe("alice")
})

test("what changes something is sent once over a kept connection that breaks, and what changes nothing again", async () => {
  const breaksAtSecond = (socket: Socket, request: number) => (request === 2 ? socket.end() : socket.write(ANSWER))
  // given a server that closes the connection at the second request
  await using written = await counting(breaksAtSecond)
  const post = () => ask(`http://${written.at}/`, { method: "POST", body: "{}" })
  await post()

  // when and then
  await expect(post()).rejects.toThrow(/^EOF$/)
  expect(written.counts).toEqual({ requests: 2, connections: 1 })

  // given another, when it is only read, then it is asked again
  await using read = await counting(breaksAtSecond)
  expect([await ask(`http://${read.at}/`), await ask(`http://${read.at}/`)]).toEqual(["{}", "{}"])
  expect(read.counts).toEqual({ requests: 3, connections: 2 })
})

test("after a broken connection, the next request of that server says exactly what broke", async () => {
  await using server = await counting((socket) => void socket.resetAndDestroy())
  await expect(ask(`http://${server.at}/`)).rejects.toThrow(/^EOF$/)
  await expect(ask(`http://${server.at}/`)).rejects.toThrow(
    new RegExp(`^read tcp 127.0.0.1:\\d+->${server.at}: read: connection reset by peer$`),
  )
})

test("a body that ends too early is an error", async () => {
  await using server = await counting((socket) => void socket.end(ANSWER.replace(": 2", ": 3")))
  await expect(ask(`http://${server.at}/`)).rejects.toThrow(/EOF$/)
})

test("a header with several values is sent once for each, and the server chooses how it packs", async () => {
  await using server = await listening(
    createHttp(({ rawHeaders }, answer) => void answer.end(JSON.stringify(rawHeaders))),
  )
  const sent = async (headers: HttpRequest["headers"]) => {
    const names = JSON.parse(await ask(`http://${server.at}/`, { headers })) as string[]
    return names.filter((_, index) => /^(?:accept-encoding|impersonate-group)$/i.test(names[index & ~1] ?? ""))
  }
  expect(await sent({ "Impersonate-Group": ["a", "b"] })).toEqual(["Impersonate-Group", "a", "Impersonate-Group", "b"])
  expect(await sent({ "Accept-Encoding": "gzip" })).toEqual(["Accept-Encoding", "gzip"])
  // without the header, the runtime would ask for what nobody here unpacks
  expect(await sent({})).toEqual(["Accept-Encoding", "identity"])
})

test("a proxy of the environment is not used unasked: whoever calls knows when it is", async () => {
  await using server = await counting((socket) => void socket.write(ANSWER))
  // given a process that is started with a proxy in its environment
  const program = `
    const { hostConnect } = await import(${JSON.stringify(`${import.meta.dirname}/host-connect.ts`)})
    const request = { method: "GET", url: new URL("http://${server.at}/"), headers: {}, tls: {}, isWhole: true }
    console.log((await hostConnect.send(request)).status)`
  const { PATH = "" } = process.env
  const child = Bun.spawn([process.execPath, "-e", program], { env: { PATH, http_proxy: "http://127.0.0.1:1" } })

  // when it asks the server, then it reaches it
  expect(await new Response(child.stdout).text()).toBe("200\n")
})
