import { expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

interface Summary {
  readonly pods: readonly {
    readonly "ephemeral-storage": { readonly usedBytes: number }
    readonly volume?: readonly {
      readonly name: string
      readonly time: string
      readonly usedBytes: number
      readonly inodesUsed: number
    }[]
  }[]
}

/** A node with a pod that has volumes. */
async function nodeWithVolumes() {
  const node = await simulatedKubelet({})
  await node.cluster.client.create(ConfigMap, {
    metadata: { name: "settings", namespace: "default" },
    data: { "a.conf": "12345", "b.conf": "67890" },
  })
  await node.create("web", {
    volumes: [
      { name: "scratch", emptyDir: {} },
      { name: "settings", configMap: { name: "settings" } },
      { name: "host", hostPath: { path: "/srv" } },
    ],
    containers: [
      {
        name: "web",
        image: "web",
        volumeMounts: [
          { name: "scratch", mountPath: "/scratch" },
          { name: "settings", mountPath: "/etc/web" },
        ],
      },
    ],
  })
  await node.cluster.advance(5000)
  const ask = async () => {
    const asked = node.cluster.connector("node-0")!.proxy!(new Request("http://node/stats/summary"))
    await node.cluster.settle()
    return ((await (await asked).json()) as Summary).pods[0]!
  }
  const fill = (bytes: number) =>
    node.runtime.files.put(
      `/var/lib/kubelet/pods/${node.pod("web")!.metadata.uid!}/volumes/kubernetes.io~empty-dir/scratch/deep/log`,
      "x".repeat(bytes),
    )
  return { ...node, ask, fill }
}

test("the summary has the usage of a pod's own volumes, and counts those on disk", async () => {
  // given
  await using node = await nodeWithVolumes()
  node.fill(1000)

  // when
  const { volume, "ephemeral-storage": storage } = await node.ask()

  // then
  const disk = {
    availableBytes: 90 * 2 ** 30,
    capacityBytes: 100 * 2 ** 30,
    inodes: 10_000_000,
    inodesFree: 9_000_000,
    time: "2026-01-01T00:00:05Z",
  }
  expect(volume?.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
    { name: "scratch", usedBytes: 1000, inodesUsed: 3, ...disk },
    { name: "settings", usedBytes: 10, inodesUsed: 3, ...disk },
  ])
  expect(storage.usedBytes).toBeGreaterThanOrEqual(1000)
})

test("a volume is measured at most once a minute, however many requests there are", async () => {
  await using node = await nodeWithVolumes()
  const scratch = async () => {
    const { volume = [] } = await node.ask()
    const { time, usedBytes } = volume.find(({ name }) => name === "scratch")!
    return [time, usedBytes] as const
  }
  // given a volume that was measured
  node.fill(1000)
  expect(await scratch()).toEqual(["2026-01-01T00:00:05Z", 1000])

  // when there is more in it soon after, and later
  node.fill(2000)
  await node.cluster.advance(58_000)
  const soon = await scratch()
  await node.cluster.advance(5000)
  const later = await scratch()

  // then
  expect([soon, later]).toEqual([
    ["2026-01-01T00:00:05Z", 1000],
    ["2026-01-01T00:01:08Z", 2000],
  ])
})

test("the check of storage limits of other pods does not measure a volume again", async () => {
  await using node = await nodeWithVolumes()
  // given a pod with a limit, whose volumes are measured every ten seconds, and a measurement of all volumes
  await node.create("limited", {
    volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Gi" } }],
    containers: [{ name: "c", image: "i", volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }],
  })
  const { volume: first } = await node.ask()

  // when
  await node.cluster.advance(30_000)
  const { volume: second } = await node.ask()

  // then
  expect(second).toEqual(first)
})

test("a volume with a limit is measured each time that limits are checked, so that it is found soon after it grows", async () => {
  await using node = await nodeWithVolumes()
  // given a volume that was measured below its limit
  await node.create("limited", {
    volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Ki" } }],
    containers: [{ name: "c", image: "i", volumeMounts: [{ name: "scratch", mountPath: "/scratch" }] }],
  })
  await node.cluster.advance(25_000)
  expect(node.status("limited").phase).toBe("Running")
  // when
  const { uid = "" } = node.pod("limited")!.metadata
  node.runtime.files.put(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/scratch/f`, "x".repeat(2000))
  await node.cluster.advance(12_000)
  // then
  expect(node.status("limited")).toMatchObject({ phase: "Failed", reason: "Evicted" })
})
