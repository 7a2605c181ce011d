import type { Client, ClientConfig, QueryConfig } from "pg"
import type { Clock } from "../clock/clock.ts"
import { trusting } from "../pki/trust.ts"
import { errorMessage } from "../errors/error-message.ts"
import type { PostgresEndpoint } from "./endpoint.ts"
import { PostgresError, type PostgresErrorKind } from "./postgres-error.ts"

/** The authority of PostgreSQL's certificate and this client's own certificate and key, as PEM. */
export interface PostgresTls {
  readonly caPem?: string | undefined
  readonly certPem?: string | undefined
  readonly keyPem?: string | undefined
}

export interface PostgresObserver {
  /** Called when a notification arrives on a channel that the connection listens to. */
  notified?(): void
  /** Called once when the connection has ended, unless `close` ended it. */
  ended?(reason: PostgresError): void
}

export type Row = Readonly<Record<string, unknown>>
/** A statement with its parameters. A statement with a name is prepared once for each connection. */
export type Question = Pick<QueryConfig<unknown[]>, "name" | "text" | "values">

const CONNECT_TIMEOUT_MS = 3000

/** One connection to one PostgreSQL server, which runs statements in the order of the calls. */
export class PostgresConnection {
  readonly #client: Client
  readonly #clock: Clock
  readonly #observer: PostgresObserver
  #ended: PostgresError | undefined
  #closed = false

  /** @throws PostgresError unreachable */
  static async open(
    endpoint: PostgresEndpoint,
    tls: PostgresTls,
    clock: Clock,
    observer: PostgresObserver,
  ): Promise<PostgresConnection> {
    const { default: pg } = await import("pg")
    const client = new pg.Client(configOf(endpoint, tls))
    const connection = new PostgresConnection(client, clock, observer)
    try {
      await client.connect()
    } catch (err) {
      connection.close()
      throw new PostgresError("unreachable", `${endpoint.name}: ${messageOf(err)}`)
    }
    return connection
  }

  private constructor(client: Client, clock: Clock, observer: PostgresObserver) {
    this.#client = client
    this.#clock = clock
    this.#observer = observer
    client.on("error", (err) => this.#over(err.message))
    client.on("end", () => this.#over("the connection has ended"))
    client.on("notification", () => observer.notified?.())
  }

  get isOver(): boolean {
    return this.#closed || this.#ended !== undefined
  }

  /** Runs a statement. Ends the connection when no answer comes in time. @throws PostgresError lost, answered */
  async ask(question: Question, timeoutMs: number): Promise<readonly Row[]> {
    let isLate = false
    const timer = this.#clock.setTimeout(
      () => {
        isLate = true
        this.#end()
      },
      timeoutMs,
      "watchdog",
    )
    try {
      return (await this.#client.query<Row>(question)).rows
    } catch (err) {
      const failure = isLate ? new PostgresError("lost", `no answer within ${timeoutMs} ms`) : failureOf(err)
      // The connection is ending, though its "end" event has not come yet. The next statement must not use it.
      if (failure.kind === "lost") this.#over(failure.message)
      throw failure
    } finally {
      timer.cancel()
    }
  }

  /** Ends the connection without calling the observer. Statements in progress fail. */
  close(): void {
    this.#closed = true
    this.#end()
  }

  #over(message: string): void {
    if (this.#ended !== undefined) return
    this.#ended = new PostgresError("lost", message)
    this.#end()
    if (!this.#closed) this.#observer.ended?.(this.#ended)
  }

  #end(): void {
    // The client's "end" event reports the end already; an error of `end()` adds nothing.
    this.#client.end().catch(() => undefined)
  }
}

function configOf(
  { host, port, user, password, database, isSecure }: PostgresEndpoint,
  tls: PostgresTls,
): ClientConfig {
  const { caPem, certPem: cert, keyPem: key } = tls
  return {
    ...{ host, port, user, password, database, application_name: "k3ts" },
    ssl: isSecure && { rejectUnauthorized: true, ...trusting(caPem), cert, key },
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  }
}

/**
 * After an error of severity ERROR the transaction was rolled back. After other severities the connection ends, and the
 * outcome is unknown.
 */
function failureOf(err: unknown): PostgresError {
  const isAnswer = err instanceof Error && "severity" in err && "code" in err
  if (!isAnswer) return new PostgresError("lost", messageOf(err))
  const kind: PostgresErrorKind = err.severity === "ERROR" ? "answered" : "lost"
  return new PostgresError(kind, err.message, String(err.code))
}

const messageOf = (err: unknown): string => {
  if (err instanceof AggregateError) return err.errors.map(messageOf).join(", ")
  return errorMessage(err)
}
