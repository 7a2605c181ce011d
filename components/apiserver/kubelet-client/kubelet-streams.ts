import type { Duplex } from "node:stream"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { UpgradeRefused } from "../../../pkg/streaming/dial.ts"
import { joinPortForward, joinRemoteCommand } from "../../../pkg/streaming/join.ts"
import type { PortForwardSession } from "../../../pkg/streaming/port-forward.ts"
import { connectPortForward } from "../../../pkg/streaming/port-forward-client.ts"
import { connectRemoteCommand } from "../../../pkg/streaming/remote-command-client.ts"
import type { CommandStreams, RemoteCommandSession } from "../../../pkg/streaming/remote-command.ts"
import { reasonOf, refused } from "./kubelet-failures.ts"

interface Called {
  readonly url: string
  readonly connect: () => Promise<Duplex>
  /** The kubelet's host and port, as they stand in error messages. */
  readonly address: string
}

interface CalledCommand extends Called {
  readonly clock: Pick<Clock, "setTimeout">
}

/** Joins a client's command with that of a kubelet. `accept` is called when the kubelet has agreed. */
export async function passCommand(
  { url, connect, address, clock }: CalledCommand,
  streams: CommandStreams,
  accept: () => Promise<RemoteCommandSession | undefined>,
): Promise<void> {
  const client = await orDialError(connectRemoteCommand({ url, connect, streams }), address)
  const session = await accept()
  if (session === undefined) return client.close()
  await joinRemoteCommand(session, client, clock)
}

/** Does the same for forwarded ports. */
export async function passPorts(
  { url, connect, address }: Called,
  accept: () => Promise<PortForwardSession | undefined>,
): Promise<void> {
  const client = await orDialError(connectPortForward({ url, connect }), address)
  const session = await accept()
  if (session === undefined) return client.close()
  await joinPortForward(session, client)
}

/** What keeps a stream from starting, in the words of upstream's proxy. */
async function orDialError<T>(call: Promise<T>, address: string): Promise<T> {
  try {
    return await call
  } catch (err) {
    if (err instanceof UpgradeRefused) throw refused(err.status, err.body)
    throw new ApiError("InternalError", `error dialing backend: ${reasonOf(err, address)}`, undefined, { cause: err })
  }
}
