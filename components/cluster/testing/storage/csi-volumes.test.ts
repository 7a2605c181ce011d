import { describe, expect, test } from "bun:test"
import {
  CSINode,
  Event,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
  startCluster,
  VolumeAttachment,
  type Cluster,
  type ClusterOptions,
} from "../testing.ts"

const DRIVER = "disk.example.com"
const disks = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "disks" },
  provisioner: DRIVER,
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
}
const claimSpec = (more: object = {}) => ({
  accessModes: ["ReadWriteOnce"],
  storageClassName: "disks",
  resources: { requests: { storage: "1Gi" } },
  ...more,
})
const claim = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: claimSpec(more),
})
const pod = (name: string, claimName: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    containers: [{ name: "main", image: "db", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    ...more,
  },
})
const database = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "db" },
  spec: {
    serviceName: "db",
    replicas: 1,
    selector: { matchLabels: { app: "db" } },
    template: {
      metadata: { labels: { app: "db" } },
      spec: {
        containers: [{ name: "main", image: "db", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
      },
    },
    volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claimSpec() }],
  },
}

const start = (driver: NonNullable<ClusterOptions["csiDrivers"]>[string] = {}, options: ClusterOptions = {}) =>
  startCluster({ nodes: 2, seed: 1, csiDrivers: { [DRIVER]: driver }, preload: disks, ...options })

const isRunning = async (cluster: Cluster, name: string) => (await cluster.find(Pod, name))?.status.phase === "Running"
const isReady = ({ status }: Pod) =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
const nodeOf = async (cluster: Cluster, name: string) => (await cluster.get(Pod, name)).spec.nodeName!
/** The volumes in a Node's status, without their common beginning. */
async function volumesOf(cluster: Cluster, node: string) {
  const { volumesInUse = [], volumesAttached = [] } = (await cluster.get(Node, node)).status
  return { inUse: volumesInUse.length, attached: volumesAttached.length }
}
/** The nodes to which volumes are attached, by VolumeAttachments. */
const attachedTo = async (cluster: Cluster) =>
  (await cluster.list(VolumeAttachment)).filter(({ status }) => status.attached).map(({ spec }) => spec.nodeName)
const warnings = async (cluster: Cluster, name: string) =>
  (await cluster.list(Event))
    .filter(({ type, involvedObject, reason }) => {
      return type === "Warning" && involvedObject.name === name && reason !== "FailedScheduling"
    })
    .map(({ reason, message }) => `${reason}: ${message}`)
const volumeName = async (cluster: Cluster, name = "data") =>
  (await cluster.get(PersistentVolumeClaim, name)).spec.volumeName!

describe("a claim of a simulated CSI driver", () => {
  test("is provisioned, attached and mounted, each in its time, before its pod runs", async () => {
    // given
    await using cluster = await start({ provisionDelay: "3s", attachDelay: "10s", mountDelay: "2s" })
    // when
    await cluster.apply([claim("data"), pod("a", "data")])
    // then nothing is there before the volume is provisioned
    await cluster.advance("2900ms")
    expect(await cluster.list(PersistentVolume)).toEqual([])
    // and it is attached ten seconds after the pod has its node
    await cluster.advance("200ms")
    const node = await nodeOf(cluster, "a")
    expect((await cluster.get(PersistentVolume, await volumeName(cluster))).spec.csi).toMatchObject({ driver: DRIVER })
    await cluster.advance("9s")
    expect(await volumesOf(cluster, node)).toEqual({ inUse: 1, attached: 0 })
    await cluster.advance("1s")
    expect(await volumesOf(cluster, node)).toEqual({ inUse: 1, attached: 1 })
    // and mounted two seconds later
    expect(await isRunning(cluster, "a")).toBe(false)
    await cluster.advance("2s")
    expect(await isRunning(cluster, "a")).toBe(true)
    expect(await warnings(cluster, "a")).toEqual([])
  })

  test("is unmounted and detached when its pod has ended, and then deleted with the claim", async () => {
    // given
    await using cluster = await start({ detachDelay: "5s" })
    await cluster.apply([claim("data"), pod("a", "data")])
    await cluster.settle()
    const node = await nodeOf(cluster, "a")
    // when
    await cluster.delete(Pod, "a")
    // then
    expect(await volumesOf(cluster, node)).toEqual({ inUse: 0, attached: 0 })
    await cluster.advance("4s")
    expect(await cluster.list(VolumeAttachment)).toHaveLength(1)
    await cluster.advance("2s")
    expect(await cluster.list(VolumeAttachment)).toEqual([])
    // and
    await cluster.delete(PersistentVolumeClaim, "data")
    await cluster.eventually(PersistentVolume, {}, (volumes) => volumes.length === 0)
  })

  test("is shared by pods of one node, and stays there until the last has ended", async () => {
    // given
    await using cluster = await start({}, { nodes: 1 })
    await cluster.apply([claim("data"), pod("a", "data"), pod("b", "data")])
    await cluster.advance("10s")
    expect(await Promise.all(["a", "b"].map((name) => isRunning(cluster, name)))).toEqual([true, true])
    // when
    await cluster.delete(Pod, "a")
    await cluster.advance("1m")
    // then
    expect(await volumesOf(cluster, "node-0")).toEqual({ inUse: 1, attached: 1 })
    await cluster.delete(Pod, "b")
    await cluster.settle()
    expect(await volumesOf(cluster, "node-0")).toEqual({ inUse: 0, attached: 0 })
  })

  test("with ReadWriteOncePod serves one pod of a node", async () => {
    // given a second pod that the scheduler is not asked about
    await using cluster = await start({}, { nodes: 1 })
    await cluster.apply([claim("data", { accessModes: ["ReadWriteOncePod"] }), pod("a", "data")])
    await cluster.settle()
    await cluster.apply(pod("b", "data", { nodeName: "node-0" }))
    // when
    await cluster.advance("1m")
    // then
    expect((await warnings(cluster, "b"))[0]).toBe(
      `FailedMount: MountVolume.SetUp failed for volume "${await volumeName(cluster)}" : volume uses the ` +
        "ReadWriteOncePod access mode and is already in use by another pod",
    )
  })

  test("of a driver that attaches nothing is mounted on several nodes without VolumeAttachments", async () => {
    // given
    await using cluster = await start({ attachRequired: false })
    const shared = claim("data", { accessModes: ["ReadWriteMany"] })
    // when
    await cluster.apply([shared, pod("a", "data", { nodeName: "node-0" })])
    await cluster.apply([claim("other"), pod("b", "other")])
    await cluster.settle()
    // then
    expect(await isRunning(cluster, "b")).toBe(true)
    expect(await cluster.list(VolumeAttachment)).toEqual([])
    expect(await volumesOf(cluster, await nodeOf(cluster, "b"))).toEqual({ inUse: 0, attached: 0 })
  })

  test("grows when it asks for more", async () => {
    await using cluster = await start()
    await cluster.apply([claim("data"), pod("a", "data")])
    await cluster.settle()
    await cluster.apply(claim("data", { resources: { requests: { storage: "5Gi" } } }))
    await cluster.settle()
    expect((await cluster.get(PersistentVolumeClaim, "data")).status.capacity).toEqual({ storage: "5Gi" })
  })

  test("counts against the volumes that a node can have", async () => {
    // given
    await using cluster = await start({ volumesPerNode: 1 })
    expect((await cluster.get(CSINode, "node-0")).spec.drivers).toMatchObject([
      { name: DRIVER, nodeID: "node-0", allocatable: { count: 1 } },
    ])
    // when
    const names = ["a", "b", "c"]
    await cluster.apply(names.flatMap((name) => [claim(name), pod(name, name)]))
    await cluster.advance("1m")
    // then
    const running = await Promise.all(names.map((name) => isRunning(cluster, name)))
    expect(running.filter(Boolean)).toHaveLength(2)
    expect(String(await cluster.explain(names[running.indexOf(false)]!))).toContain("exceed max volume count")
  })

  test("stays mounted while its kubelet is started again, and is unmounted if its pod went meanwhile", async () => {
    // given
    await using cluster = await start({}, { nodes: 1 })
    await cluster.apply([claim("a"), claim("b"), pod("a", "a"), pod("b", "b")])
    await cluster.settle()
    // when
    const down = await cluster.faults.crashed({ kubelet: "node-0" })
    await cluster.client.delete(Pod, "b", { gracePeriodSeconds: 0 })
    await cluster.advance("10s")
    expect(await volumesOf(cluster, "node-0")).toEqual({ inUse: 2, attached: 2 })
    await down.end()
    await cluster.advance("10s")
    // then
    expect(await volumesOf(cluster, "node-0")).toEqual({ inUse: 1, attached: 1 })
    expect(await isRunning(cluster, "a")).toBe(true)
    expect((await cluster.get(Pod, "a")).status.containerStatuses![0]!.restartCount).toBe(0)
  })
})

describe("a StatefulSet with a disk", () => {
  /** The database, and then its node is lost for ten minutes. */
  async function lost(driver = {}) {
    const cluster = await start({ attachDelay: "10s", ...driver })
    await cluster.apply(database)
    await cluster.eventually(Pod, { labels: "app=db" }, (pods) => pods.length === 1 && pods.every(isReady))
    const node = await nodeOf(cluster, "db-0")
    await cluster.faults.nodeLost(node)
    await cluster.advance("10m")
    return { cluster, node, other: node === "node-0" ? "node-1" : "node-0" }
  }

  test("stays on a lost node, whose pod cannot end, and keeps its disk there", async () => {
    const { cluster, node } = await lost()
    await using _ = cluster
    await cluster.advance("1h")
    expect((await cluster.get(Pod, "db-0")).metadata.deletionTimestamp).toBeDefined()
    expect(await nodeOf(cluster, "db-0")).toBe(node)
    expect(await attachedTo(cluster)).toEqual([node])
  })

  test("moves six minutes after its pod was deleted by force, and says meanwhile why not", async () => {
    // given
    const { cluster, node, other } = await lost()
    await using _ = cluster
    // when
    await cluster.client.delete(Pod, "db-0", { gracePeriodSeconds: 0 })
    await cluster.advance("5m")
    // then
    const name = await volumeName(cluster, "data-db-0")
    expect(await nodeOf(cluster, "db-0")).toBe(other)
    expect(await isRunning(cluster, "db-0")).toBe(false)
    expect(await attachedTo(cluster)).toEqual([node])
    expect(await warnings(cluster, "db-0")).toContain(
      `FailedAttachVolume: Multi-Attach error for volume "${name}" Volume is already exclusively attached to one node ` +
        "and can't be attached to another",
    )
    // and after six minutes, and ten seconds to attach
    await cluster.advance("70s")
    expect(await isRunning(cluster, "db-0")).toBe(true)
    expect(await attachedTo(cluster)).toEqual([other])
  })

  test("moves at once when its node is said to be out of service", async () => {
    // given
    const { cluster, node, other } = await lost()
    await using _ = cluster
    // when
    const { spec } = await cluster.get(Node, node)
    const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }
    await cluster.client.patch(Node, node, {
      type: "merge",
      body: { spec: { taints: [...(spec.taints ?? []), taint] } },
    })
    // then
    await cluster.advance("1m")
    expect(await nodeOf(cluster, "db-0")).toBe(other)
    expect(await isRunning(cluster, "db-0")).toBe(true)
    expect(await attachedTo(cluster)).toEqual([other])
  })

  test("leaves nothing on a node that comes back after its disk was taken from it", async () => {
    // given
    await using cluster = await start()
    await cluster.apply(database)
    await cluster.settle()
    const node = await nodeOf(cluster, "db-0")
    const fault = await cluster.faults.nodeLost(node)
    await cluster.advance("2m")
    await cluster.client.delete(Pod, "db-0", { gracePeriodSeconds: 0 })
    await cluster.advance("7m")
    // when
    await fault.end()
    await cluster.advance("1m")
    // then
    expect(await volumesOf(cluster, node)).toEqual({ inUse: 0, attached: 0 })
    expect(await isRunning(cluster, "db-0")).toBe(true)
  })

  test("runs again on its node after that was off", async () => {
    await using cluster = await start({}, { nodes: 1 })
    await cluster.apply(database)
    await cluster.settle()
    const fault = await cluster.faults.nodeLost("node-0")
    await cluster.advance("1m")
    await fault.end()
    await cluster.advance("1m")
    await cluster.eventually(StatefulSet, {}, ([set]) => set?.status.readyReplicas === 1)
    expect(await volumesOf(cluster, "node-0")).toEqual({ inUse: 1, attached: 1 })
  })

  test("moves on several servers too", async () => {
    await using cluster = await start({ attachDelay: "10s" }, { servers: 3 })
    await cluster.apply(database)
    await cluster.eventually(Pod, { labels: "app=db" }, (pods) => pods.length === 1 && pods.every(isReady))
    await cluster.drain(await nodeOf(cluster, "db-0"), { force: true, deleteEmptyDirData: true })
    await cluster.advance("1m")
    expect(await isRunning(cluster, "db-0")).toBe(true)
  })
})

describe("a fault of a CSI driver", () => {
  test("keeps volumes from being attached, which pods are told, until it ends", async () => {
    // given
    await using cluster = await start()
    const fault = await cluster.faults.attachFails(DRIVER, { message: "no disk" })
    // when
    await cluster.apply([claim("data"), pod("a", "data")])
    await cluster.advance("1m")
    // then
    expect(await warnings(cluster, "a")).toEqual([
      `FailedAttachVolume: AttachVolume.Attach failed for volume "${await volumeName(cluster)}" : ` +
        "rpc error: code = Internal desc = no disk",
    ])
    expect(await isRunning(cluster, "a")).toBe(false)
    // and the driver tries again in growing times: after a minute within another one
    await fault.end()
    await cluster.advance("1m")
    expect(await isRunning(cluster, "a")).toBe(true)
    expect((await cluster.list(VolumeAttachment))[0]!.status.attachError).toBeUndefined()
  })

  test("on one node leaves the others alone", async () => {
    await using cluster = await start()
    await using _fault = await cluster.faults.mountFails(DRIVER, { node: "node-0", message: "bad superblock" })
    await cluster.apply([claim("a"), claim("b")])
    await cluster.apply(
      ["a", "b"].map((name, i) => pod(name, name, { nodeSelector: { "kubernetes.io/hostname": `node-${i}` } })),
    )
    await cluster.advance("1m")
    expect(await isRunning(cluster, "b")).toBe(true)
    expect(await warnings(cluster, "a")).toEqual([
      `FailedMount: MountVolume.MountDevice failed for volume "${await volumeName(cluster, "a")}" : ` +
        "rpc error: code = Internal desc = bad superblock",
    ])
  })

  test("lets mounts hang until the kubelet gives up after two minutes, and a pod that waits can be deleted", async () => {
    // given
    await using cluster = await start()
    const fault = await cluster.faults.mountHangs(DRIVER)
    await cluster.apply([claim("data"), pod("a", "data")])
    await cluster.advance("119s")
    expect(await warnings(cluster, "a")).toEqual([])
    // when
    await cluster.advance("2s")
    // then
    expect(await warnings(cluster, "a")).toEqual([
      `FailedMount: MountVolume.MountDevice failed for volume "${await volumeName(cluster)}" : ` +
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    ])
    // and
    await cluster.delete(Pod, "a")
    await cluster.settle()
    expect(await cluster.find(Pod, "a")).toBeUndefined()
    expect(await cluster.list(VolumeAttachment)).toEqual([])
    // and a pod whose mount hangs runs when the fault ends
    await cluster.apply(pod("b", "data"))
    await cluster.advance("30s")
    await fault.end()
    await cluster.settle()
    expect(await isRunning(cluster, "b")).toBe(true)
  })

  test.each([
    {
      title: "an unknown driver",
      of: (cluster: Cluster) => cluster.faults.attachFails("disk.example.org"),
      says: 'There is no CSI driver "disk.example.org"; did you mean disk.example.com?',
    },
    {
      title: "an unknown node",
      of: (cluster: Cluster) => cluster.faults.mountHangs(DRIVER, { node: "node-7" }),
      says: 'There is no node "node-7": the simulated nodes are node-0, node-1',
    },
  ])("is refused for $title", async ({ of, says }) => {
    await using cluster = await start()
    expect(await of(cluster).catch((err: Error) => err.message)).toBe(says)
  })
})

test.each([
  {
    title: "an option that does not exist",
    csiDrivers: { [DRIVER]: { attachDelai: "1s" } as object },
    says: 'the CSI driver "disk.example.com" cannot have "attachDelai"; did you mean attachDelay?',
  },
  {
    title: "a name that is none",
    csiDrivers: { "my disks": {} },
    says: 'Cannot name a CSI driver "my disks": expected a name such as "disk.example.com"',
  },
  {
    title: "half a volume",
    csiDrivers: { [DRIVER]: { volumesPerNode: 0.5 } },
    says: "Cannot use volumesPerNode: 0.5 of the CSI driver disk.example.com: expected a whole number",
  },
])("CSI drivers are refused with $title", async ({ csiDrivers, says }) => {
  expect(await startCluster({ csiDrivers }).then(String, (err: Error) => err.message)).toBe(says)
})
