import { hostPortsOf, type HostPort } from "../node-info.ts"
import { SKIP, SUCCESS, unschedulable, type Plugin } from "../framework.ts"

const NAME = "NodePorts"

/** Two pods cannot take the same port of a node. Source: plugins/nodeports. */
export const nodePorts: Plugin = {
  name: NAME,
  eventsToRegister: ["Node/Add", "AssignedPod/Delete"],
  signature: hostPortsOf,
  preFilter(state, pod) {
    const ports = hostPortsOf(pod)
    if (ports.length === 0) return SKIP
    state.set(NAME, ports)
    return SUCCESS
  },
  filter(state, _pod, { pods }) {
    const wanted = state.get(NAME) as readonly HostPort[]
    for (const pod of pods.values()) {
      if (hostPortsOf(pod).some((taken) => wanted.some((each) => clash(each, taken))))
        return unschedulable("node(s) didn't have free ports for the requested pod ports")
    }
    return SUCCESS
  },
}

/** The wildcard address clashes with every address. */
const clash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0")
