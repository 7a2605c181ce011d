import { expect, test } from "bun:test"
import { simulatedKubelet } from "../../testing/simulated-kubelet.fixtures.ts"

const PODS = "/var/lib/kubelet/pods"
const spec = { containers: [{ name: "c", image: "app" }], volumes: [{ name: "v", emptyDir: {} }] }

test("all of a pod that was deleted while no kubelet ran is removed", async () => {
  // given a pod that runs
  await using kubelet = await simulatedKubelet({})
  const { cluster, runtime } = kubelet
  await kubelet.create("p", spec)
  const uid = kubelet.pod("p")!.metadata.uid!
  expect(await runtime.files.list(PODS)).toEqual([uid])

  // when it is deleted without its kubelet
  const fault = await cluster.faults.crashed({ kubelet: "node-0" })
  await kubelet.delete("p", 0)
  await fault.end()
  await cluster.advance("31s")

  // then
  expect(await runtime.files.list(PODS)).toEqual([])
})

test("what could not be removed is removed a minute later", async () => {
  // given a folder that cannot be removed at the start of the kubelet
  await using kubelet = await simulatedKubelet({})
  const { cluster, runtime } = kubelet
  const { files } = runtime
  await files.makeFolder(`${PODS}/gone`)
  const remove = files.remove.bind(files)
  files.remove = () => Promise.reject(new Error("the disk is busy"))
  await kubelet.restart()
  files.remove = remove
  expect(await files.list(PODS)).toEqual(["gone"])

  // when
  await cluster.advance("1m")

  // then
  expect(await files.list(PODS)).toEqual([])
})
