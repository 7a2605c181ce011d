import { Writable, type Readable } from "node:stream"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { RemoteCommandClient } from "../../../pkg/streaming/remote-command-client.ts"
import { failureStatus, type CommandStatus } from "../../../pkg/streaming/status.ts"

/** Once it has had its last input, a container that has said nothing for so long is taken to have answered. */
const QUIET_MS = 500

export interface AttachedOptions {
  readonly clock: Clock
  /**
   * The runtime lets go of the output, too, when the input ends: true of containerd unless it then closes the
   * container's own.
   */
  readonly inputEndsOutput: boolean
  /** Whether what the container printed was over before anybody listened. Asked when nothing of it came. */
  missed(): Promise<boolean>
}

/**
 * A container's streams, as a client wants them that gives its input and goes: `echo question | kubectl debug -i …`.
 * Two things are put right.
 *
 * containerd ends the output with the input, so that the answer to the last line would be lost: the end of the input is
 * held back until the answer has been given. And a container may have ended before it was attached to. Then the client
 * is told that attaching failed: kubectl shows the log instead.
 */
export function attached(
  command: RemoteCommandClient,
  { clock, inputEndsOutput, missed }: AttachedOptions,
): RemoteCommandClient {
  const output = new Output([command.stdout, command.stderr], clock)
  const { stdin } = command
  return {
    ...command,
    stdin: stdin === undefined || !inputEndsOutput ? stdin : heldBack(stdin, output),
    status: command.status.then(async (status): Promise<CommandStatus> => {
      await output.ended
      const isMissed = status.status === "Success" && !output.any && (await missed())
      return isMissed ? failureStatus("the container had ended before it was attached to") : status
    }),
  }
}

/** Watches what comes, without taking it. */
class Output {
  any = false
  readonly ended: Promise<unknown>
  readonly #clock: Clock
  #isEnded = false
  #quiet: { readonly done: () => void; timer: Timer } | undefined

  constructor(streams: readonly (Readable | undefined)[], clock: Clock) {
    this.#clock = clock
    const there = streams.filter((stream) => stream !== undefined)
    for (const stream of there) stream.on("data", () => this.#came())
    this.ended = Promise.all(
      there.map(
        (stream) =>
          new Promise<void>((resolve) => {
            stream.once("end", resolve)
            stream.once("close", resolve)
          }),
      ),
    ).then(() => {
      this.#isEnded = true
      this.#quiet?.timer.cancel()
      this.#quiet?.done()
    })
  }

  /** Calls when nothing has come for a while, or nothing more can. */
  onQuiet(done: () => void): void {
    if (this.#isEnded) return done()
    this.#quiet = { done, timer: this.#clock.setTimeout(done, QUIET_MS) }
  }

  #came(): void {
    this.any = true
    if (this.#quiet === undefined) return
    this.#quiet.timer.cancel()
    this.#quiet.timer = this.#clock.setTimeout(this.#quiet.done, QUIET_MS)
  }
}

/** Writes to `stdin` at once, but ends it only when the output has come to rest. */
function heldBack(stdin: Writable, output: Output): Writable {
  const held = new Writable({
    write: (chunk: Buffer, _encoding, callback) => void stdin.write(chunk, callback),
    final(callback) {
      output.onQuiet(() => {
        stdin.end()
        callback()
      })
    },
    destroy(error, callback) {
      stdin.destroy()
      callback(error)
    },
  })
  stdin.once("error", (err) => held.destroy(err))
  // The client's input ends with the connection, which is told elsewhere.
  held.on("error", () => undefined)
  return held
}
