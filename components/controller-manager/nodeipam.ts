import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"
import { terminal } from "../../pkg/controller/start.ts"

/** The prefix length of each node's range. Source: --node-cidr-mask-size-ipv4. */
const NODE_MASK = 24

/**
 * Gives each node a range of pod addresses out of `clusterCidr` (IPv4, `a.b.c.d/n`). Source:
 * pkg/controller/nodeipam/ipam/range_allocator.go.
 */
export const nodeIpamController = (clusterCidr: string): Controller<Node> => {
  const [base, bits] = parse(clusterCidr)
  const mask = Math.max(NODE_MASK, bits)
  const count = 2 ** (mask - bits)
  const ranges = new NodeRanges((i) => `${dotted(base + i * 2 ** (32 - mask))}/${mask}`, count)
  return defineController<Node>({
    name: "node-ipam-controller",
    eventSource: "cidrAllocator",
    reconciles: Node,
    concerns: ({ spec }) => (spec.podCIDRs ?? []).length === 0,
    workers: 1, // each allocation must see the one before
    watches: [
      // The ranges are noted by a watch, because the loop calls all watches of an event before it reconciles a node.
      watching(Node, ({ metadata, spec }, _context, _old, deleted) => {
        ranges.note(metadata.name ?? "", deleted ? [] : (spec.podCIDRs ?? []))
        return []
      }),
    ],
    async reconcile(key, { informers, client, events }) {
      const node = informers.of(Node).get(key)
      if (node === undefined || node.metadata.deletionTimestamp !== undefined || (node.spec.podCIDRs ?? []).length > 0)
        return
      const cidr = ranges.firstFree()
      if (cidr !== undefined) {
        // Patched without a resourceVersion: the API refuses to change a range that was set meanwhile.
        await client.patch(Node, { name: key }, { type: "merge", body: { spec: { podCIDR: cidr, podCIDRs: [cidr] } } })
        return
      }
      events.event(node, "Normal", "CIDRNotAvailable", `Node ${key} status is now: CIDRNotAvailable`)
      throw terminal(new Error(`Cannot give node "${key}" a pod range: all ${count} of ${clusterCidr} are taken`))
    },
  })
}

/**
 * The pod ranges of the nodes. Searching all nodes for each new node took half of the time in which 2,000 nodes start.
 */
class NodeRanges {
  readonly #byNode = new Map<string, readonly string[]>()
  /** Range → number of nodes with it; users may have set one twice. */
  readonly #taken = new Map<string, number>()
  readonly #rangeAt: (index: number) => string
  readonly #count: number
  /** All ranges before this index are taken. */
  #first = 0

  constructor(rangeAt: (index: number) => string, count: number) {
    this.#rangeAt = rangeAt
    this.#count = count
  }

  /** Records the ranges of a node; none when it is deleted. */
  note(node: string, ranges: readonly string[]): void {
    const before = this.#byNode.get(node) ?? []
    if (before === ranges || (before.length === 0 && ranges.length === 0)) return
    if (ranges.length > 0) this.#byNode.set(node, ranges)
    else this.#byNode.delete(node)
    for (const range of ranges) this.#taken.set(range, (this.#taken.get(range) ?? 0) + 1)
    for (const range of before) {
      const left = this.#taken.get(range)! - 1
      if (left > 0) this.#taken.set(range, left)
      else if (this.#taken.delete(range)) this.#first = 0
    }
  }

  /** Returns the first range that no node has; undefined when all are taken. */
  firstFree(): string | undefined {
    for (; this.#first < this.#count; this.#first++) {
      const range = this.#rangeAt(this.#first)
      if (!this.#taken.has(range)) return range
    }
    return undefined
  }
}

/** Parses `10.42.0.0/16` into its first address as a number, and its prefix length. */
function parse(cidr: string): readonly [number, number] {
  const [address = "", bits = ""] = cidr.split("/")
  const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return [number - (number % 2 ** (32 - Number(bits))), Number(bits)]
}

const dotted = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".")
