import { command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { setEnvCommand } from "./env.ts"
import { setImageCommand } from "./image.ts"
import { setResourcesCommand } from "./resources.ts"
import { setSelectorCommand } from "./selector.ts"
import { setServiceAccountCommand } from "./serviceaccount.ts"
import { setSubjectCommand } from "./subject.ts"

/** Source: kubectl pkg/cmd/set/set.go. */
export const setCommand = command({
  use: "set SUBCOMMAND",
  noFlagsInUse: true,
  short: "Set specific features on objects",
  long: `
Configure application resources.

 These commands change resources that are there already.`,
  commands: [
    setImageCommand,
    setResourcesCommand,
    setSelectorCommand,
    setSubjectCommand,
    setServiceAccountCommand,
    setEnvCommand,
  ],
  run: defaultSubCommand("errOut"),
})
