import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { SilentExit } from "../errors/errors.ts"
import type { Invocation } from "./command.ts"

/**
 * Runs a command that only has commands below it: it shows its help, and fails. Some write the help where errors go.
 * Source: kubectl pkg/cmd/util/helpers.go (DefaultSubCommandRun).
 */
export const defaultSubCommand =
  (output: "out" | "errOut") =>
  async (invocation: Invocation<Record<never, never>>): Promise<void> => {
    const { args, usageError, help } = invocation
    if (args.length > 0) throw usageError(`unknown command ${goQuoted(args.join(" "))}`)
    await invocation[output].write(help())
    throw new SilentExit()
  }
