import type { NodeFaults } from "../faults.ts"

/** All nodes have the usual handler only. */
const HANDLERS = [{ name: "", features: { recursiveReadOnlyMounts: true, userNamespaces: true } }]

/** The status of a runtime with these faults, as the CRI has it. */
export function runtimeStatus({ networkProblem }: NodeFaults) {
  const ready = (type: string) => ({ type, status: true, reason: "", message: "" })
  const network =
    networkProblem === undefined
      ? ready("NetworkReady")
      : { type: "NetworkReady", status: false, reason: "NetworkPluginNotReady", message: networkProblem }
  return {
    status: { conditions: [ready("RuntimeReady"), network] },
    info: {},
    runtimeHandlers: HANDLERS,
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false },
  }
}
