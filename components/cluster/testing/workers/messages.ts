/** What a worker is given when it starts. */
export interface WorkerSettings {
  /** The URL of the test's module. */
  readonly module: string
}

/** An error on its way between threads, which would otherwise lose its name and its fields. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  /** The reason of a TestClusterError or an ApiError. */
  readonly reason: string | undefined
}

/** What a worker answers to a seed: first that it begins, when its module is loaded, and then what came of it. */
export type Message = { readonly seed: number; readonly begins: true } | Answer

export type Answer =
  | { readonly seed: number; readonly result: unknown }
  | { readonly seed: number; readonly error: SentError; readonly report: string | undefined }

export function sentError(err: unknown): SentError {
  if (!(err instanceof Error)) return { name: "Error", message: String(err), stack: undefined, reason: undefined }
  const { name, message, stack } = err
  const { reason } = err as { readonly reason?: unknown }
  return { name, message, stack, reason: typeof reason === "string" ? reason : undefined }
}

/** Returns the error that was sent, with its own stack. */
export function receivedError({ name, message, stack, reason }: SentError): Error {
  const error = new Error(message)
  Object.defineProperty(error, "name", { value: name, configurable: true, writable: true })
  if (stack !== undefined) Object.defineProperty(error, "stack", { value: stack, configurable: true, writable: true })
  return reason === undefined ? error : Object.assign(error, { reason })
}
