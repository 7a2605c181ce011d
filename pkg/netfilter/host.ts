import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Runs the kernel's programs (iptables, nft, conntrack, ip); a test gives one that acts in a network namespace. */
export interface Host {
  /** Runs a command and gives what it prints; throws when it fails. */
  run(command: string, args: readonly string[]): Promise<string>
  /** The same with something on its standard input. */
  feed(command: string, args: readonly string[], input: string): Promise<void>
}

/**
 * A program that takes longer is ended and counts as failed: what hangs for ever would keep the rules as they are,
 * without a word.
 */
const LIMIT_MS = 30_000
/** And how much longer for each KiB of input: `iptables-restore` on nf_tables needs minutes for 10,000 Services. */
const LIMIT_MS_PER_KIB = 60

/** Milliseconds that a program may take for an input of so many characters. */
export const timeLimit = (inputLength: number): number => LIMIT_MS + Math.ceil(inputLength / 1024) * LIMIT_MS_PER_KIB

/** Characters of a program's complaint that are kept: `nft` prints three lines for every line that it does not take. */
const COMPLAINT = 2000

/** The machine itself, or with `netns` one of its named network namespaces. */
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
        child.stderr.on("data", (bytes: Buffer) => (complaint = (complaint + bytes.toString()).slice(0, COMPLAINT)))
        child.on("error", reject)
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
        child.stdin.on("error", () => undefined) // the exit code tells
        child.stdin.end(input)
      })
    },
  }
}
