import type { HttpResponse } from "../environment/connect.ts"

/** Logs requests and answers as `-v` asks. */
export interface RequestLog {
  /** Called before a request is sent; returns what is called with its answer, or without one when there is none. */
  begin(
    method: string,
    url: string,
    headers: Readonly<Record<string, string | readonly string[]>>,
    body: string | Uint8Array | undefined,
  ): (response: HttpResponse | undefined) => void
  body(bytes: Uint8Array): void
  /** The body of an answer has ended too early. */
  bodyFailed(err: Error): void
  /** A watch has ended, but not by its server. */
  watchFailed(err: Error): void
}

export const noRequestLog: RequestLog = {
  begin: () => () => undefined,
  body: () => undefined,
  bodyFailed: () => undefined,
  watchFailed: () => undefined,
}
