import type { Place } from "../../../pkg/failure/contain.ts"

/**
 * Contains errors that no code has caught. The process goes on, unlike Go's after a panic: upstream's programs are
 * several processes, which a supervisor starts again alone; here the end of one thing would end all. Going on is safe
 * because a turn of the event loop is never interrupted: an error ends the callback that threw it. The only thing that
 * must not be left half done, a commit of the store, throws a FatalError itself, which still ends the program. Source
 * of the comparison: apimachinery pkg/util/runtime HandleCrash (throws again), net/http (recovers for each connection),
 * controller-runtime RecoverPanic (recovers for each reconcile).
 */
export function containUncaught(note: (place: Place, err: unknown) => void): void {
  process.on("unhandledRejection", (err) => note(placeOf(err) ?? "unhandled rejection", err))
  process.on("uncaughtException", (err) => note(placeOf(err) ?? "uncaught exception", err))
}

/** Codes of errors that only say that the other side of a socket or a stream is gone. */
const ENDED: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ENOTCONN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ERR_SOCKET_CLOSED",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_WRITE_AFTER_END",
  "ERR_HTTP2_INVALID_STREAM",
  "ERR_HTTP2_INVALID_SESSION",
  "ERR_HTTP2_STREAM_ERROR",
  "ERR_HTTP2_SESSION_ERROR",
  "ERR_HTTP_HEADERS_SENT",
])

/** Returns the place of an error that is known to harm nothing; undefined for any other. */
function placeOf(err: unknown): Place | undefined {
  if (!(err instanceof Error)) return undefined
  if (/FileHandle object was closed during garbage collection/.test(err.message)) return "forgotten file"
  return "code" in err && ENDED.has(err.code) ? "ended socket" : undefined
}
