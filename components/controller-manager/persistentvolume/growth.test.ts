import { expect, test } from "bun:test"
import { resizer } from "../../../pkg/provisioner/resizer.ts"
import { reachedFrom, type VolumeMaker } from "../../../pkg/provisioner/volume-maker.ts"
import { startController } from "../../../pkg/controller/start.ts"
import {
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  startCluster,
  type Cluster,
} from "../../cluster/testing/testing.ts"

/** The expansion of claims. Sources: pkg/controller/volume/expand, external-resizer. */

const MAKER = "example.com/maker"
const data = { namespace: "default", name: "data" }

/** Starts a cluster with a claim of 1 GiB that is bound to a volume of this provisioner. */
async function withBoundClaim(
  source: object = { hostPath: { path: "/disk" } },
  volumeMode = "Filesystem",
): Promise<Cluster> {
  const cluster = await startCluster({
    nodes: 1,
    components: {
      controllers: {
        disabled: ["simulated-volume-controller", "simulated-volume-reclaimer", "simulated-volume-resizer"],
      },
    },
  })
  const fields = { accessModes: ["ReadWriteOnce"], storageClassName: "big", volumeMode }
  await cluster.apply([
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "big" },
      provisioner: MAKER,
      allowVolumeExpansion: true,
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "v", annotations: { "pv.kubernetes.io/provisioned-by": MAKER } },
      spec: { ...fields, capacity: { storage: "1Gi" }, ...source },
    },
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: data.name },
      spec: { ...fields, resources: { requests: { storage: "1Gi" } } },
    },
  ])
  await cluster.settle()
  return cluster
}

async function run(cluster: Cluster, resize: NonNullable<VolumeMaker["resize"]>): Promise<void> {
  const maker: VolumeMaker = {
    name: MAKER,
    serves: () => true,
    reaches: () => true,
    make: () => Promise.reject(new Error("not asked for")),
    remove: async () => undefined,
    resize,
  }
  await startController(resizer("test-resizer", maker), cluster.contextFor("test", ["system:masters"]))
}

const ask = (cluster: Cluster, storage: string) =>
  cluster.client.patch(PersistentVolumeClaim, data, {
    type: "merge",
    body: { spec: { resources: { requests: { storage } } } },
  })

/** Returns the claim's sizes and conditions, the size of its volume, and the Events of the claim. */
async function stateOf(cluster: Cluster) {
  await cluster.settle()
  const { status, metadata } = await cluster.client.get(PersistentVolumeClaim, data)
  const volume = await cluster.client.get(PersistentVolume, { name: "v" })
  const events = (await cluster.list(Event)).filter(({ involvedObject }) => involvedObject.name === "data")
  return {
    has: status.capacity?.["storage"],
    allocated: status.allocatedResources?.["storage"],
    state: status.allocatedResourceStatuses?.["storage"],
    conditions: (status.conditions ?? []).map(({ type }) => type),
    resizer: metadata.annotations?.["volume.kubernetes.io/storage-resizer"],
    volume: volume.spec.capacity?.["storage"],
    before: volume.metadata.annotations?.["volume.alpha.kubernetes.io/pre-resize-capacity"],
    events: events.map(({ reason }) => reason ?? "").toSorted(),
  }
}

test("a claim whose volume needs no expansion on a node has its new size at once", async () => {
  await using cluster = await withBoundClaim()
  await run(cluster, async () => ({ onNode: false }))
  await ask(cluster, "2Gi")
  expect(await stateOf(cluster)).toEqual({
    has: "2Gi",
    allocated: "2Gi",
    state: undefined,
    conditions: [],
    resizer: undefined,
    volume: "2Gi",
    before: undefined,
    events: ["ExternalExpanding", "Resizing", "VolumeResizeSuccessful"],
  })
})

test("a claim whose volume is enlarged on a node keeps its size until the node has done so, and can grow again then", async () => {
  await using cluster = await withBoundClaim()
  const sizes: string[] = []
  await run(cluster, async (_, size) => {
    sizes.push(size)
    return { onNode: true }
  })
  // when the claim grows, and again before the node has done its part
  await ask(cluster, "2Gi")
  await cluster.settle()
  await ask(cluster, "3Gi")
  // then
  expect(await stateOf(cluster)).toMatchObject({
    has: "1Gi",
    allocated: "2Gi",
    state: "NodeResizePending",
    conditions: ["Resizing", "FileSystemResizePending"],
    volume: "2Gi",
    before: "1Gi",
  })
  expect(sizes).toEqual(["2Gi"])
  // when the node has done it
  for (const size of ["2Gi", "3Gi"]) {
    const claim = await cluster.client.get(PersistentVolumeClaim, data)
    await cluster.client.updateStatus(PersistentVolumeClaim, {
      ...claim,
      status: { ...claim.status, capacity: { storage: size }, allocatedResourceStatuses: {}, conditions: [] },
    })
    await cluster.settle()
  }
  // then
  expect(await stateOf(cluster)).toMatchObject({ has: "3Gi", volume: "3Gi", before: undefined, conditions: [] })
  expect(sizes).toEqual(["2Gi", "3Gi"])
})

test("the expansion of a volume is tried again after a failure, and a condition of the claim says why", async () => {
  await using cluster = await withBoundClaim()
  let full = true
  await run(cluster, async () => {
    if (full) throw new Error("the disk is full")
    return { onNode: false }
  })
  await ask(cluster, "2Gi")
  expect(await stateOf(cluster)).toMatchObject({
    has: "1Gi",
    state: "ControllerResizeInProgress",
    conditions: ["Resizing", "ControllerResizeError"],
    volume: "1Gi",
    events: ["ExternalExpanding", "Resizing", "VolumeResizeFailed"],
  })
  // when
  full = false
  await cluster.advance("10m")
  // then
  expect(await stateOf(cluster)).toMatchObject({ has: "2Gi", state: undefined, conditions: [], volume: "2Gi" })
})

test.each([
  { title: "a CSI driver", source: { csi: { driver: "csi.example.com", volumeHandle: "h" } }, resizer: undefined },
  {
    title: "an in-tree driver",
    source: { awsElasticBlockStore: { volumeID: "vol-1" } },
    resizer: "ebs.csi.aws.com",
  },
])("a claim waits for $title to enlarge its volume, with one Event", async ({ source, resizer }) => {
  await using cluster = await withBoundClaim(source)
  await ask(cluster, "2Gi")
  await cluster.advance("10m")
  expect(await stateOf(cluster)).toMatchObject({ has: "1Gi", volume: "1Gi", resizer, events: ["ExternalExpanding"] })
})

test("a running pod's block device gets its new size when the kubelet next checks the claim", async () => {
  // given a pod with a local volume that its node has to enlarge
  await using cluster = await withBoundClaim(
    {
      local: { path: "/disk" },
      nodeAffinity: reachedFrom("kubernetes.io/hostname", "node-0"),
    },
    "Block",
  )
  await run(cluster, async () => ({ onNode: true }))
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      containers: [{ name: "c", image: "web", volumeDevices: [{ name: "disk", devicePath: "/dev/disk" }] }],
      volumes: [{ name: "disk", persistentVolumeClaim: { claimName: data.name } }],
    },
  })
  await cluster.settle()
  // when
  await ask(cluster, "2Gi")
  expect(await stateOf(cluster)).toMatchObject({ has: "1Gi", state: "NodeResizePending", before: "1Gi" })
  await cluster.advance("90s")
  // then
  expect(await stateOf(cluster)).toEqual({
    has: "2Gi",
    allocated: "2Gi",
    state: undefined,
    conditions: [],
    resizer: undefined,
    volume: "2Gi",
    before: undefined,
    events: ["ExternalExpanding", "FileSystemResizeRequired", "FileSystemResizeSuccessful", "Resizing"],
  })
})
