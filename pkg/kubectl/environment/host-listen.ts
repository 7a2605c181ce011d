import { createServer, isIPv6, type AddressInfo } from "node:net"
import type { Listen } from "./listen.ts"

const WORDS: Readonly<Record<string, string>> = {
  EADDRINUSE: "bind: address already in use",
  EACCES: "bind: permission denied",
  EADDRNOTAVAIL: "bind: cannot assign requested address",
  EAFNOSUPPORT: "socket: address family not supported by protocol",
}

/** Ports of this machine. */
export const hostListen: Listen = (address, port, accept) =>
  new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true }, accept)
    server.once("error", (err: NodeJS.ErrnoException) => {
      const [network, host] = isIPv6(address) ? ["tcp6", `[${address}]`] : ["tcp4", address]
      reject(new Error(`listen ${network} ${host}:${port}: ${WORDS[err.code ?? ""] ?? err.message}`, { cause: err }))
    })
    server.listen({ host: address, port, exclusive: true }, () => {
      server.on("error", () => undefined)
      resolve({ address, port: (server.address() as AddressInfo).port, close: () => void server.close() })
    })
  })
