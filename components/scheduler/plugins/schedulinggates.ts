import { SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/** Keeps a pod with scheduling gates out of the active queue. Source: plugins/schedulinggates. */
export const schedulingGates: Plugin = {
  name: "SchedulingGates",
  eventsToRegister: ["Pod/Update"],
  preEnqueue(pod) {
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name)
    return gates.length === 0 ? SUCCESS : unresolvable(`waiting for scheduling gates: ${JSON.stringify(gates)}`)
  },
}
