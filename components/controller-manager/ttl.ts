import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"

/** How many seconds a kubelet may keep ConfigMaps and Secrets before it reads them again. */
const TTL = "node.alpha.kubernetes.io/ttl"

/**
 * The seconds by the size of the cluster. A step up is taken with more nodes than `most`, a step down with fewer than
 * `least`. Source: pkg/controller/ttl/ttl_controller.go ttlBoundaries.
 */
const STEPS = [
  { least: 0, most: 100, seconds: 0 },
  { least: 90, most: 500, seconds: 15 },
  { least: 450, most: 1000, seconds: 30 },
  { least: 900, most: 2000, seconds: 60 },
  { least: 1800, most: Infinity, seconds: 300 },
] as const

/**
 * Writes on each node for how long its kubelet may keep what it has read. Kubelets of k3ts watch what they need and do
 * not read this; programs that look at nodes, and other kubelets, do. Source: pkg/controller/ttl.
 */
export function ttlController(): Controller<Node> {
  let step = 0
  let count = 0
  return defineController<Node>({
    name: "ttl-controller",
    reconciles: Node,
    watches: [
      // Nodes are counted here, since to list thousands of them at each event would take longer than all else.
      watching(Node, (_node, _context, old, deleted) => {
        if (deleted) count--
        else if (old === undefined) count++
        step = stepFor(step, count)
        return []
      }),
    ],
    async reconcile(key, { client, informers }) {
      const node = informers.of(Node).get(key)
      if (node === undefined) return
      const value = String(STEPS[step]!.seconds)
      if (node.metadata.annotations?.[TTL] === value) return
      await client.patch(Node, node.metadata, {
        type: "strategic",
        body: { metadata: { annotations: { [TTL]: value } } },
      })
    },
  })
}

/** Returns the step of a cluster of this size that was in another one before. */
export function stepFor(before: number, nodes: number): number {
  let step = before
  while (nodes > STEPS[step]!.most) step++
  while (nodes < STEPS[step]!.least) step--
  return step
}
