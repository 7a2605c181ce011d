import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { defineController, type Controller } from "../../pkg/controller/controller.ts"
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
  return defineController<Node>({
    name: "node-ipam-controller",
    reconciles: Node,
    concerns: ({ spec }) => (spec.podCIDRs ?? []).length === 0,
    workers: 1, // what one allots the next must see
    async reconcile(key, { informers, client, events }) {
      const node = informers.of(Node).get(key)
      if (node === undefined || node.metadata.deletionTimestamp !== undefined || (node.spec.podCIDRs ?? []).length > 0)
        return
      const taken = new Set(
        informers
          .of(Node)
          .list()
          .flatMap(({ spec }) => spec.podCIDRs ?? []),
      )
      for (let i = 0; i < count; i++) {
        const cidr = `${dotted(base + i * 2 ** (32 - mask))}/${mask}`
        if (taken.has(cidr)) continue
        // Without a revision: a range that somebody else gave meanwhile is not changed, since the API refuses that.
        await client.patch(Node, { name: key }, { type: "merge", body: { spec: { podCIDR: cidr, podCIDRs: [cidr] } } })
        return
      }
      events.event(node, "Normal", "CIDRNotAvailable", `Node ${key} status is now: CIDRNotAvailable`)
      throw terminal(new Error(`Cannot give node "${key}" a pod range: all ${count} of ${clusterCidr} are taken`))
    },
  })
}

/** `10.42.0.0/16` → its first address as a number, and its bits. */
function parse(cidr: string): readonly [number, number] {
  const [address = "", bits = ""] = cidr.split("/")
  const number = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0)
  return [number - (number % 2 ** (32 - Number(bits))), Number(bits)]
}

const dotted = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".")
