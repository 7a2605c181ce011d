/**
 * A scheduler plugin: pods that ask for GPUs go to nodes whose GPUs are the least used, never two of one job on the
 * same node, and only where the driver is new enough. `k3ts server --scheduler-plugin gpu-spread.ts` runs it.
 */
import { definePlugin, type NodeView } from "k3ts/scheduler"

const GPU = "example.com/gpu"
const JOB = "example.com/job"

const driverOf = ({ node }: NodeView): number => Number(node.metadata.labels?.["example.com/driver"] ?? 0)

export default definePlugin<{ readonly minDriver?: number } | undefined>({
  name: "GpuSpread",
  // No other pod waits for the plugin, or is sent to it.
  pods: { resources: [GPU] },
  weight: 5,
  // What may make room: another pod's end, a new node, a new driver.
  events: ["AssignedPod/Delete", "Node/Add", "Node/UpdateLabel"],
  configure(args) {
    if (typeof (args?.minDriver ?? 0) !== "number") throw new Error("minDriver must be a number")
  },
  filter({ metadata }, node, { args }) {
    if (driverOf(node) < (args?.minDriver ?? 0))
      return { reason: "node(s) had a GPU driver that is too old", unresolvable: true }
    const job = metadata.labels?.[JOB]
    const isThere = job !== undefined && node.pods.some((pod) => pod.metadata.labels?.[JOB] === job)
    return isThere ? "node(s) had a pod of the same job" : undefined
  },
  score(_pod, { allocatable, requested }) {
    const all = allocatable[GPU] ?? 0
    return all === 0 ? 0 : 100 * (1 - (requested[GPU] ?? 0) / all)
  },
})
