/**
 * Joins an accepted session with a session to the container runtime, byte for byte: the kubelet does this for clients
 * of the API server. Differs from upstream, which joins the two sockets: here each side may use its own protocol and
 * version.
 */
import type { Readable, Writable } from "node:stream"
import type { Clock } from "../clock/clock.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { ForwardedConnection, PortForwardSession } from "./port-forward.ts"
import type { ForwardTarget, PortConnection } from "./port-forward-client.ts"
import type { RemoteCommandSession } from "./remote-command.ts"
import type { RemoteCommandClient } from "./remote-command-client.ts"

/** How long a command may still read what a client has sent that has disconnected, in milliseconds. */
const LONGEST_READING_MS = 10_000

/**
 * Runs until the command has ended or the client has disconnected, and then closes both sides. Clients that cannot
 * close the input tell its end by disconnecting: what they have sent still arrives, unless `signal`, which says that
 * who joins them ends, aborts first. Never rejects.
 */
export async function joinRemoteCommand(
  session: RemoteCommandSession,
  command: RemoteCommandClient,
  clock: Pick<Clock, "setTimeout">,
  signal?: AbortSignal,
): Promise<void> {
  if (session.stdin !== undefined && command.stdin !== undefined) session.stdin.pipe(command.stdin)
  const outputs = [copied(command.stdout, session.stdout), copied(command.stderr, session.stderr)]
  const resizing = forwardSizes(session, command)
  const left = session.closed.then(() => undefined)
  const status = await Promise.race([Promise.all([command.status, ...outputs]).then(([ended]) => ended), left])
  if (status !== undefined) await Promise.race([session.exit(status), left])
  else if (session.stdin !== undefined) await inputRead(command, clock, signal)
  command.close()
  await session.closed
  await resizing
}

/** Resolves when a command has ended of which nobody wants the output any more, or had time to read its input. */
async function inputRead(
  { stdout, stderr, status, closed }: RemoteCommandClient,
  clock: Pick<Clock, "setTimeout">,
  signal: AbortSignal | undefined,
) {
  for (const output of [stdout, stderr]) {
    output?.unpipe()
    output?.resume()
  }
  if (signal?.aborted === true) return
  const late = Promise.withResolvers<void>()
  const isLate = () => late.resolve()
  const timer = clock.setTimeout(isLate, LONGEST_READING_MS)
  signal?.addEventListener("abort", isLate)
  await Promise.race([status, closed, late.promise])
  signal?.removeEventListener("abort", isLate)
  timer.cancel()
}

async function forwardSizes(session: RemoteCommandSession, command: RemoteCommandClient): Promise<void> {
  if (session.resize === undefined) return
  for await (const size of session.resize) command.resize(size)
}

/** Copies with back-pressure, and resolves at the end. The target is left open: `exit` ends it. */
function copied(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined) return Promise.resolve()
  if (to === undefined) from.resume()
  else from.pipe(to, { end: false })
  return new Promise((resolve) => {
    from.once("end", resolve)
    from.once("close", resolve)
  })
}

/** Forwards each connection of the client until the client disconnects, or the other side is lost. Never rejects. */
export async function joinPortForward(session: PortForwardSession, target: ForwardTarget): Promise<void> {
  void target.closed.then(() => session.close())
  for await (const connection of session) void forward(connection, target)
  await session.closed // clients with channels name all ports at once, so no more come; open connections continue
  target.close()
}

async function forward(connection: ForwardedConnection, target: ForwardTarget): Promise<void> {
  const { port, data: client, error: clientError, gone } = connection
  // What the client still sends to a target that has ended is dropped: unread, it would block its other connections.
  const drop = () => void client.resume()
  let opened: PortConnection
  try {
    opened = await target.open(port)
  } catch (err) {
    drop()
    clientError.write(`error forwarding port ${port}: ${errorMessage(err)}`)
    client.end()
    return
  }
  const { data, error } = opened
  client.pipe(data)
  data.pipe(client, { end: false })
  data.once("close", drop)
  void gone.then(() => data.destroy())
  // The data stream ends when both sides have sent everything, and ends the error stream too: so the error must be
  // written first.
  data.once(
    "end",
    () =>
      void error.then((message) => {
        if (message !== "" && !isOfOneConnection(message)) clientError.write(message)
        client.unpipe(data)
        drop()
        client.end()
      }),
  )
}

/**
 * Whether a runtime's error says no more than that a program in the pod broke a connection that it had accepted.
 * containerd 1.6 reports that like a port that cannot be reached, and clients end the whole session when they receive
 * an error: so the connection ends without one. Source: containerd pkg/cri/server/sandbox_portforward_linux.go.
 */
const isOfOneConnection = (message: string): boolean =>
  /connection reset by peer|broken pipe/.test(message) && !/failed to connect|dial tcp/.test(message)
