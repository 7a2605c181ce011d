import type { ClientRequest } from "node:http"

/**
 * Calls `fail` when a server answers 101 to a request that did not ask for another protocol. No "response" event
 * follows such an answer, and the connection then ends without an error, so the request would never settle.
 */
export function onUnwantedUpgrade(request: ClientRequest, fail: (err: Error) => void): void {
  request.once("upgrade", (_answer, socket) => {
    socket.on("error", () => undefined)
    socket.destroy()
    fail(new Error("the server switched protocols without a request to do so"))
  })
}
