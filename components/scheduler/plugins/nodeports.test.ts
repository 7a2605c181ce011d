import { expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { OWN_PORTS } from "../../../pkg/component/own-ports.ts"
import { startCluster } from "../../cluster/testing/testing.ts"

test("a pod waits while k3ts itself listens on its host port on every node, and is scheduled when a node is free", async () => {
  // given
  await using cluster = await startCluster({ nodes: [{ name: "a" }, { name: "b" }], images: { web: {} } })
  const own = (name: string, ports: string | null) =>
    cluster.client.patch(Node, { name }, { type: "merge", body: { metadata: { annotations: { [OWN_PORTS]: ports } } } })
  const condition = async () => {
    const { status, spec } = await cluster.client.get(Pod, { namespace: "default", name: "web" })
    return spec.nodeName ?? status.conditions?.find(({ type }) => type === "PodScheduled")?.message
  }
  await Promise.all([own("a", "53/UDP,6443/TCP"), own("b", "6443/TCP")])
  // when
  await cluster.client.create(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: { containers: [{ name: "c", image: "web", ports: [{ containerPort: 80, hostPort: 6443 }] }] },
  })
  await cluster.settle()
  // then
  expect(await condition()).toContain("2 node(s) listen on the requested host port 6443/TCP themselves")
  // when
  await own("b", "10250/TCP")
  await cluster.advance("10s")
  // then
  expect(await condition()).toBe("b")
})
