import type { Field } from "../messages/head.ts"
import { fieldOf } from "../messages/fields.ts"
import type { Answer } from "../messages/messages.ts"
import { reasonOf } from "../messages/reasons.ts"

/** A response of the proxy itself, in place of one of a backend. */
export interface OwnResponse {
  readonly head: Answer
  /** Undefined for HEAD. */
  readonly body: Buffer | undefined
}

/** Returns a response with a line of plain text, and `fields` before those of the text. */
export function ownResponse(method: string, status: number, text: string, fields: readonly Field[]): OwnResponse {
  const body = Buffer.from(`${text}\n`)
  const isHead = method === "HEAD"
  return {
    head: {
      status,
      reason: reasonOf(status),
      fields: [
        ...fields,
        fieldOf("Content-Type", "text/plain; charset=utf-8"),
        fieldOf("X-Content-Type-Options", "nosniff"),
        fieldOf("Content-Length", String(body.length)),
      ],
      framing: isHead ? { kind: "none" } : { kind: "length", length: body.length },
    },
    body: isHead ? undefined : body,
  }
}
