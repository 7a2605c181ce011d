import { hostPortsOf, portsClash, type HostPort } from "../../../pkg/pods/host-ports.ts"
import { ownPortAmong } from "../../../pkg/component/own-ports.ts"
import { SKIP, SUCCESS, unresolvable, unschedulable, type Plugin } from "../framework.ts"

const NAME = "NodePorts"

/**
 * Filters out nodes on which a host port of the pod is taken, by a pod or by a part of k3ts. Source: plugins/nodeports.
 */
export const nodePorts: Plugin = {
  name: NAME,
  eventsToRegister: ["Node/Add", "Node/UpdateOwnPorts", "AssignedPod/Delete"],
  signature: hostPortsOf,
  preFilter(state, pod) {
    const ports = hostPortsOf(pod)
    if (ports.length === 0) return SKIP
    state.set(NAME, ports)
    return SUCCESS
  },
  filter(state, _pod, { pods, node }) {
    const wanted = state.get(NAME) as readonly HostPort[]
    const own = ownPortAmong(node.metadata.annotations, wanted)
    if (own !== undefined) return unresolvable(`node(s) listen on the requested host port ${own} themselves`)
    for (const pod of pods.values()) {
      if (hostPortsOf(pod).some((taken) => wanted.some((each) => portsClash(each, taken))))
        return unschedulable("node(s) didn't have free ports for the requested pod ports")
    }
    return SUCCESS
  },
}
