import { Buffer } from "node:buffer"
import { NAMESPACE } from "../validation/cases.ts"

/** A server that is reached over HTTP. */
export interface Server {
  send(request: Sent): Promise<Got>
  /** Returns frames of a watch. Closes the watch when there are `enough` of them. */
  frames(
    path: string,
    accept: string,
    enough: (frames: readonly Uint8Array[]) => boolean,
  ): Promise<readonly Uint8Array[]>
}
export interface Sent {
  readonly method: string
  readonly path: string
  readonly accept?: string
  readonly type?: string
  readonly body?: Uint8Array | string
}
export interface Got {
  readonly code: number
  readonly type: string
  readonly bytes: Uint8Array
}

/** Frames begin with their length. */
const HEAD = 4

/** Returns a server by its URL, whose certificate is not checked, and a token of an administrator. */
export function serverAt(url: string, token: string): Server {
  const ask = ({
    method,
    path,
    accept = "application/json",
    type = "application/json",
    body,
  }: Sent): Promise<Response> =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        // It names the manager of the fields that are written.
        "user-agent": "differential",
        accept,
        ...(body === undefined ? {} : { "content-type": type }),
      },
      ...(body === undefined ? {} : { body: body as BodyInit }),
      tls: { rejectUnauthorized: false },
    })
  return {
    async send(request) {
      const response = await ask(request)
      const type = response.headers.get("content-type") ?? ""
      return { code: response.status, type, bytes: new Uint8Array(await response.arrayBuffer()) }
    },
    async frames(path, accept, enough) {
      const response = await ask({ method: "GET", path, accept })
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
      const reader = response.body!.getReader()
      const frames: Uint8Array[] = []
      let rest = Buffer.alloc(0)
      for (;;) {
        const { value, done } = await reader.read()
        if (done) return frames
        rest = Buffer.concat([rest, value])
        while (rest.length >= HEAD && rest.length >= HEAD + rest.readUInt32BE(0)) {
          const end = HEAD + rest.readUInt32BE(0)
          frames.push(new Uint8Array(rest.subarray(HEAD, end)))
          rest = rest.subarray(end)
        }
        if (frames.length === 0 || !enough(frames)) continue
        await reader.cancel()
        return frames
      }
    },
  }
}

/** Creates what the exchanges need, and removes StorageClasses, which would change claims. */
export async function prepared(server: Server): Promise<Server> {
  const make = (path: string, name: string) =>
    server.send({ method: "POST", path, body: JSON.stringify({ metadata: { name } }) })
  await make("/api/v1/namespaces", NAMESPACE)
  await make(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, "default")
  await server.send({ method: "DELETE", path: "/apis/storage.k8s.io/v1/storageclasses/local-path" })
  return server
}
