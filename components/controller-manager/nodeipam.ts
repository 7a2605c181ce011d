import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { addressText, bitsOf, familyOf, parseNetwork, type Network } from "../../pkg/apimachinery/addresses/cidr.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"
import { terminal } from "../../pkg/controller/start.ts"

/**
 * Gives each node a range of pod addresses out of each of `clusterCidrs`, the primary family first. `nodeMasks` are the
 * prefix lengths of these ranges. A node that has ranges keeps them, also when it lacks a family. Source:
 * pkg/controller/nodeipam/ipam/range_allocator.go.
 */
export const nodeIpamController = (clusterCidrs: readonly string[], nodeMasks: readonly number[]): Controller<Node> => {
  const families = clusterCidrs.map((cidr, i) => new NodeRanges(cidr, nodeMasks[i]!))
  return defineController<Node>({
    name: "node-ipam-controller",
    eventSource: "cidrAllocator",
    reconciles: Node,
    concerns: ({ spec }) => (spec.podCIDRs ?? []).length === 0,
    // A range is reserved before the first await, so each allocation sees those before. Fewer than node-lifecycle has,
    // which changes the same new nodes: it stays ahead, and the two seldom write one at the same time.
    workers: 5,
    watches: [
      // The ranges are noted by a watch, because the loop calls all watches of an event before it reconciles a node.
      watching(Node, ({ metadata, spec }, _context, _old, deleted) => {
        for (const ranges of families) ranges.note(metadata.name ?? "", deleted ? undefined : (spec.podCIDRs ?? []))
        return []
      }),
    ],
    async reconcile(key, { informers, client, events }) {
      const node = informers.of(Node).get(key)
      if (node === undefined || node.metadata.deletionTimestamp !== undefined || (node.spec.podCIDRs ?? []).length > 0)
        return
      const podCIDRs = families.map((ranges) => ranges.reservedFor(key) ?? ranges.firstFree())
      const full = podCIDRs.indexOf(undefined)
      if (full < 0) {
        families.forEach((ranges, i) => ranges.reserve(key, podCIDRs[i]!))
        // Patched without a resourceVersion: the API refuses to change a range that was set meanwhile. With the uid,
        // because the ranges are not reserved for another Node of this name. When this fails they stay reserved for the
        // next attempt: a patch without an answer may have been executed.
        const body = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } }
        await client.patch(Node, { name: key }, { type: "strategic", body })
        return
      }
      events.event(node, "Normal", "CIDRNotAvailable", `Node ${key} status is now: CIDRNotAvailable`)
      const { count } = families[full]!
      throw terminal(
        new Error(`Cannot give node "${key}" a pod range: all ${count} of ${clusterCidrs[full]} are taken`),
      )
    },
  })
}

/**
 * The pod ranges of the nodes in one family. Searching all nodes for each new node took half of the time in which 2,000
 * nodes start.
 */
class NodeRanges {
  readonly #byNode = new Map<string, readonly string[]>()
  /** The ranges of nodes that do not show them yet. */
  readonly #reserved = new Map<string, string>()
  /** Range → number of nodes with it; users may have set one twice. */
  readonly #taken = new Map<string, number>()
  readonly #network: Network
  readonly #mask: number
  /** How many ranges there are. */
  readonly count: number
  /** All ranges before this index are taken. */
  #first = 0

  constructor(clusterCidr: string, mask: number) {
    this.#network = parseNetwork(clusterCidr)!
    this.#mask = mask
    this.count = 2 ** (mask - this.#network.prefix)
  }

  /** Records the ranges of a node, of which those of another family are left out; undefined when it is deleted. */
  note(node: string, all: readonly string[] | undefined): void {
    const ranges = (all ?? []).filter((range) => familyOf(range) === this.#network.family)
    const before = this.#byNode.get(node) ?? []
    if (before.join() !== ranges.join()) {
      if (ranges.length > 0) this.#byNode.set(node, ranges)
      else this.#byNode.delete(node)
      for (const range of ranges) this.#take(range)
      for (const range of before) this.#free(range)
    }
    const reserved = this.#reserved.get(node)
    if (reserved === undefined || all?.length === 0) return
    this.#reserved.delete(node)
    this.#free(reserved)
  }

  /** Takes a range for a node, until the node shows its ranges or is deleted. Does nothing when the node has it. */
  reserve(node: string, range: string): void {
    if (this.#reserved.has(node)) return
    this.#reserved.set(node, range)
    this.#take(range)
  }

  reservedFor(node: string): string | undefined {
    return this.#reserved.get(node)
  }

  #take(range: string): void {
    this.#taken.set(range, (this.#taken.get(range) ?? 0) + 1)
  }

  #free(range: string): void {
    const left = this.#taken.get(range)! - 1
    if (left > 0) this.#taken.set(range, left)
    else if (this.#taken.delete(range)) this.#first = 0
  }

  /** Returns the first range that no node has; undefined when all are taken. */
  firstFree(): string | undefined {
    for (; this.#first < this.count; this.#first++) {
      const range = this.#rangeAt(this.#first)
      if (!this.#taken.has(range)) return range
    }
    return undefined
  }

  #rangeAt(index: number): string {
    const { family, first } = this.#network
    const number = first + (BigInt(index) << BigInt(bitsOf(family) - this.#mask))
    return `${addressText({ family, number })}/${this.#mask}`
  }
}
