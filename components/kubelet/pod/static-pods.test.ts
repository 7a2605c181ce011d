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

test("a static pod whose manifest is changed starts anew only when its containers have ended", async () => {
  // given a static pod that takes five seconds to end
  await using node = await simulatedKubelet({ slow: { onStop: { afterMs: 5000 } } })
  const touch = await followed(node)
  await touch(node.runtime.files.write(PATH, MANIFEST))
  const running = async () =>
    (await node.runtime.containers.listContainers()).filter(({ state }) => state === "CONTAINER_RUNNING")
  const [first] = await running()
  // when its manifest is changed twice
  const changed = (value: string) => MANIFEST.replace(`"image":"slow"`, `"image":"slow","args":["${value}"]`)
  await touch(node.runtime.files.write(PATH, changed("one")))
  await touch(node.runtime.files.write(PATH, changed("two")))
  // then the first one is alone until it has ended
  expect((await running()).map(({ id }) => id)).toEqual([first!.id])
  await node.cluster.advance(20_000)
  const last = await running()
  expect(last).toHaveLength(1)
  expect(last[0]!.id).not.toBe(first!.id)
  // and the API shows what runs
  expect(node.pod("web-node-0")!.spec.containers[0]!.args).toEqual(["two"])
  expect(node.status("web-node-0").phase).toBe("Running")
})

test.each([
  { title: "an editor's copy with a tilde", name: "web.json~", runs: true },
  { title: "a file without an extension", name: "web", runs: true },
  { title: "a hidden file", name: ".web.json", runs: false },
])("of $title the node makes a pod: $runs", async ({ name, runs }) => {
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  await touch(node.runtime.files.write(PATH.replace("web.json", name), MANIFEST))
  expect(node.pod("web-node-0") !== undefined).toBe(runs)
})

test("of two manifests with one name the first file's pod runs, and the second's after it", async () => {
  // given a manifest, and a copy of it that asks for other arguments
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  await touch(node.runtime.files.write(PATH, MANIFEST))
  const copy = MANIFEST.replace(`"image":"slow"`, `"image":"slow","args":["copy"]`)
  await touch(node.runtime.files.write(`${PATH}~`, copy))
  const containers = () => node.runtime.containers.listContainers()
  expect(await containers()).toHaveLength(1)
  expect(node.pod("web-node-0")!.spec.containers[0]!.args).toBeUndefined()
  // when the first goes
  await touch(node.runtime.files.remove(PATH))
  await node.cluster.advance(30_000)
  // then the second runs
  expect(node.pod("web-node-0")!.spec.containers[0]!.args).toEqual(["copy"])
  expect(node.status("web-node-0").phase).toBe("Running")
})

test("a static pod in a namespace that is missing does not keep others from the API", async () => {
  // given a manifest for a namespace that is missing
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  const lost = JSON.stringify({ ...JSON.parse(MANIFEST), metadata: { name: "lost", namespace: "missing" } })
  await touch(node.runtime.files.write(PATH.replace("web", "a"), lost))
  // when another comes
  await touch(node.runtime.files.write(PATH, MANIFEST))
  // then the API shows it
  expect(node.status("web-node-0").phase).toBe("Running")
})

test("a manifest that changes without a notification is read within 20 seconds", async () => {
  // given a manifest, as it is where a link in the folder leads
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  await touch(node.runtime.files.write(PATH, MANIFEST))
  // when it changes, and nobody tells
  await node.runtime.files.write(PATH, MANIFEST.replace(`"image":"slow"`, `"image":"slow","args":["new"]`))
  await node.cluster.advance(25_000)
  // then the pod is another
  expect(node.pod("web-node-0")!.spec.containers[0]!.args).toEqual(["new"])
})

test("a mirror pod that somebody deletes is there again at once, and the pod runs on", async () => {
  // given a static pod
  await using node = await simulatedKubelet({ slow: {} })
  const touch = await followed(node)
  await touch(node.runtime.files.write(PATH, MANIFEST))
  const { uid } = node.pod("web-node-0")!.metadata
  const containers = async () => (await node.runtime.containers.listContainers()).map(({ id }) => id)
  const before = await containers()
  // when its mirror is deleted, with the pod's grace period
  await node.delete("web-node-0")
  await node.cluster.advance(5000)
  // then another mirror shows the same container
  const { metadata, status } = node.pod("web-node-0")!
  expect(metadata.uid).not.toBe(uid!)
  expect(metadata.deletionTimestamp).toBeUndefined()
  expect(status.phase).toBe("Running")
  expect(before).toHaveLength(1)
  expect(await containers()).toEqual(before)
})
