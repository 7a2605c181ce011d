import type { Invocation } from "../../command/command.ts"
import { dryRunOf, withDryRun, type DryRun } from "../../command/shared-flags.ts"
import { printerOf } from "../../printers/print-flags.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import type { SetValues } from "./change.ts"

/** Reads the flags that say what a command does with what it has changed. `done` is for messages: `image updated`. */
export async function begin(
  { factory }: Pick<Invocation, "factory">,
  values: SetValues,
  done: string,
): Promise<{ readonly dryRun: DryRun; readonly printer: ResourcePrinter }> {
  const dryRun = dryRunOf(values["dry-run"], factory.log)
  const printer = await printerOf(values, withDryRun(done, dryRun), factory)
  return { dryRun, printer }
}
