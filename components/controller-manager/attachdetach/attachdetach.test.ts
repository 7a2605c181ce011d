import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import {
  ApiError,
  CSIDriver,
  defineController,
  Event,
  Node,
  Pod,
  startCluster,
  VolumeAttachment,
  type Cluster,
} from "../../cluster/testing/testing.ts"

/**
 * The behaviour that upstream's tests assert of the controller: pkg/controller/volume/attachdetach/reconciler. The test
 * is the driver's attacher, and says for kubelets which volumes they have mounted.
 */

const DRIVER = "disks.example.com"
const FINALIZER = "external-attacher/disks-example-com"
const DISK = `kubernetes.io/csi/${DRIVER}^d-1`
const attachmentOn = (node: string) => `csi-${createHash("sha256").update(`d-1${DRIVER}${node}`).digest("hex")}`

const disk = (accessMode: string, name = "disk", claim = "data", volumeHandle = "d-1") => [
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: [accessMode],
      storageClassName: "",
      csi: { driver: DRIVER, volumeHandle },
      claimRef: { namespace: "default", name: claim },
    },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claim },
    spec: {
      accessModes: [accessMode],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "",
      volumeName: name,
    },
  },
]

/** Attaches and detaches at once, as the external attacher of a driver does, or fails with a message. */
const attacher = (failsWith?: string) =>
  defineController<VolumeAttachment>({
    name: "attacher",
    reconciles: VolumeAttachment,
    concerns: ({ spec }) => spec.attacher === DRIVER,
    async reconcile(key, { client, informers }) {
      const attachment = informers.of(VolumeAttachment).get(key)
      if (attachment === undefined) return
      const { metadata, status } = attachment
      const patch = (body: object, subresource?: "status") =>
        client.patch(
          VolumeAttachment,
          metadata,
          { type: "merge", body },
          subresource === undefined ? {} : { subresource },
        )
      if (metadata.deletionTimestamp !== undefined) return void (await patch({ metadata: { finalizers: [] } }))
      if (failsWith !== undefined) {
        if (status.attachError === undefined) await patch({ status: { attachError: { message: failsWith } } }, "status")
        return
      }
      if (status.attached) return
      await patch({ metadata: { finalizers: [FINALIZER] } })
      await patch({ status: { attached: true } }, "status")
    },
  })

async function withDisk({ accessMode = "ReadWriteOnce", failsWith = undefined as string | undefined } = {}) {
  const cluster = await startCluster({ nodes: 2, seed: 1 })
  await cluster.apply(disk(accessMode))
  await cluster.run(attacher(failsWith))
  return cluster
}

/** Runs a pod with the disk on a node. */
const use = (cluster: Cluster, name: string, node: string, claimName = "data") =>
  cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeName: node,
      containers: [{ name: "main", image: "web" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    },
  })

const mounts = (cluster: Cluster, node: string, volumesInUse: readonly string[]) =>
  cluster.client.patch(Node, node, { type: "merge", body: { status: { volumesInUse } } }, { subresource: "status" })
const forget = (cluster: Cluster, pod: string) => cluster.client.delete(Pod, pod, { gracePeriodSeconds: 0 })

/** The nodes that have the disk, by VolumeAttachments and by their own status. */
async function attached(cluster: Cluster) {
  await cluster.settle()
  const [attachments, nodes] = [await cluster.list(VolumeAttachment), await cluster.list(Node)]
  return {
    attachments: attachments
      .filter(({ status }) => status.attached)
      .map(({ spec }) => spec.nodeName)
      .toSorted(),
    nodes: nodes
      .filter(({ status }) => status.volumesAttached?.some(({ name }) => name === DISK))
      .map(({ metadata }) => metadata.name!),
  }
}

const ON = (...nodes: string[]) => ({ attachments: nodes, nodes })
/** What a pod was told, as often as it was. */
const told = async (cluster: Cluster, pod: string) =>
  (await cluster.list(Event))
    .filter(({ involvedObject, reason }) => involvedObject.name === pod && reason?.includes("AttachVolume"))
    .flatMap(({ type, reason, message, count = 1 }) =>
      Array.from({ length: count }, () => `${type} ${reason}: ${message}`),
    )
/** Changes a pod, so that the controller looks at its node again. */
const touch = async (cluster: Cluster, pod: string) => {
  await cluster.client.patch(Pod, pod, { type: "merge", body: { metadata: { labels: { touched: "yes" } } } })
  await cluster.advance("10s")
}

test("nothing is attached to a node whose kubelet attaches volumes itself", async () => {
  await using cluster = await withDisk()
  const body = { metadata: { annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": null } } }
  await cluster.client.patch(Node, "node-0", { type: "merge", body })
  // when
  await use(cluster, "first", "node-0")
  await cluster.advance("10m")
  // then
  expect(await cluster.list(VolumeAttachment)).toEqual([])
})

describe("a volume of a CSI driver", () => {
  test("is attached to the node of its pod by a VolumeAttachment with upstream's name", async () => {
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    expect(await attached(cluster)).toEqual(ON("node-0"))
    expect(await cluster.get(VolumeAttachment, attachmentOn("node-0"))).toMatchObject({
      spec: { attacher: DRIVER, nodeName: "node-0", source: { persistentVolumeName: "disk" } },
    })
    await cluster.advance("1s")
    await touch(cluster, "a")
    expect(await told(cluster, "a")).toEqual([
      'Normal SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "disk" ',
    ])
  })

  test("is not attached if its driver attaches nothing", async () => {
    await using cluster = await withDisk()
    await cluster.client.create(CSIDriver, { metadata: { name: DRIVER }, spec: { attachRequired: false } })
    await use(cluster, "a", "node-0")
    await cluster.advance("1m")
    expect(await cluster.list(VolumeAttachment)).toEqual([])
    // and is attached when the driver says that it does after all
    await cluster.client.delete(CSIDriver, DRIVER)
    expect(await attached(cluster)).toEqual(ON("node-0"))
  })

  test("for one node is attached to one of two whose pods come at the same time", async () => {
    await using cluster = await withDisk()
    await Promise.all([use(cluster, "a", "node-0"), use(cluster, "b", "node-1")])
    await cluster.advance("1m")
    expect(await cluster.list(VolumeAttachment)).toHaveLength(1)
  })

  test("is detached when its node has unmounted it, and not before", async () => {
    // given a pod whose node has mounted the volume
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    await mounts(cluster, "node-0", [DISK])
    // when the pod is gone
    await forget(cluster, "a")
    await cluster.advance("10m")
    expect(await attached(cluster)).toEqual(ON("node-0"))
    await mounts(cluster, "node-0", [])
    // then
    expect(await attached(cluster)).toEqual(ON())
    expect(await cluster.list(VolumeAttachment)).toEqual([])
  })

  test("tells pods why it cannot be attached, once", async () => {
    await using cluster = await withDisk({ failsWith: "rpc error: code = Internal desc = no disk" })
    await use(cluster, "a", "node-0")
    await cluster.advance("1m")
    expect(await told(cluster, "a")).toEqual([
      'Warning FailedAttachVolume: AttachVolume.Attach failed for volume "disk" : rpc error: code = Internal desc = no disk',
    ])
  })

  test("can be on several nodes only with an access mode for many", async () => {
    await using cluster = await withDisk({ accessMode: "ReadWriteMany" })
    await use(cluster, "a", "node-0")
    await use(cluster, "b", "node-1")
    expect(await attached(cluster)).toEqual(ON("node-0", "node-1"))
  })

  test("for one node gives pods of another an event with the pods that have it, and comes when they are gone", async () => {
    // given
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    await use(cluster, "b", "node-1")
    await cluster.advance("1m")
    // then
    expect(await attached(cluster)).toEqual(ON("node-0"))
    expect(await told(cluster, "b")).toEqual([
      'Warning FailedAttachVolume: Multi-Attach error for volume "disk" Volume is already used by pod(s) a',
    ])
    // and once
    await touch(cluster, "b")
    expect(await told(cluster, "b")).toHaveLength(1)
    // when
    await forget(cluster, "a")
    // then
    expect(await attached(cluster)).toEqual(ON("node-1"))
    // and a later pod is told too, if the same happens again
    await forget(cluster, "b")
    await use(cluster, "c", "node-0")
    await cluster.settle()
    await use(cluster, "d", "node-1")
    await cluster.advance("1m")
    expect(await told(cluster, "d")).toHaveLength(1)
  })

  test("for one node is not kept from others by an attachment that could not be made", async () => {
    // given a node whose pod is gone before the volume could be attached
    await using cluster = await withDisk()
    const refused = await cluster.faults.requests({
      verb: "create",
      resource: "volumeattachments",
      error: "InternalError",
    })
    await use(cluster, "a", "node-0")
    await cluster.advance("1s")
    await forget(cluster, "a")
    await refused.end()
    // when
    await use(cluster, "b", "node-1")
    // then
    expect(await attached(cluster)).toEqual(ON("node-1"))
  })

  test("is attached also where another volume of the node cannot be", async () => {
    // given an attachment that is refused again and again
    await using cluster = await withDisk()
    await cluster.apply(disk("ReadWriteOnce", "refused", "other", "d-2"))
    const isRefused = (body: unknown) => JSON.stringify(body).includes('"persistentVolumeName":"refused"')
    await cluster.faults.requests({
      verb: "create",
      resource: "volumeattachments",
      error: ({ body }) => (isRefused(body) ? new ApiError("Forbidden", "not this one") : undefined),
    })
    await use(cluster, "first", "node-0", "other")
    await cluster.advance("1s")
    // when
    await use(cluster, "a", "node-0")
    // then
    expect(await attached(cluster)).toEqual(ON("node-0"))
  })

  test("of a lost node is detached after six minutes", async () => {
    // given a node with the volume that is lost, whose pod was deleted by force
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    await mounts(cluster, "node-0", [DISK])
    await using _lost = await cluster.faults.nodeLost("node-0")
    await cluster.advance("2m")
    await forget(cluster, "a")
    await use(cluster, "b", "node-1")
    // when
    await cluster.advance("5m59s")
    expect(await attached(cluster)).toEqual(ON("node-0"))
    await cluster.advance("2s")
    // then
    expect(await attached(cluster)).toEqual(ON("node-1"))
    expect((await told(cluster, "b"))[0]).toBe(
      'Warning FailedAttachVolume: Multi-Attach error for volume "disk" Volume is already exclusively attached to one node ' +
        "and can't be attached to another",
    )
  })

  test("of a deleted node that had it mounted is detached after six minutes too", async () => {
    // given
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    await mounts(cluster, "node-0", [DISK])
    await using _lost = await cluster.faults.nodeLost("node-0")
    await cluster.client.delete(Node, "node-0")
    await forget(cluster, "a")
    // when
    await cluster.advance("5m59s")
    expect(await cluster.list(VolumeAttachment)).toHaveLength(1)
    await cluster.advance("2s")
    // then
    expect(await cluster.list(VolumeAttachment)).toEqual([])
  })

  test("of a node that is out of service is detached at once", async () => {
    // given
    await using cluster = await withDisk()
    await use(cluster, "a", "node-0")
    await mounts(cluster, "node-0", [DISK])
    await using _lost = await cluster.faults.nodeLost("node-0")
    await cluster.advance("2m")
    // when
    const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }
    const { spec } = await cluster.get(Node, "node-0")
    const body = { spec: { taints: [...(spec.taints ?? []), taint] } }
    await cluster.client.patch(Node, "node-0", { type: "merge", body })
    await use(cluster, "b", "node-1")
    await cluster.advance("1s")
    // then
    expect(await attached(cluster)).toEqual(ON("node-1"))
    expect(await cluster.find(Pod, "a")).toBeUndefined()
  })

  test("of an attachment that somebody else has made is left alone", async () => {
    await using cluster = await withDisk()
    const source = { persistentVolumeName: "disk" }
    const spec = { attacher: "other.example.com", nodeName: "node-0", source }
    await cluster.client.create(VolumeAttachment, { metadata: { name: "by-hand" }, spec })
    await cluster.advance("10m")
    expect((await cluster.list(VolumeAttachment)).map(({ metadata }) => metadata.name)).toEqual(["by-hand"])
  })
})
