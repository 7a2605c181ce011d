import { command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { canICommand } from "./can-i.ts"
import { reconcileCommand } from "./reconcile.ts"
import { whoAmICommand } from "./whoami.ts"

/** Source: kubectl pkg/cmd/auth. */
export const authCommand = command({
  use: "auth",
  short: "Inspect authorization",
  long: `
Inspect authorization.`,
  commands: [canICommand, reconcileCommand, whoAmICommand],
  run: defaultSubCommand("errOut"),
})
