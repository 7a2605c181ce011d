import type { Connect, HttpRequest, HttpResponse } from "./connect.ts"
import { dialError } from "./dial-error.ts"
import { errorCode } from "./files.ts"
import { fetched, isFetchable } from "./host-fetch.ts"

/** The servers, as `https://127.0.0.1:6443`, that have broken off a connection. */
const breaking = new Set<string>()

/** Connections of this machine. Those of one server are used again. */
export const hostConnect: Connect = {
  send: (request) =>
    isFetchable(request) && !breaking.has(request.url.origin) ? sendByFetch(request) : sendByNode(request),
  dial: async (target) => (await import("./host-dial.ts")).dialHost(target),
}

const sendByNode = async (request: HttpRequest): Promise<HttpResponse> =>
  (await import("./host-http.ts")).sendOver(request)

/** How fetch names failures that come before a request is sent: of the address, of the connection, of trust. */
const NOT_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|(?:CERT|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|ERR_TLS)_\w+)$/

/**
 * Fetch does not say at which address it failed, nor from which port, nor what came instead of an answer. So what has
 * not been sent is tried once more by Node's module, which says so, and so are the requests after a broken connection.
 */
async function sendByFetch(request: HttpRequest): Promise<HttpResponse> {
  const { url, signal } = request
  try {
    return await fetched(request)
  } catch (err) {
    if (signal?.aborted === true) throw signal.reason
    const code = errorCode(err) ?? ""
    if (NOT_SENT.test(code)) return sendByNode(request)
    breaking.add(url.origin)
    if (code === "ECONNRESET") throw Object.assign(new Error("EOF", { cause: err }), { code })
    throw dialError(err as Error, url)
  }
}
