import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { defineController, watching, type Controller } from "../../pkg/controller/controller.ts"
import { terminal } from "../../pkg/controller/start.ts"

/** Each node's share of the cluster CIDR. Source: --node-cidr-mask-size-ipv4. */
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
    workers: 1, // what one allots the next must see
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
        // Without a revision: a range that somebody else gave meanwhile is not changed, since the API refuses that.
        await client.patch(Node, { name: key }, { type: "merge", body: { spec: { podCIDR: cidr, podCIDRs: [cidr] } } })
        return
      }
      events.event(node, "Normal", "CIDRNotAvailable", `Node ${key} status is now: CIDRNotAvailable`)
      throw terminal(new Error(`Cannot give node "${key}" a pod range: all ${count} of ${clusterCidr} are taken`))
    },
  })
}

/**
 * Which ranges nodes have. Looking through all nodes for each node that came was half of the time in which 2,000 start.
 */
class NodeRanges {
  readonly #byNode = new Map<string, readonly string[]>()
  /** Range → how many nodes have it; two may where a person gave them. */
  readonly #taken = new Map<string, number>()
  readonly #rangeAt: (index: number) => string
  readonly #count: number
  /** All ranges before this one are taken. */
  #first = 0

  constructor(rangeAt: (index: number) => string, count: number) {
    this.#rangeAt = rangeAt
    this.#count = count
  }

  /** A node has these ranges now; none when it is gone. */
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

  /** The first range that no node has. */
  firstFree(): string | undefined {
    for (; this.#first < this.#count; this.#first++) {
      const range = this.#rangeAt(this.#first)
      if (!this.#taken.has(range)) return range
    }
    return undefined
  }
}

/** `10.42.0.0/16` → its first address as a number, and its bits. */
function parse(cidr: string): readonly [number, number] {
  const [address = "", bits = ""] = cidr.split("/")
  const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return [number - (number % 2 ** (32 - Number(bits))), Number(bits)]
}

const dotted = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".")
