import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { StatusError } from "./status-error.ts"

/**
 * Says in an error which file the object is from; an object of the server has none. Source: kubectl
 * pkg/cmd/util/helpers.go (AddSourceToErr).
 */
export function withSource(verb: string, source: string, err: unknown): unknown {
  if (source === "") return err
  const message = `error when ${verb} ${goQuoted(source)}: ${errorMessage(err)}`
  return err instanceof StatusError ? err.withMessage(message) : new Error(message, { cause: err })
}
