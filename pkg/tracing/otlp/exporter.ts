import { sleep, type Clock, type Timer } from "../../clock/clock.ts"
import type { Logger } from "../../log/log.ts"
import type { FinishedSpan } from "../finished-span.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { exportRequest } from "./export-request.ts"
import { SendError, type Sender } from "./sender.ts"
import type { OtlpSettings } from "./settings.ts"

/** The first and the longest delay before spans are sent again, in milliseconds. */
const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 30_000
/** The number of attempts to send the same spans, after which they are dropped. */
const MOST_TRIES = 5
/** How long the end of the program waits for the collector, in milliseconds. */
const LAST_WORDS_MS = 2000

export type ExporterOptions = Pick<OtlpSettings, "resource" | "delayMs" | "mostWaiting" | "mostTogether"> & {
  readonly clock: Clock
  readonly log: Logger
  readonly sender: Sender
}

/**
 * Collects spans and sends them in batches, one at a time. Nothing waits for it: spans that do not fit are dropped, and
 * while there are no spans no timer runs. Source of the rules: OpenTelemetry specification, batching processor.
 */
export class OtlpExporter {
  readonly #options: ExporterOptions
  #waiting: FinishedSpan[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #dropped = 0
  #isFailing = false
  readonly #stopping = new AbortController()

  constructor(options: ExporterOptions) {
    this.#options = options
  }

  /** The number of spans that were not sent. */
  get dropped(): number {
    return this.#dropped
  }

  readonly add = (span: FinishedSpan): void => {
    const { clock, delayMs, mostWaiting, mostTogether } = this.#options
    if (this.#stopping.signal.aborted || this.#waiting.length >= mostWaiting) {
      this.#dropped++
      return
    }
    this.#waiting.push(span)
    if (this.#sending !== undefined) return
    if (this.#waiting.length >= mostTogether) this.#send()
    else this.#timer ??= clock.setTimeout(() => this.#send(), delayMs, "upkeep")
  }

  /** Accepts no more spans, and sends those that wait: for two seconds at most, and not after a failure. */
  async stop(): Promise<void> {
    const { sender } = this.#options
    this.#timer?.cancel()
    if (!this.#isFailing) await this.#sendLast()
    this.#stopping.abort(new Error("the exporter is being stopped"))
    sender.close()
  }

  async #sendLast(): Promise<void> {
    const enough = new AbortController()
    const last = (async () => {
      await this.#sending
      await this.#sendAll()
    })()
    await Promise.race([last, sleep(this.#options.clock, LAST_WORDS_MS, enough.signal).catch(() => undefined)])
    enough.abort()
  }

  #send(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#sending !== undefined || this.#stopping.signal.aborted) return
    this.#sending = this.#sendAll().finally(() => (this.#sending = undefined))
  }

  /** Sends batches until no spans wait; never rejects. */
  async #sendAll(): Promise<void> {
    const { mostTogether, resource } = this.#options
    while (this.#waiting.length > 0 && !this.#stopping.signal.aborted) {
      const batch = this.#waiting.slice(0, mostTogether)
      this.#waiting = this.#waiting.slice(mostTogether)
      const failure = await this.#sent(() => exportRequest(batch, resource))
      if (failure !== undefined) this.#dropped += batch.length
      this.#tell(failure)
    }
  }

  /** Returns why a batch could not be sent; undefined when it was. */
  async #sent(request: () => ReturnType<typeof exportRequest>): Promise<string | undefined> {
    const { clock, sender } = this.#options
    for (let tries = 1, retryMs = FIRST_RETRY_MS; ; tries++, retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      try {
        await sender.send(request())
        return undefined
      } catch (err) {
        const why = errorMessage(err)
        const isTemporary = err instanceof SendError && err.isTemporary
        if (!isTemporary || tries >= MOST_TRIES || this.#stopping.signal.aborted) return why
        this.#tell(why)
        await sleep(clock, retryMs, this.#stopping.signal).catch(() => undefined)
      }
    }
  }

  /** Logs the first failure and the first success after it. */
  #tell(failure: string | undefined): void {
    const isFailing = failure !== undefined
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    const { log } = this.#options
    if (isFailing)
      log.warn("Failed to send traces to the collector; will retry, and drop what does not fit", { error: failure })
    else log.info("Sent traces to the collector again", { dropped: this.#dropped })
  }
}
