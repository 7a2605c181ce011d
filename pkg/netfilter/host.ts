import { execFile, spawn, type ChildProcess } from "node:child_process"
import { promisify } from "node:util"

const run = promisify(execFile)

/**
 * Runs the system's network programs (iptables, nft, conntrack, ip). Tests pass one that runs them in a network
 * namespace.
 */
export interface Host {
  /** Runs a command and returns its standard output. Throws when the command fails. */
  run(command: string, args: readonly string[]): Promise<string>
  /** Runs a command with `input` on its standard input. Throws when the command fails. */
  feed(command: string, args: readonly string[], input: string): Promise<void>
}

/**
 * A program that takes longer, in milliseconds, is killed and has failed. Otherwise a program that hangs would keep old
 * rules in place without an error.
 */
const LIMIT_MS = 30_000
/** Additional milliseconds for each KiB of input: `iptables-restore` on nf_tables needs minutes for 10,000 Services. */
const LIMIT_MS_PER_KIB = 60

/** Returns how many milliseconds a program may take for an input of `inputLength` characters. */
export const timeLimit = (inputLength: number): number => LIMIT_MS + Math.ceil(inputLength / 1024) * LIMIT_MS_PER_KIB

/**
 * The number of characters of a program's standard error that an error contains: `nft` prints three lines for every
 * line that it refuses.
 */
const COMPLAINT = 2000

const hasStreams = ({ stdin, stderr }: Partial<Pick<ChildProcess, "stdin" | "stderr">>): boolean =>
  stdin !== undefined && stderr !== undefined

/** Returns the host that runs programs in this network namespace, or in the one named `netns`. */
export function hostIn(netns?: string): Host {
  const within = (command: string, args: readonly string[]): [string, readonly string[]] =>
    netns === undefined ? [command, args] : ["ip", ["netns", "exec", netns, command, ...args]]
  return {
    async run(command, args) {
      const [program, all] = within(command, args)
      return (await run(program, [...all], { maxBuffer: 64 * 1024 * 1024, timeout: LIMIT_MS })).stdout
    },
    feed(command, args, input) {
      const [program, all] = within(command, args)
      const timeout = timeLimit(input.length)
      return new Promise((resolve, reject) => {
        const child = spawn(program, [...all], { stdio: ["pipe", "ignore", "pipe"], timeout })
        let complaint = ""
        child.on("error", reject)
        // A program that could not be started for want of a file descriptor has no streams.
        if (!hasStreams(child)) return
        child.stderr.on("data", (bytes: Buffer) => (complaint = (complaint + bytes.toString()).slice(0, COMPLAINT)))
        child.on("close", (code, signal) =>
          code === 0
            ? resolve()
            : reject(
                new Error(
                  signal === null
                    ? `${command} failed with code ${code}: ${complaint.trim()}`
                    : `${command} was ended by ${signal} after at most ${timeout / 1000} s`,
                ),
              ),
        )
        child.stdin.on("error", () => undefined) // ignored, because the exit code reports the failure
        child.stdin.end(input)
      })
    },
  }
}
