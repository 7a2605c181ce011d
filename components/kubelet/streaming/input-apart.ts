import { Writable } from "node:stream"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import { SUCCESS, type CommandStatus } from "../../../pkg/streaming/status.ts"

export interface InputApartOptions {
  /** Whether the client lets go of the output, too, when its input has ended. */
  readonly inputEndsOutput: boolean
  /**
   * Resolves when the container has ended: to true, or to false when it has not within `limitMs` milliseconds or before
   * `left` aborts.
   */
  hasEnded(left: AbortSignal, limitMs?: number): Promise<boolean>
}

/** How much later than the end of a container's streams the word of its own end may come, in milliseconds. */
const END_TOLD_MS = 500

/**
 * Makes one command of two sessions that are attached to a container: one for its output, one for its input. In one
 * session containerd drops the input as soon as the container has closed an output, or had closed it before.
 * Source: containerd pkg/cri/io/container_io.go (Attach), pkg/ioutil/write_closer.go, writer_group.go; the same up to
 * 2.3.
 */
export function withInputApart(
  output: RemoteCommandClient,
  input: RemoteCommandClient,
  { inputEndsOutput, hasEnded }: InputApartOptions,
): RemoteCommandClient {
  const { stdin } = input
  if (stdin === undefined) return output
  /** Aborts with the client's session: the container may run for ever. */
  const left = new AbortController()
  const over = Promise.withResolvers<CommandStatus>()
  const end = (status: CommandStatus) => {
    over.resolve(status)
    output.close()
  }
  // Input that is lost must not look like success, unless nobody was left to read it.
  const delivered = input.status.then(async (status): Promise<void> => {
    if (status.status !== "Success" && !(await hasEnded(left.signal, END_TOLD_MS))) end(status)
  })
  void output.status.then(async (status) => {
    if (status.status === "Success") await Promise.race([delivered, hasEnded(left.signal)])
    over.resolve(status)
  })
  const whole = new Writable({
    // What comes after the end of the container is dropped.
    write: (chunk: Buffer, _encoding, callback) =>
      stdin.writable ? void stdin.write(chunk, () => callback()) : callback(),
    final(callback) {
      if (stdin.writable) stdin.end()
      if (inputEndsOutput) void delivered.then(() => end(SUCCESS))
      callback()
    },
    destroy(error, callback) {
      stdin.destroy()
      callback(error)
    },
  })
  // The input ends with the connection, which is told elsewhere.
  whole.on("error", () => undefined)
  return {
    ...output,
    stdin: whole,
    status: over.promise,
    closed: Promise.all([output.closed, input.closed]).then(() => undefined),
    close() {
      left.abort()
      input.close()
      output.close()
    },
  }
}
