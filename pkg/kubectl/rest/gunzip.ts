import { loaded, type Clock } from "../../clock/clock.ts"
import type { HttpResponse } from "../environment/connect.ts"

/** Returns the response with its body unpacked, and without the headers about the packed one, as Go has it. */
export function gunzipped(response: HttpResponse, clock: Pick<Clock, "stillDuring">): HttpResponse {
  const { "content-encoding": _, "content-length": __, ...headers } = response.headers
  return { ...response, headers, body: unpacked(response.body, clock) }
}

/** What unpacks is loaded at the first packed body: few are, and a start is shorter without it. */
async function* unpacked(
  packed: HttpResponse["body"],
  clock: Pick<Clock, "stillDuring">,
): AsyncGenerator<Uint8Array, void, undefined> {
  const [{ Readable }, { createGunzip }] = await loaded(
    clock,
    Promise.all([import("node:stream"), import("node:zlib")]),
  )
  const gunzip = createGunzip()
  const source = Readable.from(packed)
  source.on("error", (err) => gunzip.destroy(err))
  source.pipe(gunzip)
  yield* gunzip as AsyncIterable<Uint8Array>
}
