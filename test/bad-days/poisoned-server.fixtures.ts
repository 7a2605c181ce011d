/** `k3ts server`, of which one controller ends the process by some Deployments: those that have 13 replicas. */
import { deploymentController } from "../../components/controller-manager/deployment/deployment.ts"
import { Deployment } from "../../pkg/api/apps/v1/deployment.ts"

const { reconcile } = deploymentController
Object.assign(deploymentController, {
  reconcile: ((key, context) => {
    if (context.informers.of(Deployment).get(key)?.spec.replicas === 13) process.kill(process.pid, "SIGKILL")
    return reconcile(key, context)
  }) satisfies typeof reconcile,
})
await import("../../cmd/k3ts/main.ts")
