import { packSnapshot } from "./pack.ts"

/** A small snapshot that was taken at this time, in milliseconds since the epoch, with this text in its file `token`. */
export const packedAt = (time: number, token = "secret"): AsyncIterable<Uint8Array> =>
  packSnapshot(
    {
      info: { revision: 5, time, version: "1", node: "n", cluster: "u" },
      files: [{ path: "token", content: Buffer.from(token) }],
      objects: [],
    },
    "zstd",
  )
