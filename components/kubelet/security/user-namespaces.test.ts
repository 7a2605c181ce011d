import { describe, expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

type Node = Awaited<ReturnType<typeof simulatedKubelet>>
const NAMESPACED = { hostUsers: false, containers: [{ name: "c", image: "web" }] } as const

/** Notes the ids with which the runtime is to start pods and containers. */
function idsOf({ runtime: { containers } }: Node) {
  const pods = new Map<string, unknown>()
  const mounts: unknown[] = []
  const run = containers.runPodSandbox.bind(containers)
  containers.runPodSandbox = (config, handler) => {
    pods.set(config.metadata!.name!, config.linux?.securityContext?.namespaceOptions?.usernsOptions)
    return run(config, handler)
  }
  const create = containers.createContainer.bind(containers)
  containers.createContainer = (id, config, sandbox) => {
    mounts.push(...config.mounts!.map(({ uidMappings }) => uidMappings))
    return create(id, config, sandbox)
  }
  return { pods, mounts }
}
const range = (number: number) => [{ hostId: number * 65_536, containerId: 0, length: 65_536 }]

describe("a pod with hostUsers: false", () => {
  test("has a range of ids that no other pod has, also after a restart of the kubelet", async () => {
    // given
    await using node = await simulatedKubelet({ web: {} })
    const ids = idsOf(node)
    // when two such pods and another one start
    await node.create("a", NAMESPACED)
    await node.create("host", { containers: [{ name: "c", image: "web" }] })
    await node.restart()
    await node.create("b", NAMESPACED)
    // then
    expect([...ids.pods]).toEqual([
      ["a", { mode: "POD", uids: range(1), gids: range(1) }],
      ["host", undefined],
      ["b", { mode: "POD", uids: range(2), gids: range(2) }],
    ])
    // and files of the host's root are the container's root's
    expect(ids.mounts).toContainEqual(range(1))
    // when one is gone, then the next has its range
    await node.delete("a", 1)
    await node.cluster.advance(10_000)
    await node.create("c", NAMESPACED)
    expect(ids.pods.get("c")).toEqual({ mode: "POD", uids: range(1), gids: range(1) })
  })

  test("does not run on a runtime without user namespaces, and never as the host's root", async () => {
    // given a runtime like containerd 1.6
    await using node = await simulatedKubelet({ web: {} })
    const { containers } = node.runtime
    const status = containers.status.bind(containers)
    containers.status = async () => ({ ...(await status()), runtimeHandlers: [] })
    const ids = idsOf(node)
    // when
    await node.create("a", NAMESPACED)
    await node.cluster.advance(5000)
    // then
    expect(ids.pods.size).toBe(0)
    expect(node.events("a")).toEqual([
      "FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not " +
        "support user namespaces",
    ])
  })
})
