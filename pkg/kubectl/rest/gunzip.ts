import { Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import type { HttpResponse } from "../environment/connect.ts"

/** Returns the response with its body unpacked, and without the headers about the packed one, as Go has it. */
export function gunzipped(response: HttpResponse): HttpResponse {
  const unpacked = createGunzip()
  const packed = Readable.from(response.body)
  packed.on("error", (err) => unpacked.destroy(err))
  packed.pipe(unpacked)
  const { "content-encoding": _, "content-length": __, ...headers } = response.headers
  return { ...response, headers, body: unpacked }
}
