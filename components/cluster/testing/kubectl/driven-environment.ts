import { loaded, type Clock, type Timer } from "../../../../pkg/clock/clock.ts"
import type { Connect, HttpResponse } from "../../../../pkg/kubectl/environment/connect.ts"
import type { Driver } from "../time/driver.ts"

/**
 * Lets virtual time go on while kubectl waits for the server or for a timer, and only then: it stands still while its
 * own code runs, or is loaded, however long that takes.
 */
export class Waits {
  readonly #driver: Pick<Driver, "ended">
  readonly #what: string
  #waiting = 0
  /** The error of a wait that took too long, which no error of a connection may hide. */
  failure: unknown

  constructor(driver: Pick<Driver, "ended">, command: string) {
    this.#driver = driver
    this.#what = `kubectl ${command}`
  }

  /** Whether kubectl runs its own code, and waits for nothing. */
  get isRunning(): boolean {
    return this.#waiting === 0
  }

  /** Returns the result of code of the test, which may move time itself. */
  async codeOfTest<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting++
    try {
      return await work()
    } finally {
      this.#waiting--
    }
  }

  /** With `quick`, what takes long takes real time, as a server does that loads code for its first answer. */
  async #during<T>(work: Promise<T>, quick = false): Promise<T> {
    let isDone = false
    this.#waiting++
    const watched = work.finally(() => (isDone = true))
    try {
      return await this.#driver.ended(() => this.#what, watched, quick)
    } catch (err) {
      if (!isDone) this.failure ??= err
      throw err
    } finally {
      this.#waiting--
    }
  }

  connect(inner: Connect): Connect {
    return {
      send: async (request) => {
        const isEndless = ["watch", "follow"].some((name) => request.url.searchParams.get(name) === "true")
        return this.#response(await this.#during(inner.send(request), true), !isEndless)
      },
      dial: async (request) => {
        const socket = await inner.dial(request)
        const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()))
        this.#during(closed).catch((err: unknown) => socket.destroy(err as Error))
        return socket
      },
    }
  }

  #response(response: HttpResponse, quick: boolean): HttpResponse {
    const during = <T>(work: Promise<T>): Promise<T> => this.#during(work, quick)
    async function* read(): AsyncGenerator<Uint8Array, void, undefined> {
      const parts = response.body[Symbol.asyncIterator]()
      for (;;) {
        const { done, value } = await during(parts.next())
        if (done === true) return
        yield value
      }
    }
    return { ...response, body: read() }
  }

  /** The clock with timers that are waited for. */
  clock(inner: Clock): Clock {
    return {
      now: () => inner.now(),
      monotonic: () => inner.monotonic(),
      afterTurn: (run) => inner.afterTurn(run),
      atRest: (run) => inner.atRest(run),
      stillDuring: (work) => loaded(inner, work),
      setTimeout: (run, ms, kind) => {
        // The limit of a request is not what kubectl waits for.
        if (kind === "watchdog") return inner.setTimeout(run, ms, kind)
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer: Timer = inner.setTimeout(
          () => {
            resolve()
            run()
          },
          ms,
          kind,
        )
        this.#during(promise).catch(() => undefined)
        return {
          cancel() {
            timer.cancel()
            resolve()
          },
        }
      },
    }
  }
}
