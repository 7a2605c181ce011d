import { spawn, type ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import type { Readable } from "node:stream"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { PluginDescription, PluginRequest } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { NodeInfo } from "../node-info.ts"
import { NodeFeed } from "./node-feed.ts"
import { PluginError, type PluginHost } from "./plugin-host.ts"
import { PluginOutput } from "./plugin-output.ts"

export interface ProcessHostOptions {
  /** The plugin's file. */
  readonly file: string
  /** The words that start the program in which the plugin runs; the file follows. */
  readonly command: readonly string[]
  readonly clock: Clock
  readonly log: Logger
  /** Most memory of the process, in bytes; 512 MiB unless given. */
  readonly mostBytes?: number
}

const MOST_BYTES = 512 * 1024 * 1024
/** Most bytes of one answer. */
const LARGEST_ANSWER = 8 * 1024 * 1024
/** How long a file may take to load, in milliseconds. */
const LOAD_MS = 10_000
/** A process that does not answer this soon when asked whether it lives is ended, in milliseconds. */
const PING_MS = 500
/** How often the memory is looked at while a question is open, in milliseconds. */
const LOOK_MS = 100

interface Pending {
  readonly resolve: (answer: unknown) => void
  readonly reject: (err: PluginError) => void
  /** Resolves when the answer is there, or there is none. */
  readonly done?: Promise<unknown>
}

/** One life of the process. */
interface Life {
  readonly process: ChildProcess
  readonly pending: Map<number, Pending>
  readonly feed: NodeFeed
  /** Why the process is being ended; undefined while it is not. */
  fate?: string
  last: number
  /** Settled when it is known whether a process lives that has not answered in time. */
  suspected?: Promise<void> | undefined
  watching: Timer | undefined
}

/**
 * Runs a plugin in a process of its own, which is ended when it does not come back to its event loop, or takes too much
 * memory, and started again for the next question. A thread would be cheaper, but its memory is that of the server, and
 * so is its end: `process.kill(process.pid)`, an abort of the engine, the kernel's choice when memory runs out.
 * A question takes 70 µs, and 40 ms and 30 MB are what the process costs.
 */
export class ProcessHost implements PluginHost {
  readonly #options: ProcessHostOptions
  #description: PluginDescription
  #life: Life | undefined
  #stopped = false

  private constructor(options: ProcessHostOptions, description: PluginDescription) {
    this.#options = options
    this.#description = description
  }

  /** Loads the plugin. @throws Error that names the file, and says what is wrong with it */
  static async load(options: ProcessHostOptions): Promise<ProcessHost> {
    const host = new ProcessHost(options, { ...UNKNOWN, name: options.file })
    try {
      host.#description = (await host.#ask(host.#start(), { load: true }, "the file", LOAD_MS)) as PluginDescription
    } catch (err) {
      await host.stop()
      throw err
    }
    return host
  }

  get description(): PluginDescription {
    return this.#description
  }
  get #name(): string {
    return this.#description.name
  }

  async ask(request: PluginRequest, nodes: readonly NodeInfo[] | undefined, deadlineMs: number): Promise<unknown> {
    await this.#life?.suspected
    if (this.#stopped) throw this.#error("the scheduler stops", false)
    const life = this.#life ?? this.#start()
    let change: unknown
    for (let next = nodes && life.feed.next(nodes); next !== undefined; next = life.feed.next(nodes!)) {
      change = next.change
      if (next.isAll) break
      this.#send(life, { nodes: change })
      change = undefined
      // Other work of the server has its turn between two parts of a large cluster.
      await new Promise<void>((resolve) => this.#options.clock.afterTurn(resolve))
    }
    return this.#ask(life, { nodes: change, request }, request.call, deadlineMs)
  }

  tell(request: PluginRequest): void {
    if (this.#life !== undefined) this.#send(this.#life, { id: 0, request })
  }

  begin(): void {
    this.#stopped = false
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const life = this.#life
    if (life === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    life.process.once("exit", () => resolve())
    this.#end(life, "the scheduler stops")
    await promise
  }

  /** Ends the process when its open questions are answered: each has a deadline. */
  async retire(): Promise<void> {
    for (const { done } of [...(this.#life?.pending.values() ?? [])]) await done
    await this.stop()
  }

  #ask(life: Life, message: object, what: string, deadlineMs: number): Promise<unknown> {
    const { clock } = this.#options
    if (life.fate !== undefined) return Promise.reject(this.#error(`has ended: ${life.fate}`, true))
    const id = ++life.last
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const late = clock.setTimeout(() => {
      this.#send(life, { cancel: id })
      reject(this.#error(`${what} has not answered within ${deadlineMs / 1000}s`, true))
      this.#ping(life)
    }, deadlineMs)
    life.pending.set(id, { resolve, reject, done: promise.catch(() => undefined) })
    this.#watchMemory(life)
    this.#send(life, { id, ...message })
    return promise.finally(() => {
      late.cancel()
      life.pending.delete(id)
    })
  }

  #error(what: string, isFatal: boolean): PluginError {
    return new PluginError(`plugin ${this.#name}: ${what}`, isFatal)
  }

  /** Ends a process whose event loop does not turn. */
  #ping(life: Life): void {
    if (life.fate !== undefined || life.suspected !== undefined) return
    const id = ++life.last
    const { promise, resolve } = Promise.withResolvers<void>()
    life.suspected = promise
    const timer = this.#options.clock.setTimeout(() => this.#end(life, "it does not come back from a call"), PING_MS)
    const settled = () => {
      timer.cancel()
      life.pending.delete(id)
      life.suspected = undefined
      resolve()
    }
    life.pending.set(id, { resolve: settled, reject: settled })
    this.#send(life, { id, ping: true })
  }

  #start(): Life {
    const { command, file, log } = this.#options
    const [program = "", ...args] = [...command, file]
    // The plugin does not get the server's environment, which may have keys in it.
    const env = { PATH: process.env["PATH"] ?? "", HOME: "/", TZ: process.env["TZ"] ?? "" }
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe", "pipe"], env })
    const life: Life = { process: child, pending: new Map(), feed: new NodeFeed(), last: 0, watching: undefined }
    this.#life = life
    const output = new PluginOutput(() => this.#name, this.#options.clock, log)
    child.stdout!.on("data", (data: Buffer) => output.take(data))
    child.stderr!.on("data", (data: Buffer) => output.take(data))
    child.stdin!.on("error", () => undefined)
    this.#readAnswers(life, child.stdio[3] as Readable)
    child.on("error", (err) => this.#ended(life, `it cannot be started: ${err.message}`))
    child.on("exit", (code, signal) =>
      this.#ended(
        life,
        life.fate ?? `its process ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}`,
      ),
    )
    return life
  }

  #readAnswers(life: Life, answers: Readable): void {
    let parts: Buffer[] = []
    let size = 0
    answers.on("error", () => undefined)
    answers.on("data", (data: Buffer) => {
      let rest = data
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        const line = Buffer.concat([...parts, rest.subarray(0, at)]).toString("utf8")
        rest = rest.subarray(at + 1)
        parts = []
        size = 0
        this.#answered(life, line)
      }
      parts.push(rest)
      size += rest.length
      if (size <= LARGEST_ANSWER) return
      answers.pause()
      this.#end(life, `an answer has more than ${LARGEST_ANSWER / 2 ** 20} MiB`)
    })
  }

  #answered(life: Life, line: string): void {
    let answer: { readonly id?: unknown; readonly ok?: unknown; readonly error?: unknown }
    try {
      answer = (JSON.parse(line) ?? {}) as typeof answer
    } catch {
      return this.#end(life, "it wrote something else than answers")
    }
    const pending = life.pending.get(Number(answer.id))
    // An answer that came too late.
    if (pending === undefined) return
    if (typeof answer.error === "string") pending.reject(this.#error(answer.error.slice(0, 1000), false))
    else pending.resolve(answer.ok)
  }

  #watchMemory(life: Life): void {
    const { clock, mostBytes = MOST_BYTES } = this.#options
    if (life.watching !== undefined) return
    const look = (): void => {
      life.watching = undefined
      if (life.fate !== undefined) return
      if (residentBytes(life.process.pid) > mostBytes)
        return this.#end(life, `it took more than ${mostBytes / 2 ** 20} MiB of memory`)
      if (life.pending.size > 0) life.watching = clock.setTimeout(look, LOOK_MS)
    }
    life.watching = clock.setTimeout(look, LOOK_MS)
  }

  #send(life: Life, message: object): void {
    if (life.fate === undefined) life.process.stdin!.write(`${JSON.stringify(message)}\n`)
  }

  #end(life: Life, why: string): void {
    if (life.fate !== undefined) return
    life.fate = why
    life.process.kill("SIGKILL")
    this.#forget(life)
  }

  #ended(life: Life, why: string): void {
    life.fate ??= why
    this.#forget(life)
  }

  #forget(life: Life): void {
    life.watching?.cancel()
    if (this.#life === life) this.#life = undefined
    // One error for all questions: it counts as one failure.
    const error = this.#error(`has ended: ${life.fate}`, true)
    for (const { reject } of life.pending.values()) reject(error)
    life.pending.clear()
  }
}

const UNKNOWN: PluginDescription = {
  name: "",
  points: [],
  hints: false,
  pods: {},
  weight: 1,
  events: undefined,
  ignorable: false,
  deadlines: {},
}

/** Size of a page in bytes: on all processors on which k3ts runs. */
const PAGE = 4096

/** 0 where the process is gone. */
function residentBytes(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE
  } catch {
    return 0
  }
}
