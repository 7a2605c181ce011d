import { describe, expect, test } from "bun:test"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { Node } from "../../../pkg/api/core/v1/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"
import { finishPods } from "../../../pkg/testing/finishing-pods.ts"
import { addNode, runPods } from "../../../pkg/testing/pods.ts"

const NAME = { name: "agent", namespace: "default" }
const labels = { app: "agent" }
const agent = (more: object = {}, pod: object = {}) => ({
  metadata: NAME, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "agent:1" }], ...pod } }, ...more },
})

async function start(nodes: number, running = true): Promise<ControlPlane> {
  const plane = await startControlPlane()
  for (let i = 0; i < nodes; i++) await addNode(plane, `node-${i}`)
  if (running) runPods(plane)
  return plane
}
const pods = async ({ client }: ControlPlane): Promise<readonly Pod[]> => (await client.list(Pod, { namespace: "default", labelSelector: "app=agent" })).items
const nodes = async (plane: ControlPlane): Promise<readonly (string | undefined)[]> => (await pods(plane)).map(({ spec }) => spec.nodeName).toSorted((a, b) => ((a ?? "") < (b ?? "") ? -1 : 1))
const images = async (plane: ControlPlane): Promise<readonly (string | undefined)[]> => (await pods(plane)).map(({ spec }) => spec.containers[0]!.image)
const read = ({ client }: ControlPlane): Promise<DaemonSet> => client.get(DaemonSet, NAME)
const setImage = ({ client }: ControlPlane, image: string): Promise<DaemonSet> => client.patch(DaemonSet, NAME, { type: "strategic", body: { spec: { template: { spec: { containers: [{ name: "main", image }] } } } } })

describe("DaemonSet", () => {
  test("has a pod on every node, also on those that come later", async () => {
    await using plane = await start(3)
    await plane.client.create(DaemonSet, agent())
    await plane.clock.settle()
    expect(await nodes(plane)).toEqual(["node-0", "node-1", "node-2"])
    await addNode(plane, "node-3")
    await plane.clock.settle()
    expect(await nodes(plane)).toEqual(["node-0", "node-1", "node-2", "node-3"])
    expect((await read(plane)).status).toMatchObject({ desiredNumberScheduled: 4, currentNumberScheduled: 4, numberReady: 4, numberAvailable: 4, updatedNumberScheduled: 4, numberMisscheduled: 0, observedGeneration: 1 })
    expect((await pods(plane))[0]!.spec.tolerations?.map(({ key }) => key)).toContain("node.kubernetes.io/unreachable")
  })

  test("follows labels and taints of nodes, and stays on a cordoned one", async () => {
    // given
    await using plane = await start(3)
    const { client, clock } = plane
    const patch = (name: string, body: object) => client.patch(Node, { name }, { type: "merge", body })
    await patch("node-0", { metadata: { labels: { disk: "fast" } } })
    await patch("node-1", { metadata: { labels: { disk: "fast" } } })
    await client.create(DaemonSet, agent({}, { nodeSelector: { disk: "fast" } }))
    await clock.settle()
    expect(await nodes(plane)).toEqual(["node-0", "node-1"])
    // when
    await patch("node-0", { metadata: { labels: { disk: null } } })
    await patch("node-2", { metadata: { labels: { disk: "fast" } } })
    await patch("node-1", { spec: { unschedulable: true } })
    await clock.settle()
    // then
    expect(await nodes(plane)).toEqual(["node-1", "node-2"])
    // when a taint comes that only keeps new pods out, and one that drives pods out
    await patch("node-1", { spec: { taints: [{ key: "a", effect: "NoSchedule" }] } })
    await patch("node-2", { spec: { taints: [{ key: "a", effect: "NoExecute" }] } })
    await clock.settle()
    // then
    expect(await nodes(plane)).toEqual(["node-1"])
    expect((await read(plane)).status).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 })
  })

  test("makes a deleted pod anew, and replaces failed ones ever more slowly", async () => {
    // given a pod that fails after a second, each time
    await using plane = await startControlPlane()
    await addNode(plane, "node-0")
    finishPods(plane, () => ({ afterMs: 1000, exitCode: 1 }))
    const starts: number[] = []
    const now = plane.clock.now()
    plane.informers.of(Pod).on({ added: ({ metadata }) => starts.push((Date.parse(metadata.creationTimestamp!) - now) / 1000) })
    await plane.client.create(DaemonSet, agent())
    await plane.clock.advance(20_000)
    expect(starts).toEqual([0, 1, 2, 4, 8, 16])
  })

  test("updates node by node, and keeps its history", async () => {
    // given
    await using plane = await start(3)
    await plane.client.create(DaemonSet, agent({ revisionHistoryLimit: 1 }))
    await plane.clock.settle()
    let least = 3
    plane.informers.of(DaemonSet).on({ updated: ({ status }) => (least = Math.min(least, status.numberAvailable ?? 0)) })
    // when
    await setImage(plane, "agent:2")
    await plane.clock.settle()
    // then never more than one was missing
    expect(await images(plane)).toEqual(["agent:2", "agent:2", "agent:2"])
    expect(least).toBe(2)
    expect((await read(plane)).status).toMatchObject({ updatedNumberScheduled: 3, numberAvailable: 3, observedGeneration: 2 })
    await setImage(plane, "agent:3")
    await plane.clock.settle()
    expect((await plane.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual([2, 3])
    // when it goes back
    await setImage(plane, "agent:2")
    await plane.clock.settle()
    expect((await plane.client.list(ControllerRevision)).items.map(({ revision }) => revision).toSorted((a, b) => a - b)).toEqual([3, 4])
  })

  test("with OnDelete waits for somebody to delete the old pods", async () => {
    await using plane = await start(2)
    await plane.client.create(DaemonSet, agent({ updateStrategy: { type: "OnDelete" } }))
    await plane.clock.settle()
    await setImage(plane, "agent:2")
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["agent:1", "agent:1"])
    await plane.client.delete(Pod, (await pods(plane))[0]!.metadata)
    await plane.clock.settle()
    expect((await images(plane)).toSorted((a, b) => (a! < b! ? -1 : 1))).toEqual(["agent:1", "agent:2"])
  })

  test("with maxSurge starts the new pod before the old one goes", async () => {
    await using plane = await start(3)
    await plane.client.create(DaemonSet, agent({ updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }))
    await plane.clock.settle()
    let [least, most] = [3, 3]
    plane.informers.of(Pod).on({
      updated: () => {
        const all = plane.informers.of(Pod).list("default")
        least = Math.min(least, new Set(all.filter(({ status }) => status.phase === "Running").map(({ spec }) => spec.nodeName)).size)
        most = Math.max(most, all.length)
      },
    })
    await setImage(plane, "agent:2")
    await plane.clock.settle()
    expect(await images(plane)).toEqual(["agent:2", "agent:2", "agent:2"])
    expect([least, most]).toEqual([3, 4])
  })

  test("goes with its pods", async () => {
    await using plane = await start(2)
    await plane.client.create(DaemonSet, agent())
    await plane.clock.settle()
    await plane.client.delete(DaemonSet, NAME, { propagationPolicy: "Foreground" })
    await plane.clock.advance(60_000)
    expect(await pods(plane)).toEqual([])
    expect((await plane.client.list(DaemonSet)).items).toEqual([])
    expect((await plane.client.list(ControllerRevision)).items).toEqual([])
  })
})
