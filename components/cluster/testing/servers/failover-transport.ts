import { isReason } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { ApiCall, Transport, Watch, WatchHandlers, WatchOptions } from "../../../../pkg/client/client.ts"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import { UnreachableError, type NetworkTransport } from "./network-transport.ts"

/** The server that a machine uses at present, the same for all its programs. */
export class ServerChoice {
  readonly #count: number
  readonly #leavers = new Set<(server: number) => void>()
  #at: number

  constructor(count: number, first: number) {
    this.#count = count
    this.#at = first % count
  }

  get at(): number {
    return this.#at
  }

  /** Goes to the next server, if `server` is still the present one. */
  leave(server: number): void {
    if (this.#at !== server || this.#count === 1) return
    this.#at = (server + 1) % this.#count
    for (const leaver of this.#leavers) leaver(server)
  }

  /** Calls `leaver` when a server is left. */
  onLeave(leaver: (server: number) => void): void {
    this.#leavers.add(leaver)
  }
}

/** Most retries of a call, and the least pause between two, in milliseconds. Source: client-go rest/request.go. */
const MOST_RETRIES = 10
const PAUSE_MS = 1000

/**
 * A client that knows several servers. It stays with one until that cannot be reached, does not answer, or says that it
 * is unavailable; then it leaves that server with all its watches and goes to the next one. Calls that have not been
 * executed are repeated; one that may have been is not.
 */
export class FailoverTransport implements Transport {
  readonly #servers: readonly NetworkTransport[]
  readonly #choice: ServerChoice
  readonly #clock: Clock
  readonly #ending: AbortSignal

  /** `ending` aborts when the cluster ends: calls that wait for another try then fail. */
  constructor(servers: readonly NetworkTransport[], choice: ServerChoice, clock: Clock, ending: AbortSignal) {
    this.#servers = servers
    this.#choice = choice
    this.#clock = clock
    this.#ending = ending
    choice.onLeave((server) => servers[server]!.hangUp())
  }

  async call(call: ApiCall, signal?: AbortSignal): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      const { at } = this.#choice
      try {
        return await this.#servers[at]!.call(call, signal)
      } catch (err) {
        if (isReason(err, "ServiceUnavailable", "Timeout")) this.#choice.leave(at)
        if (!wasRefused(err) || tries > MOST_RETRIES) throw err
        // All servers have been tried.
        if (tries % this.#servers.length === 0) await sleep(this.#clock, PAUSE_MS, this.#ended(signal))
      }
    }
  }

  #ended(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#ending : AbortSignal.any([signal, this.#ending])
  }

  watch(resource: Resource, options: WatchOptions, handlers: WatchHandlers<KubeObject>): Watch {
    const { at } = this.#choice
    return this.#servers[at]!.watch(resource, options, {
      onEvent: (event) => handlers.onEvent(event),
      onEnd: (error) => {
        if (error === undefined || isReason(error, "ServiceUnavailable")) this.#choice.leave(at)
        handlers.onEnd(error)
      },
    })
  }
}

/** Whether nothing has happened: no server was reached, or one says when to come again. */
const wasRefused = (err: unknown): boolean =>
  err instanceof UnreachableError ||
  (isReason(err, "ServiceUnavailable") && err.details?.retryAfterSeconds !== undefined)
