import { createServer, isIPv6, type AddressInfo } from "node:net"
import { bindError } from "./bind-error.ts"
import type { Listen } from "./listen.ts"

/** Ports of this machine. */
export const hostListen: Listen = (address, port, accept) =>
  new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true }, accept)
    server.once("error", (err: NodeJS.ErrnoException) => {
      const [network, host] = isIPv6(address) ? ["tcp6", `[${address}]`] : ["tcp4", address]
      reject(bindError(err, network!, `${host}:${port}`))
    })
    server.listen({ host: address, port, exclusive: true }, () => {
      server.on("error", () => undefined)
      resolve({ address, port: (server.address() as AddressInfo).port, close: () => void server.close() })
    })
  })
