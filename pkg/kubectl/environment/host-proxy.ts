import type { Duplex } from "node:stream"
import type { HttpRequest } from "./connect.ts"

/** Opens a connection to a server through a proxy. */
export function dialThroughProxy({
  proxy,
}: Pick<HttpRequest, "url" | "tls" | "signal"> & { readonly proxy: URL }): Promise<Duplex> {
  return Promise.reject(new Error(`connections through the proxy ${proxy.href} are not there yet`))
}
