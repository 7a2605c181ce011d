import type { Clock } from "../clock/clock.ts"
import { PostgresConnection, type PostgresObserver, type PostgresTls, type Question, type Row } from "./connection.ts"
import type { PostgresEndpoint } from "./endpoint.ts"
import { PostgresError } from "./postgres-error.ts"

export interface PostgresOptions {
  /** One server, or a primary and its standbys in any order. */
  readonly endpoints: readonly PostgresEndpoint[]
  readonly tls?: PostgresTls | undefined
  readonly clock: Clock
}

const SETUP_TIMEOUT_MS = 3000

/** Keeps a connection to the primary. It is opened at first use, and again after it was lost. */
export class PostgresSession {
  readonly #options: PostgresOptions
  readonly #setup: string
  readonly #observer: PostgresObserver
  #connection: PostgresConnection | undefined
  #opening: Promise<PostgresConnection> | undefined
  #at = 0
  #closed = false

  /** @param setup statements that run first on every new connection */
  constructor(options: PostgresOptions, setup: string, observer: PostgresObserver = {}) {
    this.#options = options
    this.#setup = setup
    this.#observer = observer
  }

  /** @throws PostgresError */
  async ask(question: Question, timeoutMs: number): Promise<readonly Row[]> {
    return (await this.connect()).ask(question, timeoutMs)
  }

  /** Returns the current connection, for statements that must run on the same one. @throws PostgresError */
  async connect(): Promise<PostgresConnection> {
    if (this.#connection?.isOver === false) return this.#connection
    this.#opening ??= this.#find().finally(() => (this.#opening = undefined))
    return this.#opening
  }

  close(): void {
    this.#closed = true
    this.#connection?.close()
  }

  /** Tries one server after another, and begins with the last one that was the primary. */
  async #find(): Promise<PostgresConnection> {
    const { endpoints } = this.#options
    const reasons: string[] = []
    for (const [i] of endpoints.entries()) {
      if (this.#closed) break
      const at = (this.#at + i) % endpoints.length
      try {
        const connection = await this.#enter(endpoints[at]!)
        this.#at = at
        return (this.#connection = connection)
      } catch (err) {
        if (!(err instanceof PostgresError)) throw err
        reasons.push(err.message)
      }
    }
    throw new PostgresError("unreachable", this.#closed ? "the store has been closed" : reasons.join("; "))
  }

  async #enter(endpoint: PostgresEndpoint): Promise<PostgresConnection> {
    const { tls = {}, clock } = this.#options
    const connection = await PostgresConnection.open(endpoint, tls, clock, this.#observer)
    try {
      await connection.ask({ text: this.#setup }, SETUP_TIMEOUT_MS)
      const [row] = await connection.ask({ text: "SELECT pg_is_in_recovery() AS standby" }, SETUP_TIMEOUT_MS)
      if (row?.["standby"] !== false) throw new PostgresError("unreachable", `${endpoint.name} is a standby`)
      if (this.#closed) throw new PostgresError("unreachable", "the store has been closed")
      return connection
    } catch (err) {
      connection.close()
      throw err
    }
  }
}
