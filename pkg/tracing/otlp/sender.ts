import type { ExportRequest } from "./messages.ts"

/** Sends spans to a collector. */
export interface Sender {
  /** @throws SendError */
  send(request: ExportRequest): Promise<void>
  close(): void
}

/** Why a collector did not take spans. */
export class SendError extends Error {
  override readonly name = "SendError"
  /** Whether it may take them later. */
  readonly isTemporary: boolean
  constructor(message: string, isTemporary: boolean) {
    super(message)
    this.isTemporary = isTemporary
  }
}
