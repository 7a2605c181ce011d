/**
 * Joining an accepted session with a dialled one, byte for byte: what the kubelet does between the API server's client
 * and the container runtime.
 *  Differs from upstream, which splices the two sockets: here each side may speak its own protocol and version. */
import type { Duplex, Readable, Writable } from "node:stream"
import type { PortForwardSession } from "./port-forward.ts"
import type { PortForwardClient } from "./port-forward-client.ts"
import type { RemoteCommandSession } from "./remote-command.ts"
import type { RemoteCommandClient } from "./remote-command-client.ts"

/** Runs until the command has ended or the client has left, and then both sides are closed. Never rejects. */
export async function joinRemoteCommand(session: RemoteCommandSession, command: RemoteCommandClient): Promise<void> {
  if (session.stdin !== undefined && command.stdin !== undefined) session.stdin.pipe(command.stdin)
  const outputs = [copied(command.stdout, session.stdout), copied(command.stderr, session.stderr)]
  const resizing = forwardSizes(session, command)
  const left = session.closed.then(() => undefined)
  const status = await Promise.race([Promise.all([command.status, ...outputs]).then(([ended]) => ended), left])
  if (status !== undefined) await Promise.race([session.exit(status), left])
  command.close()
  await session.closed
  await resizing
}

async function forwardSizes(session: RemoteCommandSession, command: RemoteCommandClient): Promise<void> {
  if (session.resize === undefined) return
  for await (const size of session.resize) command.resize(size)
}

/** Copies, with back-pressure, and resolves at the end. The target is left open: how it ends is `exit`'s to say. */
function copied(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined) return Promise.resolve()
  if (to === undefined) from.resume()
  else from.pipe(to, { end: false })
  return new Promise((resolve) => {
    from.once("end", resolve)
    from.once("close", resolve)
  })
}

/** Forwards each connection of the client until it leaves, or the other side is lost. Never rejects. */
export async function joinPortForward(session: PortForwardSession, target: PortForwardClient): Promise<void> {
  void target.closed.then(() => session.close())
  for await (const connection of session) {
    const { data, error } = target.open(connection.port)
    join(connection.data, data)
    void connection.gone.then(() => data.destroy())
    // The data stream ends when both sides have said all, and takes the error stream with it: so the error must come
    // first.
    data.once(
      "end",
      () =>
        void error.then((message) => {
          if (message !== "") connection.error.write(message)
          connection.data.end()
        }),
    )
  }
  await session.closed // the ports of channel clients are all known at once; their connections go on
  target.close()
}

/** Client to target ends by itself; target to client is ended by the caller, behind the error. */
function join(client: Duplex, target: Duplex): void {
  client.pipe(target)
  target.pipe(client, { end: false })
}
