import { GRPC_CODES, type GrpcCode } from "../grpc/codes.ts"

/**
 * A failed call to the container runtime. `message` is the runtime's own; `code` says what a caller may do:
 *
 *  - `Unavailable`: the runtime is not running, so try again when it is.
 *  - `Unimplemented`: the runtime is too old.
 *  - `DeadlineExceeded`: the runtime took longer than the call allows, and may still finish it.
 *  - `NotFound`: the sandbox, container or image is gone.
 */
export class CriError extends Error {
  override readonly name = "CriError"
  readonly code: GrpcCode
  /** The name of the call, such as `RunPodSandbox`. */
  readonly method: string

  constructor(code: GrpcCode, method: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.method = method
  }

  static from(method: string, err: unknown): CriError {
    if (err instanceof CriError) return err
    if (!(err instanceof Error)) return new CriError("Unknown", method, String(err))
    const number = "code" in err && typeof err.code === "number" ? err.code : -1
    const details =
      "details" in err && typeof err.details === "string" && err.details !== "" ? err.details : err.message
    return new CriError(GRPC_CODES[number] ?? "Unknown", method, details, { cause: err })
  }
}

export const isCriError = (err: unknown, code: GrpcCode): boolean => err instanceof CriError && err.code === code

/** Returns the result of `call`, or undefined when the object that it asks for does not exist. */
export async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (err) {
    if (isCriError(err, "NotFound")) return undefined
    throw err
  }
}
