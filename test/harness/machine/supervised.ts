import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { childOf, type Machine } from "../machine.ts"

/** The pause before a program is started again that has ended by itself, in milliseconds. */
const RESTART_MS = 500
const LOOK_MS = 50

/** A program on a machine that is started again when it ends by itself, as by systemd. */
export class Supervised {
  readonly #machine: Machine
  readonly #words: readonly [string, ...string[]]
  #child: ChildProcess | undefined
  #wanted = false
  #output = ""

  constructor(machine: Machine, ...words: readonly [string, ...string[]]) {
    this.#machine = machine
    this.#words = words
  }

  /** The end of its output. */
  get output(): string {
    return this.#output
  }

  /** Starts it, unless it runs. */
  start(): void {
    this.#wanted = true
    if (this.#child === undefined || hasEnded(this.#child)) this.#spawn()
  }

  /** Ends it by SIGKILL. Resolves when it has ended. */
  async kill(): Promise<void> {
    this.#wanted = false
    const child = this.#child
    if (child === undefined || hasEnded(child)) return
    const exited = once(child, "exit")
    // One that was started just now is not there yet.
    while (!hasEnded(child)) {
      this.#signal("SIGKILL")
      await Promise.race([exited, Bun.sleep(LOOK_MS)])
    }
  }

  /** Stops it where it is: its connections stay open, and nothing answers until `goOn`. */
  hang(): void {
    this.#signal("SIGSTOP")
  }

  goOn(): void {
    this.#signal("SIGCONT")
  }

  #spawn(): void {
    const [program, ...args] = this.#machine.command(...this.#words)
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
    const keep = (bytes: Buffer) => (this.#output = (this.#output + bytes.toString()).slice(-20_000))
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    child.once("exit", () => {
      if (!this.#wanted || this.#child !== child) return
      setTimeout(() => this.#wanted && this.#child === child && this.#spawn(), RESTART_MS)
    })
    this.#child = child
  }

  #signal(name: NodeJS.Signals): void {
    // What this host has started on a machine is the parent of the program.
    const pid = this.#child === undefined || hasEnded(this.#child) ? undefined : childOf(this.#child.pid!)
    if (pid === undefined) return
    process.kill(pid, name)
    // That parent stops with the program, and does not go on with it by itself.
    if (name !== "SIGSTOP") process.kill(this.#child!.pid!, "SIGCONT")
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null
