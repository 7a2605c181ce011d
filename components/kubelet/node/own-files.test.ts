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

test("nothing of an evicted pod is left on the node's disk, while its object stays", async () => {
  // given
  await using node = await simulatedKubelet({ web: {} })
  await node.create("web", {
    volumes: [{ name: "v", emptyDir: { sizeLimit: "1Mi" } }],
    containers: [{ name: "c", image: "web", volumeMounts: [{ name: "v", mountPath: "/v" }] }],
  })
  const { files, containers } = node.runtime
  const pod = `/var/lib/kubelet/pods/${node.pod("web")!.metadata.uid!}`
  await files.write(`${pod}/volumes/kubernetes.io~empty-dir/v/f`, "x".repeat(2 * 1024 * 1024))
  // when
  await node.cluster.advance(30_000)
  // then its containers, which may have filled the disk, are removed as well
  expect(node.status("web")).toMatchObject({
    phase: "Failed",
    reason: "Evicted",
    containerStatuses: [{ state: { terminated: { exitCode: expect.any(Number) } } }],
  })
  expect(await containers.listContainers()).toEqual([])
  expect(await files.list(pod)).toEqual([])
})
