import { uuid, type Random } from "../../../pkg/clock/random.ts"
import type { ServerRequest } from "../../../pkg/runtime/http/server-request.ts"

/** Generates UUIDs whose first half counts up from a random start, so that a request costs no random bytes. */
export function auditIds(random: Random): () => string {
  const start = uuid(random)
  let next = 0
  return () => {
    next = (next + 1) % 2 ** 32
    return next.toString(16).padStart(8, "0") + start.slice(8)
  }
}

/** Returns the Audit-Id that the client sent if it is valid in a header, else a new one. */
export function auditIdOf(req: ServerRequest, otherwise: () => string): string {
  const given = req.headers["audit-id"]
  return typeof given === "string" && /^[\x21-\x7e]{1,64}$/.test(given) ? given : otherwise()
}
