import type { ForwardTarget, PortForwardClient } from "./port-forward-client.ts"

/**
 * Forwards each connection through a session of its own, which `dial` opens. A session that is shared is not safe:
 * SPDY as container runtimes speak it has no flow control for a stream, so a program that reads no more from one
 * connection holds up all the others, and even the word that the connection is not needed any more.
 * Source: moby/spdystream connection.go (handleDataFrame, the queues of its workers).
 *
 * Rejects when the first session cannot be opened.
 */
export async function forwardEach(dial: () => Promise<PortForwardClient>): Promise<ForwardTarget> {
  const closed = Promise.withResolvers<void>()
  const sessions = new Set<PortForwardClient>()
  let isClosed = false
  const dialled = async () => {
    const session = await dial()
    sessions.add(session)
    void session.closed.then(() => sessions.delete(session))
    if (isClosed) session.close()
    return session
  }
  /** The session for the first connection, which showed that the pod can be reached. */
  let unused: PortForwardClient | undefined = await dialled()
  return {
    async open(port) {
      const ready = unused
      unused = undefined
      const session = ready !== undefined && sessions.has(ready) ? ready : await dialled()
      const { data, error } = session.open(port)
      data.once("end", () => void error.then(() => session.close()))
      data.once("close", () => {
        if (!data.readableEnded) session.close() // reset by this side: the other one may not even read that
      })
      return { data, error }
    },
    closed: closed.promise,
    close() {
      isClosed = true
      for (const session of sessions) session.close()
      closed.resolve()
    },
  }
}
