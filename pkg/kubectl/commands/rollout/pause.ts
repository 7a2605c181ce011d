import type { Deployment } from "../../../api/apps/v1/deployment.ts"
import { command } from "../../command/command.ts"
import type { Info } from "../../resource/info.ts"
import { changeAll, changeFlags } from "./change.ts"
import { workloadOf } from "./targets.ts"

/** Source: kubectl pkg/cmd/rollout/rollout_pause.go. */
export const pauseCommand = command({
  use: "pause RESOURCE",
  noFlagsInUse: true,
  short: "Mark the provided resource as paused",
  long: `
Mark a resource as paused.

 No controller works on a paused resource until "kubectl rollout resume". Only deployments can be paused.`,
  example: `
# Pause a deployment: it goes on as it is, but changes of it have no effect
kubectl rollout pause deployment/web`,
  flags: changeFlags,
  run: (invocation) =>
    changeAll(invocation, {
      done: "paused",
      patchOf(info) {
        if (isPaused(info, "pausing is not supported")) throw new Error("is already paused")
        return { spec: { paused: true } }
      },
    }),
})

/** Source: kubectl pkg/cmd/rollout/rollout_resume.go. */
export const resumeCommand = command({
  use: "resume RESOURCE",
  noFlagsInUse: true,
  short: "Resume a paused resource",
  long: `
Resume a paused resource.

 Its controller works on it again. Only deployments can be resumed.`,
  example: `
# Resume a paused deployment
kubectl rollout resume deployment/web`,
  flags: changeFlags,
  run: (invocation) =>
    changeAll(invocation, {
      done: "resumed",
      patchOf(info) {
        if (!isPaused(info, "resuming is not supported")) throw new Error("is not paused")
        return { spec: { paused: null } }
      },
    }),
})

/** Whether a Deployment is paused. @throws Error for an object of another kind */
export function isPaused(info: Info, unsupported: string): boolean {
  if (workloadOf(info) !== "Deployment") throw new Error(unsupported)
  return (info.loaded as unknown as Deployment).spec.paused === true
}
