import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { FlagShape } from "./flags.ts"
import { UsageError } from "./usage-error.ts"

/**
 * Returns an error that names the flag, where `err` is about the file of one and does not say of which: the flag whose
 * file it names. Others are returned as they are.
 */
export function namingFlag(err: unknown, shape: FlagShape, flags: Readonly<Record<string, unknown>>): unknown {
  const message = errorMessage(err)
  const named = Object.entries(flags)
    .filter(([name]) => shape[name]?.path === true && shape[name].placeholder === "FILE")
    .flatMap(([name, given]) => [given].flat().map((file) => ({ name, file })))
    .filter(({ file }) => typeof file === "string" && message.includes(file))
    .sort((a, b) => String(b.file).length - String(a.file).length)
  const [found] = named
  if (found === undefined || named.some(({ name }) => message.includes(`--${name}`))) return err
  return new UsageError(`--${found.name} cannot be used:\n${message}`, { cause: err })
}
