/** Passing an upgrade on as it is: what the `proxy` subresources do for WebSockets of an application, and the API server for exec,
 *  attach and port forwarding when the kubelet is in another process. Both ends then speak to one another, and bytes are copied.
 *  Source: apimachinery/pkg/util/proxy/upgradeaware.go. */
import { connect as connectTcp, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import type { DialOptions } from "./dial.ts"
import { refuseUpgrade, type UpgradeRequest } from "./upgrade.ts"

/** Headers that are about this hop, or about who the client is to this server: they never go on. */
const DROPPED = /^(host|authorization|x-remote-.*|impersonate-.*)$/

/** Sends the request to `url`, its answer (upgrade or not) back, and then bytes both ways. `headers` are added to the request's.
 *  Resolves when both connections are closed. Never rejects: a target that cannot be reached is answered with 502. */
export async function spliceUpgrade(
  req: UpgradeRequest,
  socket: Duplex,
  head: Buffer,
  { url, socketPath, tls, headers = {}, signal }: DialOptions,
): Promise<void> {
  const { protocol: scheme, hostname, host, port, pathname, search } = new URL(url)
  const secure = scheme === "https:"
  const place =
    socketPath === undefined
      ? { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 443 : 80)) }
      : { path: socketPath }
  const options = { ...place, allowHalfOpen: true }
  const target: Socket = secure ? connectTls({ ...options, ...tls, ALPNProtocols: ["http/1.1"] }) : connectTcp(options)
  const stop = () => target.destroy()
  signal?.addEventListener("abort", stop, { once: true })

  const connected = await new Promise<Error | undefined>((resolve) => {
    target.once(secure ? "secureConnect" : "connect", () => resolve(undefined))
    target.on("error", (err) => resolve(err)) // later ones are seen as its close
    target.once("close", () => resolve(new Error("the connection was closed")))
    socket.on("error", () => socket.destroy())
    socket.once("close", stop)
  })
  if (connected === undefined) {
    const kept = Object.entries(req.headers).filter(([name]) => !DROPPED.test(name))
    const lines = [...kept, ...Object.entries(headers), ["host", host] as const].flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
    )
    target.write(`${req.method ?? "GET"} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`)
    if (head.length > 0) target.write(head)
    socket.pipe(target)
    target.pipe(socket)
    target.once("close", () => void (socket.writableEnded || socket.end()))
    await Promise.all([closed(target), closed(socket)])
  } else {
    target.destroy()
    refuseUpgrade(socket, 502, `error dialing backend: ${connected.message}`)
    await closed(socket)
  }
  signal?.removeEventListener("abort", stop)
}

const closed = (stream: Duplex): Promise<void> =>
  stream.closed ? Promise.resolve() : new Promise((resolve) => void stream.once("close", () => resolve()))
