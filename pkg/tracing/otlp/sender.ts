import type { ExportRequest } from "./messages.ts"

/** Sends spans to a collector. */
export interface Sender {
  /** @throws SendError */
  send(request: ExportRequest): Promise<void>
  close(): void
}

/** A collector did not accept spans; the message says why. */
export class SendError extends Error {
  override readonly name = "SendError"
  /** Whether the collector may accept them later. */
  readonly isTemporary: boolean
  constructor(message: string, isTemporary: boolean) {
    super(message)
    this.isTemporary = isTemporary
  }
}
