import { command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { kubercSetCommand } from "./set.ts"
import { kubercViewCommand } from "./view.ts"

/** Source: kubectl pkg/cmd/kuberc. */
export const kubercCommand = command({
  use: "kuberc SUBCOMMAND",
  noFlagsInUse: true,
  short: "Manage kuberc configuration files",
  long: `
Manage the file of preferences (kuberc), in which commands get other defaults and further names.`,
  example: `
# View the preferences
kubectl kuberc view

# Set a default of a flag
kubectl kuberc set --section defaults --command get --option output=wide

# Create an alias
kubectl kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide`,
  commands: [kubercViewCommand, kubercSetCommand],
  run: defaultSubCommand("errOut"),
})
