import { describe, expect, test } from "bun:test"
import { Event, PersistentVolume, PersistentVolumeClaim, Pod, startCluster } from "./testing.ts"

const claim = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
})
const pod = (volumes: readonly object[]) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: "c", image: "web" }], volumes },
})
const using = (claimName: string) => [{ name: "data", persistentVolumeClaim: { claimName } }]
/** A StorageClass with WaitForFirstConsumer. */
const late = (provisioner: string, more: object = {}) => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "late" },
  provisioner,
  volumeBindingMode: "WaitForFirstConsumer",
  ...more,
})
const zone = (name: string) => ({ labels: { "topology.kubernetes.io/zone": name } })
const WITHOUT = { controllers: { disabled: ["simulated-volume-controller", "ephemeral-volume-controller"] } }

describe("a pod with a PersistentVolumeClaim", () => {
  test.each([
    {
      title: "the claim does not exist",
      before: [],
      volumes: using("data"),
      says: 'persistentvolumeclaim "data" not found',
    },
    {
      title: "the claim is not bound",
      before: [claim("data", { storageClassName: "" })],
      volumes: using("data"),
      says: "pod has unbound immediate PersistentVolumeClaims",
    },
    {
      title: "the claim's class has WaitForFirstConsumer, and nothing provisions its volumes",
      before: [late("kubernetes.io/no-provisioner"), claim("data", { storageClassName: "late" })],
      volumes: using("data"),
      says: "1 node(s) didn't find available persistent volumes to bind",
    },
    {
      title: "the claim of its ephemeral volume has not been created",
      before: [],
      volumes: [{ name: "own", ephemeral: { volumeClaimTemplate: { spec: claim("x").spec } } }],
      says: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-own"',
    },
  ])("stays Pending while $title, and its condition says so", async ({ before, volumes, says }) => {
    // given
    await using cluster = await startCluster({ nodes: 1, components: WITHOUT })
    await cluster.apply(before)
    // when
    await cluster.apply(pod(volumes))
    await cluster.advance("1m")
    // then
    const found = await cluster.get(Pod, "p")
    expect(found.spec.nodeName ?? "").toBe("")
    expect(String(await cluster.explain("p"))).toContain(says)
  })

  test("runs when its claim is bound, on a node that can reach the volume", async () => {
    // given a volume that only one node reaches, which is not the one that would be chosen
    await using cluster = await startCluster({ nodes: 3 })
    await cluster.apply([
      {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name: "disk" },
        spec: {
          capacity: { storage: "5Gi" },
          accessModes: ["ReadWriteOnce"],
          storageClassName: "",
          hostPath: { path: "/disk" },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["node-2"] }] },
              ],
            },
          },
        },
      },
      pod(using("data")),
    ])
    await cluster.advance("30s")
    expect((await cluster.get(Pod, "p")).spec.nodeName ?? "").toBe("")
    // when the claim comes
    await cluster.apply(claim("data", { storageClassName: "" }))
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    expect((await cluster.get(Pod, "p")).spec.nodeName).toBe("node-2")
    expect((await cluster.get(PersistentVolumeClaim, "data")).spec.volumeName).toBe("disk")
  })

  test("gets a volume from the simulated nodes, which is deleted with the claim", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    // when
    await cluster.apply([claim("data"), pod(using("data"))])
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    const [volume] = await cluster.list(PersistentVolume)
    expect(volume!.status.phase).toBe("Bound")
    expect((await cluster.get(PersistentVolumeClaim, "data")).status).toMatchObject({
      phase: "Bound",
      capacity: { storage: "1Gi" },
    })
    await cluster.delete(Pod, "p")
    await cluster.delete(PersistentVolumeClaim, "data")
    await cluster.eventually(PersistentVolume, {}, (volumes) => volumes.length === 0)
  })

  test("gets a volume in the zone of its node if the class has WaitForFirstConsumer", async () => {
    // given a claim that nobody uses
    await using cluster = await startCluster({ nodes: [zone("a"), { ...zone("b"), capacity: { cpu: 64 } }] })
    await cluster.apply([late("example.com/disks"), claim("data", { storageClassName: "late" })])
    await cluster.advance("10m")
    expect((await cluster.get(PersistentVolumeClaim, "data")).status.phase).toBe("Pending")
    expect((await cluster.list(Event)).map(({ reason }) => reason)).toContain("WaitForFirstConsumer")
    // when a pod comes that only one node has room for
    const { spec } = pod(using("data"))
    const large = { ...spec.containers[0]!, resources: { requests: { cpu: "32" } } }
    await cluster.apply({ ...pod(using("data")), spec: { ...spec, containers: [large] } })
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    expect((await cluster.get(PersistentVolumeClaim, "data")).metadata.annotations).toMatchObject({
      "volume.kubernetes.io/selected-node": "node-1",
    })
    const [volume] = await cluster.list(PersistentVolume)
    expect(volume!.spec.nodeAffinity?.required?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: "topology.kubernetes.io/zone", operator: "In", values: ["b"] }] },
    ])
  })

  test("gets an existing volume that its node can reach, a different one for each claim", async () => {
    // given two volumes, of which the smaller is on the other node
    await using cluster = await startCluster({ nodes: 2 })
    const disk = (name: string, node: string, storage: string) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name },
      spec: {
        capacity: { storage },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "late",
        hostPath: { path: "/disk", type: "DirectoryOrCreate" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] },
            ],
          },
        },
      },
    })
    const disks = [disk("a-1", "node-0", "1Gi"), disk("b-1", "node-1", "2Gi"), disk("b-2", "node-1", "3Gi")]
    await cluster.apply([late("kubernetes.io/no-provisioner"), ...disks])
    await cluster.apply(["data", "more"].map((name) => claim(name, { storageClassName: "late" })))
    // when
    await cluster.apply(
      pod(["data", "more"].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))),
    )
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    expect((await cluster.get(Pod, "p")).spec.nodeName).toBe("node-1")
    const bound = (await cluster.list(PersistentVolumeClaim)).map(({ spec: { volumeName } }) => volumeName)
    expect(new Set(bound)).toEqual(new Set(["b-1", "b-2"]))
  })

  test("is not scheduled if nothing provisions volumes of its class", async () => {
    await using cluster = await startCluster({ nodes: [zone("a")] })
    const onlyB = [{ matchLabelExpressions: [{ key: "topology.kubernetes.io/zone", values: ["b"] }] }]
    await cluster.apply([
      late("example.com/disks", { allowedTopologies: onlyB }),
      claim("data", { storageClassName: "late" }),
      pod(using("data")),
    ])
    expect(String(await cluster.explain("p"))).toContain("didn't find available persistent volumes to bind")
    // when a node comes in that zone
    await cluster.addNode({ ...zone("b") })
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
  })

  test("is scheduled again if the update of its claim is refused, and is no longer waited for when the scheduler stops", async () => {
    await using cluster = await startCluster({ nodes: 1, components: WITHOUT })
    await using _refusal = await cluster.faults.requests({
      user: "system:kube-scheduler",
      verb: "update",
      resource: "persistentvolumeclaims",
      error: "InternalError",
      times: 2,
    })
    await cluster.apply([late("example.com/disks"), claim("data", { storageClassName: "late" }), pod(using("data"))])
    await cluster.eventually(
      PersistentVolumeClaim,
      {},
      ([data]) => data!.metadata.annotations?.["volume.kubernetes.io/selected-node"] === "node-0",
    )
    expect((await cluster.get(Pod, "p")).spec.nodeName ?? "").toBe("")
    // when nobody makes the volume, the pod goes, and another of its name comes
    await cluster.delete(Pod, "p")
    await cluster.apply(pod(using("data")))
    await cluster.advance("15m")
    expect((await cluster.get(Pod, "p")).spec.nodeName ?? "").toBe("")
  })

  test("stays Pending while another pod has its claim with ReadWriteOncePod", async () => {
    // given
    await using cluster = await startCluster({ nodes: 2 })
    const named = (name: string) => ({ ...pod(using("data")), metadata: { name } })
    await cluster.apply([claim("data", { accessModes: ["ReadWriteOncePod"] }), named("first")])
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    // when
    await cluster.apply(named("second"))
    await cluster.advance("1m")
    // then
    expect(String(await cluster.explain("second"))).toContain(
      "2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    )
    await cluster.delete(Pod, "first")
    await cluster.eventually(Pod, { phase: "Running" }, ([only]) => only?.metadata.name === "second")
  })

  test("is scheduled again if the node that was selected for its claim is gone", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1 })
    const chosen = { "volume.kubernetes.io/selected-node": "gone" }
    // when
    await cluster.apply([{ ...claim("data"), metadata: { name: "data", annotations: chosen } }, pod(using("data"))])
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    expect((await cluster.get(PersistentVolumeClaim, "data")).metadata.annotations).toMatchObject({
      "volume.kubernetes.io/selected-node": "node-0",
    })
  })

  test("is scheduled to the zone in the label of its volume", async () => {
    // given
    await using cluster = await startCluster({ nodes: [zone("a"), zone("b")] })
    const disk = (zones: string) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "disk", labels: { "topology.kubernetes.io/zone": zones } },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "",
        hostPath: { path: "/disk", type: "DirectoryOrCreate" },
      },
    })
    // when
    await cluster.apply([disk("b__c"), claim("data", { storageClassName: "" }), pod(using("data"))])
    // then
    await cluster.eventually(Pod, { phase: "Running" }, (pods) => pods.length === 1)
    expect((await cluster.get(Pod, "p")).spec.nodeName).toBe("node-1")
  })
})
