import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import type { NodeOptions } from "../../cluster/testing/options/node-spec.ts"

const MEMORY = "/var/lib/kubelet/memory"
const ref = { name: "live", namespace: "default" }

/** Starts a pod with a ConfigMap as a volume, on a node of its own. */
async function showing(node: NodeOptions = {}) {
  const cluster = await startCluster({
    nodes: [{ name: "node-0", ...node }],
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  await cluster.client.create(ConfigMap, { metadata: ref, data: { a: "old" } })
  await cluster.client.create(Pod, {
    metadata: { name: "web", namespace: "default" },
    spec: {
      nodeName: "node-0",
      containers: [{ name: "c", image: "web" }],
      volumes: [{ name: "v", configMap: { name: "live" } }],
    },
  })
  await cluster.settle()
  const { files } = cluster.machine("node-0")
  const shown = () => files.below(MEMORY).flatMap((path) => files.get(`${MEMORY}/${path}`) ?? [])
  return {
    cluster,
    shown,
    change: (text: string) => cluster.client.patch(ConfigMap, ref, { type: "merge", body: { data: { a: text } } }),
    /** Returns how many seconds it takes until the volume shows the text; at most 200. */
    async secondsUntil(text: string) {
      for (let second = 0; second < 200; second++) {
        if (shown().includes(text)) return second
        await cluster.advance("1s")
      }
      return 200
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  }
}

describe("a ConfigMap volume of a running pod", () => {
  test("is updated at the kubelet's next synchronization of the pod, 60 to 90 seconds after the pod's start", async () => {
    await using pod = await showing()
    await pod.cluster.advance("10s")
    await pod.change("new")
    const seconds = await pod.secondsUntil("new")
    expect(seconds).toBeGreaterThanOrEqual(50)
    expect(seconds).toBeLessThanOrEqual(80)
  })

  test("is updated within 90 seconds at any later time, with all changes until then", async () => {
    await using pod = await showing()
    const delays: number[] = []
    for (let i = 0; i < 20; i++) {
      await pod.cluster.advance("10m")
      await pod.change(`between ${i}`)
      await pod.change(`new ${i}`)
      delays.push(await pod.secondsUntil(`new ${i}`))
    }
    expect(Math.max(...delays)).toBeLessThanOrEqual(90)
    // they take different times, because the synchronization of pods is not in step with changes
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(20)
  })

  test("is updated at once when something else happens to the pod", async () => {
    await using pod = await showing()
    await pod.change("new")
    await pod.cluster.settle()
    expect(pod.shown()).toEqual(["old"])
    await pod.cluster.client.patch(
      Pod,
      { name: "web", namespace: "default" },
      { type: "merge", body: { metadata: { annotations: { check: "now" } } } },
    )
    await pod.cluster.settle()
    expect(pod.shown()).toEqual(["new"])
  })

  test("is updated at once on a node with syncFrequency 0, and later on one with a longer period", async () => {
    await using quick = await showing({ syncFrequency: 0 })
    await quick.change("new")
    await quick.cluster.settle()
    expect(quick.shown()).toEqual(["new"])
    await using slow = await showing({ syncFrequency: "10m" })
    await slow.change("new")
    await slow.cluster.advance("9m")
    expect(slow.shown()).toEqual(["old"])
    await slow.cluster.advance("6m")
    expect(slow.shown()).toEqual(["new"])
  })

  test("leaves no timer behind when the pod is deleted before its synchronization", async () => {
    await using pod = await showing()
    await pod.change("new")
    await pod.cluster.delete(Pod, "web", { gracePeriodSeconds: 0 })
    await pod.cluster.advance("5m")
    expect(pod.shown()).toEqual([])
  })
})
