import { expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

test.each([
  { what: "its termination message", path: (uid: string) => `pods/${uid}/containers/c/0` },
  { what: "its /etc/hosts", path: (uid: string) => `pods/${uid}/etc-hosts` },
])("a container that fills $what on the node's disk is evicted at its limit", async ({ path }) => {
  // given
  await using node = await simulatedKubelet({ web: {} })
  const limits = { "ephemeral-storage": "1Mi" }
  await node.create("web", { containers: [{ name: "c", image: "web", resources: { limits } }] })
  const { files } = node.runtime
  const place = "/var/lib/kubelet"
  const file = `${place}/${path(node.pod("web")!.metadata.uid!)}`
  expect(await files.size(file)).toBeDefined()
  // when
  await files.write(file, "x".repeat(2 * 1024 * 1024))
  await node.cluster.advance(30_000)
  // then
  expect(node.status("web")).toMatchObject({ phase: "Failed", reason: "Evicted" })
})
