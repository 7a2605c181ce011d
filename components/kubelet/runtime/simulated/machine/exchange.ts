import { sleep, type Clock, type Timer } from "../../../../../pkg/clock/clock.ts"
import type { SimulatedContainer } from "../containers/container.ts"
import { ConnectionError } from "./connection-error.ts"
import { ReceiveBuffer } from "./receive-buffer.ts"

export interface ExchangeParts {
  readonly clock: Clock
  readonly request: Request
  readonly container: SimulatedContainer
  /** The address and port, in words. */
  readonly dialled: string
  /** How long the client waits for the answer, and for anything from a machine that is lost, in milliseconds. */
  readonly timeoutMs: number
  /** Ends the request; the client has left. */
  readonly signal: AbortSignal | undefined
  /** Called when the connection is closed; may be called twice. */
  closed(exchange: Exchange): void
  /** Whether packets get through between the client and the container's machine at this moment. */
  isConnected(): boolean
}

/** The delay before a packet that was lost is sent again, in milliseconds. */
const RETRANSMIT_MS = 1000

/**
 * One request and its answer over a connection of its own. When the container ends, its machine resets the connection;
 * when the machine is lost or cut off, nothing comes any more and the client's patience decides.
 */
export class Exchange {
  readonly #parts: ExchangeParts
  readonly #close: () => void
  /** Rejects when the connection breaks. */
  readonly #broken = Promise.withResolvers<never>()
  #givingUp: Timer | undefined
  readonly #over = new AbortController()

  constructor(parts: ExchangeParts) {
    this.#parts = parts
    this.#broken.promise.catch(() => undefined)
    this.#close = parts.container.connected(() => this.#containerEnded())
    parts.signal?.addEventListener("abort", this.#abandon, { once: true })
  }

  /** Returns the answer; its body breaks with the connection. @throws ConnectionError, or what the image throws */
  async answer(): Promise<Response> {
    try {
      const response = await this.head()
      return response.body === null ? (this.close(), response) : this.#following(response, response.body)
    } catch (err) {
      this.close()
      throw err
    }
  }

  /** Returns the answer as the image makes it. Call `close` after its body has been read. */
  async head(): Promise<Response> {
    const { clock, request, container, timeoutMs, signal } = this.#parts
    signal?.throwIfAborted()
    const { http } = container.behaviour
    if (http === undefined) return new Response("ok\n", { status: 200, statusText: "OK" })
    const late = new ConnectionError(
      "ETIMEDOUT",
      `Get "${request.url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    )
    const timer = clock.setTimeout(() => this.break(late), timeoutMs)
    try {
      const response = await Promise.race([http(request, container), this.#broken.promise])
      await this.#arrive()
      return response
    } finally {
      timer.cancel()
    }
  }

  /** Breaks the connection: the client gets the error when it has read what has arrived before. */
  break(why: unknown): void {
    this.#broken.reject(why)
    this.close()
  }

  close(): void {
    this.#parts.closed(this)
    this.#close()
    this.#givingUp?.cancel()
    this.#over.abort(new Error("the connection is closed"))
    this.#parts.signal?.removeEventListener("abort", this.#abandon)
  }

  /** Returns the response with a body that is read as it arrives in the client's socket. */
  #following({ status, statusText, headers }: Response, body: ReadableStream<Uint8Array>): Response {
    const socket = new ReceiveBuffer()
    const reader = body.getReader()
    const receive = async (): Promise<void> => {
      for (;;) {
        await Promise.race([socket.hasRoom(), this.#broken.promise])
        const { done, value } = await Promise.race([reader.read(), this.#broken.promise])
        await this.#arrive()
        if (done) return
        socket.add(value)
      }
    }
    receive()
      .then(
        () => socket.end(),
        (err: unknown) => {
          socket.end(err)
          reader.cancel(err).catch(() => undefined)
        },
      )
      .finally(() => this.close())
    const left = (reason: unknown): void => this.break(reason)
    return new Response(socket.stream(left), { status, statusText, headers })
  }

  /** Resolves when what was sent has arrived: at once, or when the machines are connected again. */
  async #arrive(): Promise<void> {
    const { clock, isConnected } = this.#parts
    if (isConnected()) return
    this.#giveUpLater()
    do await Promise.race([sleep(clock, RETRANSMIT_MS, this.#over.signal), this.#broken.promise])
    while (!isConnected())
    this.#givingUp?.cancel()
    this.#givingUp = undefined
  }

  #containerEnded(): void {
    if (!this.#parts.isConnected()) return this.#giveUpLater()
    this.break(new ConnectionError("ECONNRESET", `${this.#words}: read: connection reset by peer`))
  }

  #giveUpLater(): void {
    const { clock, timeoutMs } = this.#parts
    this.#givingUp ??= clock.setTimeout(
      () => this.break(new ConnectionError("ETIMEDOUT", `${this.#words}: i/o timeout`)),
      timeoutMs,
    )
  }

  readonly #abandon = (): void => this.break(this.#parts.signal!.reason)

  get #words(): string {
    return `read tcp ${this.#parts.dialled}`
  }
}
