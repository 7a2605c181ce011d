/** Why a connection failed, by the name of the error that a client of Linux gets. */
export type ConnectionFailure = "ECONNREFUSED" | "ECONNRESET" | "ETIMEDOUT" | "ENOTFOUND" | "EAI_AGAIN"

/** A connection of the simulated network that failed. The message is that of Go's clients. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"
  readonly code: ConnectionFailure

  constructor(code: ConnectionFailure, message: string) {
    super(message)
    this.code = code
  }
}
