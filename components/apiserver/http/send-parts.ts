import type { Writable } from "node:stream"
import { createGzip } from "node:zlib"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { DirectBody } from "../../../pkg/runtime/http/direct-body.ts"
import { drained } from "../../../pkg/runtime/http/pass-on.ts"
import type { Parts } from "../codec/list-bytes.ts"
import { acceptsGzip, type Exchange } from "../call/exchange.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"

/**
 * Sends a large body piece by piece; each piece is made when the client has read the one before. A list of a hundred
 * megabytes costs the memory of one piece, and other requests are answered in between. The objects of a list are
 * immutable, so the list stays consistent.
 */
export async function sendParts(
  exchange: Exchange,
  code: number,
  contentType: string,
  { length, pieces }: Parts,
  clock: Pick<Clock, "afterTurn">,
): Promise<void> {
  const { req, res } = exchange
  if (res.headersSent || res.destroyed) return
  exchange.sentBytes = length ?? 0
  const headers = exchange.headers(contentType)
  const measured = length === undefined ? headers : { ...headers, "Content-Length": String(length) }
  if (req.method === "HEAD") {
    res.writeHead(code, measured)
    res.end()
    return
  }
  const gzipped = acceptsGzip(exchange.header("accept-encoding"))
  const direct = gzipped || length === undefined ? undefined : DirectBody.begin(res, code, headers, length)
  if (direct !== undefined) {
    for (const piece of pieces(direct)) {
      if (res.destroyed) return
      const read = direct.write(piece)
      if (read !== undefined) await read
    }
    direct.end()
    return
  }
  let out: Writable = res
  if (gzipped) {
    res.writeHead(code, { ...headers, "Content-Encoding": "gzip", Vary: "Accept-Encoding" })
    const gzip = createGzip({ level: 1 })
    gzip.pipe(res)
    res.once("close", () => gzip.destroy())
    out = gzip
  } else res.writeHead(code, measured)
  for (const piece of pieces()) {
    if (res.destroyed) return
    if (!out.write(piece)) await drained(out)
    // However fast this client reads.
    await nextTurn(clock)
  }
  out.end()
}
