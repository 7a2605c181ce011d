import type { DaemonSet } from "../../../api/apps/v1/daemonset.ts"
import type { Deployment } from "../../../api/apps/v1/deployment.ts"
import type { StatefulSet } from "../../../api/apps/v1/statefulset.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, int64Flag } from "../../command/flag.ts"
import type { Info } from "../../resource/info.ts"
import { objectEvents } from "../../resource/object-events.ts"
import type { Unstructured } from "../../rest/json.ts"
import { daemonSetState, deploymentState, statefulSetState, type RolloutState } from "./status-text.ts"
import { groupKindText, requireTarget, targetFlags, targets, workloadOf } from "./targets.ts"

const flags = {
  ...targetFlags,
  watch: boolFlag(true, "Follow the rollout until it is done.", { shorthand: "w" }),
  revision: int64Flag(0, "The revision whose rollout is meant. 0 is the last one."),
  timeout: durationFlag(
    0,
    "How long to follow the rollout; zero has no end. Other values have a unit (e.g. 1s, 2m, 3h).",
  ),
}

/** Source: kubectl pkg/cmd/rollout/rollout_status.go. */
export const statusCommand = command({
  use: "status (TYPE NAME | TYPE/NAME) [flags]",
  noFlagsInUse: true,
  short: "Show the status of the rollout",
  long: `
Show the status of a rollout.

 It is followed until it is done, unless --watch=false. When another rollout begins meanwhile, that one is followed; with --revision=N the command fails instead.`,
  example: `
# Follow the rollout of a deployment
kubectl rollout status deployment/web`,
  flags,
  run,
})

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, args, factory, environment, out, errOut } = invocation
  requireTarget(args, values)
  if (values.revision < 0) throw new Error(`revision must be a positive integer: ${values.revision}`)
  const { namespace } = await factory.namespace()
  const result = await targets(invocation, values)
  let found = false
  await result.visit(async (info) => {
    found = true
    const stateOf = stateReader(info, values.revision)
    const over = new AbortController()
    const timedOut = new Error("timed out waiting for the condition")
    const timer =
      values.timeout <= 0 ? undefined : environment.clock.setTimeout(() => over.abort(timedOut), values.timeout)
    const signal = AbortSignal.any([over.signal, environment.interrupt])
    try {
      for await (const { type, object } of objectEvents(info, { environment, signal })) {
        if (type === "SYNCED") continue
        if (type === "DELETED") throw new Error("object has been deleted")
        const { text, done } = stateOf(object)
        await out.write(text)
        if (done || !values.watch) return
      }
    } finally {
      timer?.cancel()
    }
  })
  if (!found) await errOut.write(`No resources found in ${namespace} namespace.\n`)
}

function stateReader(info: Info, revision: number): (object: Unstructured) => RolloutState {
  switch (workloadOf(info)) {
    case "Deployment":
      return (object) => deploymentState(object as unknown as Deployment, revision)
    case "DaemonSet":
      return (object) => daemonSetState(object as unknown as DaemonSet)
    case "StatefulSet":
      return (object) => statefulSetState(object as unknown as StatefulSet)
    default:
      throw new Error(`no status viewer has been implemented for ${groupKindText(info)}`)
  }
}
