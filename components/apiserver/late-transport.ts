import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Transport } from "../../pkg/client/client.ts"

/**
 * Returns a transport that exists before the server does. Each call goes to the server that `running` returns, by a
 * transport that `make` makes once for each server. What `running` throws is the failure of the call.
 */
export function lateTransport<Server extends object>(
  running: () => Server,
  make: (server: Server) => Transport,
): Transport {
  let made: { readonly server: Server; readonly transport: Transport } | undefined
  const current = (): Transport => {
    const server = running()
    if (made?.server !== server) made = { server, transport: make(server) }
    return made.transport
  }
  return {
    call(call, signal) {
      try {
        return current().call(call, signal)
      } catch (err) {
        return Promise.reject(ApiError.from(err))
      }
    },
    watch(resource, options, handlers) {
      try {
        return current().watch(resource, options, handlers)
      } catch (err) {
        handlers.onEnd(ApiError.from(err))
        return { close: () => undefined }
      }
    },
  }
}
