import { describe, expect, test } from "bun:test"
import { PersistentVolume, PersistentVolumeClaim, Pod, startCluster } from "./testing.ts"

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
const WITHOUT = { controllers: { disabled: ["simulated-volume-controller"] } }

describe("a pod with a claim", () => {
  test.each([
    { title: "there is none", before: [], volumes: using("data"), says: 'persistentvolumeclaim "data" not found' },
    {
      title: "it is not bound",
      before: [claim("data")],
      volumes: using("data"),
      says: "pod has unbound immediate PersistentVolumeClaims",
    },
    {
      title: "it waits for its first consumer",
      before: [
        {
          apiVersion: "storage.k8s.io/v1",
          kind: "StorageClass",
          metadata: { name: "late" },
          provisioner: "example.com/disks",
          volumeBindingMode: "WaitForFirstConsumer",
        },
        claim("data", { storageClassName: "late" }),
      ],
      volumes: using("data"),
      says: "1 node(s) didn't find available persistent volumes to bind",
    },
    {
      title: "its own has not been made",
      before: [],
      volumes: [{ name: "own", ephemeral: { volumeClaimTemplate: { spec: claim("x").spec } } }],
      says: 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-own"',
    },
  ])("waits while $title, and says so", async ({ before, volumes, says }) => {
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

  test("runs when its claim is bound, and goes where the volume is", async () => {
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

  test("is given a volume by the simulated nodes, which goes with the claim", async () => {
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
})
