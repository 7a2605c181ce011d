import { expect, test } from "bun:test"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

const PATH = "/etc/kubernetes/manifests/web.json"
const MANIFEST = JSON.stringify({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { terminationGracePeriodSeconds: 10, containers: [{ name: "c", image: "slow" }] },
})

type Node = Awaited<ReturnType<typeof simulatedKubelet>>

/** Makes the kubelet watch its folder of manifests. Returns functions that change the folder. */
async function followed(node: Node) {
  let changed = () => {}
  Object.assign(node.runtime.files, {
    watchFolder: (_path: string, listener: () => void) => {
      changed = listener
      return () => {}
    },
  })
  await node.restart()
  return async (write: Promise<unknown>) => {
    await write
    changed()
    await node.cluster.advance(1000)
  }
}

test("a static pod whose manifest is restored while it terminates runs again afterwards", async () => {
  // given a static pod that takes five seconds to end
  await using node = await simulatedKubelet({ slow: { onStop: { afterMs: 5000 } } })
  const touch = await followed(node)
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

test("a static pod that the node rejects is shown as failed, and is not tried again", async () => {
  // given a node whose port 80 is taken
  await using node = await simulatedKubelet({ web: {} })
  const containers = [{ name: "c", image: "web", ports: [{ containerPort: 80, hostPort: 80 }] }]
  await node.create("first", { containers })
  const touch = await followed(node)
  // when a manifest asks for it
  const manifest = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: { hostNetwork: false, containers },
  }
  await touch(node.runtime.files.write(PATH, JSON.stringify(manifest)))
  // then its mirror says why it does not run
  const { phase, reason } = node.status("web-node-0")
  expect([phase, reason]).toEqual(["Failed", "NodePorts"])
  // and in fifty minutes nothing more is written of it (events go after an hour)
  const writes = () =>
    node.cluster.history().filter(({ object }) => JSON.stringify(object.metadata).includes("web-node-0")).length
  const before = writes()
  await node.cluster.advance("50m")
  expect(writes()).toBe(before)
  expect((await node.runtime.containers.listContainers()).length).toBe(1)
})

test("the creation of a mirror pod that the API refuses is repeated with a growing delay", async () => {
  // given an API that takes no mirrors
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  let tries = 0
  await using _fault = await node.cluster.faults.requests({
    verb: "create",
    resource: "pods",
    error: () => {
      tries++
      return new ApiError("Forbidden", "no mirrors here")
    },
  })
  // when there is a manifest
  await touch(node.runtime.files.write(PATH, MANIFEST))
  await node.cluster.advance("10m")
  // then the pod runs all the same
  expect((await node.runtime.containers.listContainers()).map(({ state }) => state)).toEqual(["CONTAINER_RUNNING"])
  // at 0, 2, 6, 14, 30 and 62 seconds, and then every minute
  expect(tries).toBe(14)
})
