import type { Status } from "../../../pkg/apimachinery/errors.ts"
import type { UserInfo } from "./request.ts"

/** What the stages of a request note for its audit event, which is written when the request ends. */
export class AuditNotes {
  /** When the request was received, as a metav1.MicroTime. */
  readonly received: string
  /** Who sent the request; undefined until the sender is authenticated. */
  sender: UserInfo | undefined
  /** Whose rights the request has: another user than the sender if the sender impersonates. */
  user: UserInfo | undefined
  /** The decoded object of the body. */
  sent: unknown
  /** The Status sent to the client when the request failed. */
  failure: Status | undefined
  readonly #annotations = new Map<string, string>()

  constructor(received: string) {
    this.received = received
  }

  /** Adds an annotation. The first value of a key stays, as upstream. */
  readonly annotate = (key: string, value: string): void => {
    if (!this.#annotations.has(key)) this.#annotations.set(key, value)
  }

  /** The annotations in the order of their keys; undefined when there are none. */
  get annotations(): Readonly<Record<string, string>> | undefined {
    if (this.#annotations.size === 0) return undefined
    return Object.fromEntries([...this.#annotations].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
