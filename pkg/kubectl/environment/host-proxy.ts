import { Buffer } from "node:buffer"
import { connect as connectTcp, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import type { HttpRequest } from "./connect.ts"
import { hostOf, portOf, tlsOf } from "./host-address.ts"

type Target = Pick<HttpRequest, "url" | "tls" | "signal"> & { readonly proxy: URL }

/** Opens a connection to a server through a proxy, with TLS to the server where its address says so. */
export async function dialThroughProxy(target: Target): Promise<Duplex> {
  const { url, tls, proxy, signal } = target
  const socket = await connected(proxy, signal)
  if (proxy.protocol.startsWith("socks5")) await askSocks(socket, url, proxy)
  else if (url.protocol === "https:") await askTunnel(socket, url, proxy)
  if (url.protocol !== "https:") return socket
  return new Promise((resolve, reject) => {
    const secure = connectTls({ socket, ...tlsOf(tls, url), ALPNProtocols: ["http/1.1"] }, () => resolve(secure))
    secure.once("error", reject)
  })
}

function connected(proxy: URL, signal: AbortSignal | undefined): Promise<Socket> {
  const target = {
    host: hostOf(proxy),
    port: proxy.protocol.startsWith("socks5") && proxy.port === "" ? 1080 : portOf(proxy),
  }
  return new Promise((resolve, reject) => {
    const socket = proxy.protocol === "https:" ? connectTls({ ...target, servername: target.host }) : connectTcp(target)
    socket.once(proxy.protocol === "https:" ? "secureConnect" : "connect", () => resolve(socket))
    socket.once("error", (err) =>
      reject(new Error(`proxyconnect tcp: dial tcp ${target.host}:${target.port}: ${wordsOf(err)}`, { cause: err })),
    )
    signal?.addEventListener("abort", () => socket.destroy(signal.reason as Error), { once: true })
  })
}

const wordsOf = (err: Error): string =>
  (err as NodeJS.ErrnoException).code === "ECONNREFUSED" ? "connect: connection refused" : err.message

const authorization = ({ username, password }: URL): string =>
  username === ""
    ? ""
    : `Proxy-Authorization: Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}\r\n`

async function askTunnel(socket: Socket, url: URL, proxy: URL): Promise<void> {
  const at = `${url.hostname}:${portOf(url)}`
  socket.write(`CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\nUser-Agent: Go-http-client/1.1\r\n${authorization(proxy)}\r\n`)
  const head = await readUntil(socket, (bytes) => bytes.indexOf("\r\n\r\n") + 1)
  const [, code = "", words = ""] = /^HTTP\/1\.\d (\d+) ?(.*)/.exec(head.toString("latin1").split("\r\n")[0]!) ?? []
  if (code !== "200") throw new Error(words === "" ? `unexpected status ${code}` : words)
}

/** Source: RFC 1928, without authentication. */
async function askSocks(socket: Socket, url: URL, proxy: URL): Promise<void> {
  socket.write(Buffer.from([5, 1, 0]))
  const method = await readUntil(socket, (bytes) => (bytes.length >= 2 ? 2 : 0))
  if (method[1] !== 0)
    throw new Error(`socks connect tcp ${proxy.host}->${url.host}: no acceptable authentication methods`)
  const host = Buffer.from(hostOf(url))
  const port = portOf(url)
  socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3, host.length]), host, Buffer.from([port >> 8, port & 255])]))
  const answer = await readUntil(socket, (bytes) => (bytes.length >= 10 ? 10 : 0))
  if (answer[1] !== 0) throw new Error(`socks connect tcp ${proxy.host}->${url.host}: connection refused`)
}

/** Reads until `enough` gives more than 0, and leaves the socket without a reader. */
function readUntil(socket: Socket, enough: (bytes: Buffer) => number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0)
    const done = (settle: () => void) => {
      socket.pause()
      socket.off("data", onData)
      socket.off("close", onClose)
      settle()
    }
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (enough(bytes) > 0) done(() => resolve(bytes))
    }
    const onClose = () => done(() => reject(new Error("unexpected EOF")))
    socket.on("data", onData)
    socket.on("close", onClose)
  })
}
