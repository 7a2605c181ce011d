import { Writable, type Readable } from "node:stream"
import type { Clock, Timer } from "../../../../../pkg/clock/clock.ts"
import type { RemoteCommandClient } from "../../../../../pkg/streaming/remote-command-client.ts"
import { failureStatus, type CommandStatus } from "../../../../../pkg/streaming/status.ts"
import type { HeldOutput } from "./held-outputs.ts"
import { largest, smallest } from "../../../../../pkg/lists/extremes.ts"

/** How long the input waits for the outputs to be held, in milliseconds: mostly it is a few. */
const LONGEST_WAIT_MS = 1000
/** How long it still waits when one of the outputs has ended. */
const AFTER_END_MS = 50
/** How often input that a process has left unread is dropped, in milliseconds, until its exit code is there. */
const UNREAD_MS = 100
/** Outputs that end further apart than this, in milliseconds, were not ended by the end of the process. */
const TOGETHER_MS = 20

/**
 * Passes input on to a command once its outputs are held, so that none is lost when the command closes one of them.
 * Where they could not be held, and the command closed one of them, its success becomes a failure.
 */
export function withWholeInput(command: RemoteCommandClient, output: HeldOutput, clock: Clock): RemoteCommandClient {
  const { stdin } = command
  if (stdin === undefined) return command
  const ready = Promise.withResolvers<boolean>()
  const timers = [clock.setTimeout(() => ready.resolve(false), LONGEST_WAIT_MS)]
  void output.isHeld.then(ready.resolve)
  const ends = [command.stdout, command.stderr]
    .filter((stream) => stream !== undefined)
    .map((stream) => ended(stream).then(() => clock.monotonic()))
  void Promise.race(ends).then(() => timers.push(clock.setTimeout(() => ready.resolve(false), AFTER_END_MS)))
  // Of a process that has ended containerd waits until its input is written, which nobody reads: 64 KiB fit.
  // Only the end of all outputs tells of that end here.
  let isOver = false
  let unread: Timer | undefined
  const dropLater = () => {
    if (!isOver) unread = clock.setTimeout(dropInput, UNREAD_MS)
  }
  const dropInput = () => {
    if (!isOver) output.dropInput()
    dropLater()
  }
  if (ends.length > 0) void Promise.all(ends).then(dropLater)
  void command.status.then(() => (isOver = true))
  void command.closed.then(() => {
    isOver = true
    for (const timer of timers) timer.cancel()
    unread?.cancel()
    ready.resolve(false)
    output.release()
  })
  let hasInput = false
  const gate = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      hasInput ||= chunk.length > 0
      // What comes after the end of the command is dropped.
      const pass = () => (stdin.writable ? void stdin.write(chunk, () => callback()) : callback())
      void ready.promise.then(pass)
    },
    final(callback) {
      const end = () => (stdin.writable ? void stdin.end(callback) : callback())
      void ready.promise.then(end)
    },
    destroy(error, callback) {
      stdin.destroy()
      callback(error)
    },
  })
  stdin.once("error", (err) => gate.destroy(err))
  // The input ends with the connection, which is told elsewhere.
  gate.on("error", () => undefined)
  return {
    ...command,
    stdin: gate,
    status: command.status.then(async (status): Promise<CommandStatus> => {
      if (status.status !== "Success" || !hasInput || (await ready.promise)) return status
      const at = await Promise.all(ends)
      return largest(at) - smallest(at) > TOGETHER_MS ? failureStatus(LOST) : status
    }),
  }
}

const LOST = "the container runtime closed the command's input before all of it was passed on"

const ended = (stream: Readable): Promise<void> =>
  new Promise((resolve) => {
    stream.once("end", resolve)
    stream.once("close", resolve)
  })
