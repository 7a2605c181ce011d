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
  const text = `--${found.name} cannot be used:${message.includes("\n") ? "\n" : " "}${message}`
  return isOfMachine(err) ? new Error(text, { cause: err }) : new UsageError(text, { cause: err })
}

/** Whether the system refused a file: then the same command may succeed later, so that its usage is not wrong. */
const isOfMachine = (err: unknown): boolean =>
  err instanceof Error && err.cause instanceof Error && "errno" in err.cause && "syscall" in err.cause
