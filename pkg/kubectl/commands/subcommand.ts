import type { Invocation } from "../command/command.ts"
import { SilentExit } from "../errors/errors.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"

/** The run of a command that only has others below it. Source: kubectl pkg/cmd/util/helpers.go. */
export async function requireSubcommand({ args, usageError, help, errOut }: Invocation): Promise<void> {
  if (args.length > 0) throw usageError(`unknown command ${goQuoted(args.join(" "))}`)
  await errOut.write(help())
  throw new SilentExit()
}
