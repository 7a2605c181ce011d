import { Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import type { HttpResponse } from "../environment/connect.ts"

/** Returns the response with its body unpacked. */
export function gunzipped(response: HttpResponse): HttpResponse {
  const unpacked = createGunzip()
  const packed = Readable.from(response.body)
  packed.on("error", (err) => unpacked.destroy(err))
  packed.pipe(unpacked)
  return { ...response, body: unpacked }
}
