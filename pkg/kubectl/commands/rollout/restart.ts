import type { Deployment } from "../../../api/apps/v1/deployment.ts"
import { command } from "../../command/command.ts"
import { rfc3339 } from "../../environment/time-zone.ts"
import { changeAll, changeFlags, NotAgain } from "./change.ts"
import { workloadOf } from "./targets.ts"

const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"

/** Source: kubectl pkg/cmd/rollout/rollout_restart.go. */
export const restartCommand = command({
  use: "restart RESOURCE",
  noFlagsInUse: true,
  short: "Restart a resource",
  long: "Restart a resource.\n\n Its pods are replaced, as in a rollout.",
  example: `
# Restart all deployments of a namespace
kubectl rollout restart deployment -n test-namespace

# Restart a deployment
kubectl rollout restart deployment/web

# Restart a daemon set
kubectl rollout restart daemonset/web

# Restart the deployments with the label app=web
kubectl rollout restart deployment --selector=app=web`,
  flags: changeFlags,
  run(invocation) {
    const { clock, zone } = invocation.environment
    return changeAll(invocation, {
      done: "restarted",
      patchOf(info) {
        const workload = workloadOf(info)
        if (workload === undefined) throw new Error("restarting is not supported")
        const { spec } = info.loaded as unknown as Pick<Deployment, "spec">
        if (workload === "Deployment" && spec.paused === true)
          throw new Error("can't restart paused deployment (run rollout resume first)")
        const restartedAt = rfc3339(clock.now(), zone)
        if (spec.template.metadata?.annotations?.[RESTARTED_AT] === restartedAt)
          throw new NotAgain(
            `failed to create patch for ${info.name}: if restart has already been triggered within the past second, please wait before attempting to trigger another`,
          )
        return { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: restartedAt } } } } }
      },
    })
  },
})
