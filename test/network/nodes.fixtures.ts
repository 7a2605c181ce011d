/** Node objects for the nodes of a lab, in a cluster of the API only, and what k3ts does on the nodes. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { BackendName } from "../../components/containerd/network/backend/backend-names.ts"
import { backendOf, DEVICES } from "../../components/containerd/network/backend/backends.ts"
import { createOtherNodes } from "../../components/containerd/network/backend/other-nodes.ts"
import { removeWays } from "../../components/containerd/network/backend/remove-ways.ts"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { NETLINK_ROUTE } from "../../pkg/netlink/links.ts"
import { openNetlink } from "../../pkg/runtime/netlink.ts"
import type { Component } from "../../pkg/component/component.ts"
import { addressOf, NODES, rangeOf, type LabNode, type NodesLab } from "./nodes-lab.fixtures.ts"

/** Starts the pod network between the nodes of a lab, whose pods have addresses of these families. */
export async function networkBetween(lab: NodesLab, name: Exclude<BackendName, "none">, families: readonly Family[]) {
  const keys = mkdtempSync(join(tmpdir(), "k3ts-nodes-"))
  const cluster = await startCluster({
    clock: "real",
    ipFamilies: families,
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const { client } = cluster
  const parts = new Map<LabNode, Component>()
  const add = async (node: LabNode) => {
    const podCIDRs = families.map((family) => rangeOf(node, family))
    await client.create(Node, { metadata: { name: node }, spec: { podCIDR: podCIDRs[0]!, podCIDRs } })
    await moveTo(
      node,
      families.map((family) => addressOf(node, family)),
    )
  }
  const moveTo = (node: LabNode, addresses: readonly string[]) =>
    client.patch(
      Node,
      { name: node },
      { type: "merge", body: { status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) } } },
      { subresource: "status" },
    )
  const start = async (node: LabNode) => {
    const context = cluster.contextFor("test:pod-network", ["system:masters"])
    const netns = lab.netns(node)
    const backend = backendOf(name, { keyFile: join(keys, node), netns })
    const part = createOtherNodes(context, { nodeName: node, backend, node: client, netns })
    await part.start(new AbortController().signal)
    parts.set(node, part)
  }
  for (const node of NODES) await add(node)
  for (const node of NODES) await start(node)
  return {
    cluster,
    client,
    add,
    moveTo,
    start,
    async stop(node: LabNode): Promise<void> {
      await parts.get(node)?.stop()
      parts.delete(node)
    },
    problem: (node: LabNode) => parts.get(node)!.problem?.(),
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([...parts.values()].map((part) => part.stop()))
      for (const node of NODES) {
        const socket = openNetlink(NETLINK_ROUTE, lab.netns(node))
        await removeWays(socket, lab.host(node), DEVICES)
        socket.close()
      }
      await cluster.stop()
      rmSync(keys, { recursive: true })
    },
  }
}
