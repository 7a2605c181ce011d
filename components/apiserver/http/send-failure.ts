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
  if (notes !== undefined) {
    notes.status = status
    if (notes.showsResponse) notes.responseObject = JSON.stringify(status)
  }
  const { encoding } = exchange.info?.isResource === true ? acceptedOr(exchange.header("accept")) : JSON_ONLY
  if (encoding === "json") return exchange.sendStatus(status)
  const { contentType, body } = encodeStatus(status, encoding, false)
  Promise.resolve(body)
    .then((bytes) => exchange.sendStatus(status, { contentType, bytes: bytes as Uint8Array | string }))
    .catch(() => exchange.res.destroy())
}
const JSON_ONLY = { encoding: "json" } as const

function acceptedOr(accept: string | undefined): { readonly encoding: Encoding } {
  try {
    return negotiate(accept, PLAIN)
  } catch {
    return JSON_ONLY
  }
}
