import { command } from "../../command/command.ts"
import { defaultSubCommand } from "../../command/default-sub-command.ts"
import { historyCommand } from "./history.ts"
import { pauseCommand, resumeCommand } from "./pause.ts"
import { restartCommand } from "./restart.ts"
import { statusCommand } from "./status.ts"
import { undoCommand } from "./undo.ts"

/** Source: kubectl pkg/cmd/rollout. */
export const rolloutCommand = command({
  use: "rollout SUBCOMMAND",
  noFlagsInUse: true,
  short: "Manage the rollout of a resource",
  long: `
Manage the rollout of one or many resources.

 These types have rollouts:

  * deployments
  * daemonsets
  * statefulsets`,
  example: `
# Go back to what a deployment was before
kubectl rollout undo deployment/web

# Follow the rollout of a daemon set
kubectl rollout status daemonset/web

# Restart a deployment
kubectl rollout restart deployment/web

# Restart the deployments with the label app=web
kubectl rollout restart deployment --selector=app=web`,
  commands: [historyCommand, pauseCommand, restartCommand, resumeCommand, statusCommand, undoCommand],
  run: defaultSubCommand("out"),
})
