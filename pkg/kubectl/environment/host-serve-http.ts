import { lookup } from "node:dns/promises"
import { createServer as createHttp, type ServerResponse } from "node:http"
import { createServer, isIPv6, type AddressInfo, type ListenOptions } from "node:net"
import { lstat, unlink } from "node:fs/promises"
import { holdBack } from "../../runtime/http/body-pressure.ts"
import { bindError } from "./bind-error.ts"
import { dialError } from "./dial-error.ts"
import type { HttpPlace, ServeHttp } from "./serve-http.ts"

/** Servers of this machine. */
export const hostServeHttp: ServeHttp = async (place, handler) => {
  const http = createHttp((request, answer: ServerResponse) => {
    const release = holdBack(request)
    answer.once("close", release)
    handler.request(request, answer)
  })
  // A client may keep its connection, as with Go's servers.
  http.keepAliveTimeout = 0
  http.on("upgrade", (request, socket, head) => handler.upgrade(request, socket, head))
  http.on("clientError", (_err, socket) => socket.destroy())
  // The connections are accepted by a server of their own: the one of node:http pays no heed to slow readers.
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy())
    http.emit("connection", socket)
  })
  const options = "socketPath" in place ? await socketOf(place.socketPath) : await addressOf(place)
  const address = await new Promise<string>((resolve, reject) => {
    server.once("error", (err) => reject(wordsOf(err, place, options)))
    // Nobody else of this machine may use a socket, also not for the moment until its mode could be changed.
    const mask = "socketPath" in place ? process.umask(0o077) : undefined
    server.listen({ ...options, exclusive: true }, () => {
      server.on("error", () => undefined)
      resolve(textOf(server.address() as AddressInfo | string))
    })
    if (mask !== undefined) process.umask(mask)
  })
  return { address, close: () => void server.close() }
}

/** A socket that is left there from an earlier run is removed; any other file stays, and is an error of the bind. */
async function socketOf(path: string): Promise<ListenOptions> {
  try {
    if ((await lstat(path)).isSocket()) await unlink(path)
  } catch {
    // There is none, or the bind says what is wrong.
  }
  return { path }
}

async function addressOf({ host, port }: { readonly host: string; readonly port: number }): Promise<ListenOptions> {
  if (port < 0 || port > 65_535) throw new Error(`listen tcp: address ${port}: invalid port`)
  if (host.includes(":") && !/^\[.*\]$/.test(host))
    throw new Error(`listen tcp: address ${host}:${port}: too many colons in address`)
  const name = host.replace(/^\[|\]$/g, "")
  if (name === "") return { host: "::", port }
  try {
    return { host: (await lookup(name, { order: "ipv4first" })).address, port }
  } catch (err) {
    const dialed = dialError(err as Error, new URL(`http://${host}`)).message
    throw new Error(dialed.replace(/^dial/, "listen"), { cause: err })
  }
}

const wordsOf = (err: Error, place: HttpPlace, { host }: ListenOptions): Error =>
  "socketPath" in place
    ? bindError(err, "unix", place.socketPath)
    : bindError(err, "tcp", textOf({ address: host!, port: place.port }))

const textOf = (address: Pick<AddressInfo, "address" | "port"> | string): string =>
  typeof address === "string"
    ? address
    : `${isIPv6(address.address) ? `[${address.address}]` : address.address}:${address.port}`
