import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"

/**
 * Lets a failed assertion be seen where the end of its cluster fails too. `await using` then throws a SuppressedError
 * with both, which has no message of its own, and of which Bun prints only the message. So errors that a cluster's end
 * has caused get one: the assertion first, and then what the end has found.
 */
export function tellSuppressed(): void {
  if (typeof SuppressedError === "undefined") return
  const prototype = SuppressedError.prototype as { message: string }
  if (prototype.message !== "") return
  Object.defineProperty(prototype, "message", {
    configurable: true,
    get(this: Partial<SuppressedError>) {
      return this.error instanceof TestClusterError ? inWords(this.suppressed, this.error) : ""
    },
    // As an assignment to an instance does without an accessor in the prototype.
    set(this: object, value: unknown) {
      Object.defineProperty(this, "message", { value, configurable: true, enumerable: true, writable: true })
    },
  })
}

function inWords(first: unknown, { message }: TestClusterError): string {
  const frames = first instanceof Error ? (first.stack ?? "").split("\n").filter((line) => /^\s*at /.test(line)) : []
  const said = errorMessage(first)
  return [said, ...frames, "", `After this the end of the cluster failed, too: ${message}`].join("\n")
}
