import { connect as connectTcp } from "node:net"
import { connect as connectTls } from "node:tls"
import type { Connect } from "./connect.ts"
import { dialError } from "./dial-error.ts"
import { hostOf, portOf, tlsOf } from "./host-address.ts"

/** Opens a connection of this machine. */
export const dialHost: Connect["dial"] = async ({ url, tls, proxy, signal }) => {
  if (proxy !== undefined) {
    const { dialThroughProxy } = await import("./host-proxy.ts")
    return dialThroughProxy({ url, tls, proxy, ...(signal === undefined ? {} : { signal }) })
  }
  const target = { host: hostOf(url), port: portOf(url) }
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === "https:"
    const socket = isTls
      ? connectTls({ ...target, ...tlsOf(tls, url), ALPNProtocols: ["http/1.1"] })
      : connectTcp(target)
    socket.once(isTls ? "secureConnect" : "connect", () => {
      socket.setNoDelay(true)
      resolve(socket)
    })
    socket.once("error", (err) => reject(dialError(err, url)))
    signal?.addEventListener("abort", () => socket.destroy(signal.reason as Error), { once: true })
  })
}
