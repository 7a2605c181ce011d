import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiCall, Transport, Watch, WatchHandlers, WatchOptions } from "../../../../pkg/client/client.ts"
import type { Clock, Timer } from "../../../../pkg/clock/clock.ts"
import type { Links } from "./links.ts"

/** How long a client waits for an answer, and how long a watch lives that cannot be heard, in milliseconds. */
const ANSWER_MS = 30_000
const SILENCE_MS = 10_000

export interface NetworkTransportOptions {
  readonly clock: Clock
  readonly links: Links
  /** The machine of the client. */
  readonly from: string
  /** The machine of the server. */
  readonly to: string
  /** The way into the server while it runs; undefined otherwise. */
  readonly server: () => Transport | undefined
}

/** The server could not be reached, so nothing has happened there. */
export class UnreachableError extends ApiError {
  constructor(server: string) {
    super("ServiceUnavailable", `dial tcp: connect: no route to host: ${server} cannot be reached`)
  }
}

/** The simulated connection of a machine to a server: what is sent takes time, and may be lost. */
export class NetworkTransport implements Transport {
  readonly #options: NetworkTransportOptions
  readonly #watches = new Set<NetworkWatch>()

  constructor(options: NetworkTransportOptions) {
    this.#options = options
  }

  get server(): string {
    return this.#options.to
  }

  /** @throws UnreachableError before the request is sent, ApiError Timeout when no answer came */
  call(call: ApiCall, signal?: AbortSignal): Promise<unknown> {
    const { clock, links, from, to } = this.#options
    const server = this.#server()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const timer = clock.setTimeout(() => {
      const { verb, resource } = call
      reject(new ApiError("Timeout", `${to} does not answer: whether it did ${verb} ${resource.plural} is not known`))
    }, ANSWER_MS)
    links.send(from, to, () => {
      server.call(call, signal).then(
        (answer) => links.send(to, from, () => resolve(answer)),
        (err: unknown) => links.send(to, from, () => reject(err as Error)),
      )
    })
    return promise.finally(() => timer.cancel())
  }

  watch(resource: Resource, options: WatchOptions, handlers: WatchHandlers<KubeObject>): Watch {
    let server: Transport
    try {
      server = this.#server()
    } catch (err) {
      handlers.onEnd(ApiError.from(err))
      return { close: () => undefined }
    }
    const watch: NetworkWatch = new NetworkWatch(this.#options, handlers, () => this.#watches.delete(watch))
    this.#watches.add(watch)
    watch.begin((inner) => server.watch(resource, options, inner))
    return watch
  }

  /** Ends all watches like a lost connection. */
  hangUp(): void {
    for (const watch of [...this.#watches]) watch.hangUp()
  }

  #server(): Transport {
    const { links, from, to, server } = this.#options
    const transport = links.isOpen(from, to) ? server() : undefined
    if (transport === undefined) throw new UnreachableError(to)
    return transport
  }
}

/** A watch whose events take time, in their order, and wait while the machines are kept apart for a short time. */
class NetworkWatch implements Watch {
  readonly #options: NetworkTransportOptions
  readonly #handlers: WatchHandlers<KubeObject>
  readonly #over: () => void
  readonly #offLinks: () => void
  readonly #queue: (() => void)[] = []
  #inner: Watch | undefined
  #delivery: Timer | undefined
  #silence: Timer | undefined
  #closed = false

  constructor(options: NetworkTransportOptions, handlers: WatchHandlers<KubeObject>, over: () => void) {
    this.#options = options
    this.#handlers = handlers
    this.#over = over
    this.#offLinks = options.links.onChange(() => this.#linksChanged())
  }

  begin(open: (handlers: WatchHandlers<KubeObject>) => Watch): void {
    const inner = open({
      onEvent: (event) => this.#later(() => this.#handlers.onEvent(event)),
      onEnd: (error) =>
        this.#later(() => {
          this.close()
          this.#handlers.onEnd(error)
        }),
    })
    if (this.#closed) inner.close()
    else this.#inner = inner
  }

  hangUp(): void {
    if (this.#closed) return
    this.close()
    this.#handlers.onEnd(undefined)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#offLinks()
    this.#delivery?.cancel()
    this.#silence?.cancel()
    this.#inner?.close()
    this.#over()
  }

  get #isOpen(): boolean {
    const { links, from, to } = this.#options
    return links.isOpen(from, to)
  }

  #later(run: () => void): void {
    this.#queue.push(run)
    this.#deliverSoon()
  }

  #deliverSoon(): void {
    const { clock, links, from, to } = this.#options
    if (this.#closed || !this.#isOpen) return
    this.#delivery ??= clock.setTimeout(() => this.#deliver(), links.latency(from, to))
  }

  #deliver(): void {
    this.#delivery = undefined
    if (!this.#isOpen) return
    for (const run of this.#queue.splice(0)) if (!this.#closed) run()
  }

  #linksChanged(): void {
    if (this.#closed) return
    if (!this.#isOpen) {
      this.#silence ??= this.#options.clock.setTimeout(() => this.hangUp(), SILENCE_MS)
      return
    }
    this.#silence?.cancel()
    this.#silence = undefined
    if (this.#queue.length > 0) this.#deliverSoon()
  }
}
