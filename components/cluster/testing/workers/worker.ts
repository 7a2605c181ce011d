import { Worker } from "node:worker_threads"
import type { Timer } from "../../../../pkg/clock/clock.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { TestClusterError } from "../caller.ts"
import { receivedError, type Message, type WorkerSettings } from "./messages.ts"

/** The outcome of one seed. */
export type Outcome = { readonly result: unknown } | { readonly error: Error; readonly report: string | undefined }

/** How long a thread may take to load the test's module, with all that this imports. */
const LOAD_MS = 120_000

/** The worker's own module lies beside this one, in the sources and in the package. */
const ENTRY = new URL(`./cluster-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/**
 * A thread that runs one seed at a time. One that dies, or takes too long, fails the seed that it runs; the next seed
 * gets another thread.
 */
export class ClusterWorker {
  readonly #settings: WorkerSettings
  readonly #timeoutMs: number
  #thread: Worker | undefined
  #closed = false
  /** The seed that runs, or ran last. */
  #seed = 0
  #timer: Timer | undefined
  /** Ends the seed that runs. */
  #settle: ((outcome: Outcome) => void) | undefined

  constructor(settings: WorkerSettings, timeoutMs: number) {
    this.#settings = settings
    this.#timeoutMs = timeoutMs
  }

  /** Runs a seed. Never rejects. */
  async run(seed: number): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    if (this.#closed) return failed("The worker has ended")
    this.#settle = resolve
    this.#seed = seed
    this.#arm(LOAD_MS, `The module of seed ${seed} has not been loaded`)
    this.#started().postMessage(seed)
    try {
      return await promise
    } finally {
      this.#timer?.cancel()
      this.#settle = undefined
    }
  }

  /** Ends the seed that runs after this time, in milliseconds, unless it has ended by then. */
  #arm(ms: number, what: string): void {
    this.#timer?.cancel()
    this.#timer = realClock.setTimeout(() => {
      this.#end()
      this.#settle?.(failed(`${what} within ${ms / 1000} s`))
    }, ms)
  }

  /** Ends the thread; the seed that runs fails. */
  close(): void {
    this.#closed = true
    this.#end()
    this.#settle?.(failed("The worker has ended"))
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(ENTRY, { workerData: this.#settings })
    this.#thread = thread
    // What a thread does that was ended concerns no later seed.
    const isCurrent = () => this.#thread === thread
    const dies = (outcome: Outcome) => {
      if (!isCurrent()) return
      this.#end()
      this.#settle?.(outcome)
    }
    thread.on("message", (message: Message) => {
      if (!isCurrent()) return
      if ("begins" in message) this.#arm(this.#timeoutMs, `Seed ${message.seed} has not ended`)
      else if ("error" in message) this.#settle?.({ error: receivedError(message.error), report: message.report })
      else this.#settle?.({ result: message.result })
    })
    thread.on("error", (error: unknown) => dies({ error: TestClusterError.of(error), report: undefined }))
    thread.on("messageerror", (error: unknown) => dies({ error: TestClusterError.of(error), report: undefined }))
    thread.on("exit", (code: number) =>
      dies(failed(`The worker of seed ${this.#seed} has ended with exit code ${code}`)),
    )
    return thread
  }

  #end(): void {
    const thread = this.#thread
    this.#thread = undefined
    // A thread that never comes back to its event loop may not end before the process does: nobody waits for it.
    thread?.terminate().catch(() => undefined)
    thread?.unref()
  }
}

const failed = (message: string): Outcome => ({ error: new TestClusterError(message), report: undefined })
