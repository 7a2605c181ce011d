import type { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { encodeStatus } from "../codec/encode.ts"
import type { Exchange } from "../call/exchange.ts"
import { negotiate, PLAIN, type Encoding } from "../codec/negotiate.ts"

/**
 * Sends a failure in the encoding that the client accepts; JSON where it accepts none that exists. Source:
 * responsewriters ErrorNegotiated.
 */
export function sendFailure(exchange: Exchange, error: ApiError): void {
  const status = error.toStatus()
  const { notes } = exchange
  const encoding = exchange.info?.isResource === true ? accepted(exchange.header("accept")) : "json"
  // As upstream: of an answer that the client does not accept, audit events have only the code.
  if (notes !== undefined && encoding !== undefined) {
    notes.status = status
    if (notes.showsResponse) notes.responseObject = JSON.stringify(status)
  }
  if (encoding === undefined || encoding === "json") return exchange.sendStatus(status)
  const { contentType, body } = encodeStatus(status, encoding, false)
  Promise.resolve(body)
    .then((bytes) => exchange.sendStatus(status, { contentType, bytes: bytes as Uint8Array | string }))
    .catch(() => exchange.res.destroy())
}

/** Returns the encoding that the client accepts; undefined for none that exists. */
function accepted(accept: string | undefined): Encoding | undefined {
  try {
    return negotiate(accept, PLAIN).encoding
  } catch {
    return undefined
  }
}
