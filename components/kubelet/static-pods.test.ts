import { expect, test } from "bun:test"
import { simulatedKubelet } from "./testing/simulated-kubelet.fixtures.ts"

const PATH = "/etc/kubernetes/manifests/web.json"
const MANIFEST = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { terminationGracePeriodSeconds: 10, containers: [{ name: "c", image: "slow" }] },
})

test("a static pod whose manifest is put back while it ends runs again when it has ended", async () => {
  // given a static pod that takes five seconds to end
  await using node = await simulatedKubelet({ slow: { onStop: { afterMs: 5000 } } })
  let changed = () => {}
  Object.assign(node.runtime.files, {
    watchFolder: (_path: string, listener: () => void) => {
      changed = listener
      return () => {}
    },
  })
  await node.restart()
  const touch = async (write: Promise<unknown>) => {
    await write
    changed()
    await node.cluster.advance(1000)
  }
  await touch(node.runtime.files.write(PATH, MANIFEST))
  const runs = async () =>
    (await node.runtime.containers.listContainers())
      .filter(({ state }) => state === "CONTAINER_RUNNING")
      .map(({ id }) => id)
  const [first] = await runs()
  expect(first).toBeDefined()
  // when its manifest goes and comes back
  await touch(node.runtime.files.remove(PATH))
  await touch(node.runtime.files.write(PATH, MANIFEST))
  await node.cluster.advance(20_000)
  // then another run of it is there
  const [second] = await runs()
  expect(second).toBeDefined()
  expect(second).not.toBe(first!)
})
