import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startConformanceCluster, type ConformanceCluster } from "../cluster.ts"
import { NS, podOf } from "../kinds/kinds-in-depth.fixtures.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startConformanceCluster()
  await cluster.post("/api/v1/namespaces", { metadata: { name: "k" } })
  await cluster.post(`${NS}/serviceaccounts`, { metadata: { name: "default" } })
})
afterAll(() => cluster.stop())

const refused = async (method: string, path: string, body: unknown, type = "application/json") => {
  const { code, body: status } = await cluster.send(method, path, { body, type })
  return { code, reason: status.reason, message: status.message }
}
describe("Pods", () => {
  const pods = `${NS}/pods`
  test("increment generation with each change of their spec", async () => {
    const made = await cluster.post(pods, { ...podOf("gen"), metadata: { name: "gen", generation: 100 } })
    expect(made.metadata.generation).toBe(1)
    expect(
      (
        await cluster.patch(`${pods}/gen`, "strategic", {
          spec: { containers: [{ name: "c", image: "registry.example/c:2" }] },
        })
      ).metadata.generation,
    ).toBe(2)
    expect(
      (await cluster.patch(`${pods}/gen`, "merge", { spec: { activeDeadlineSeconds: 5000 } })).metadata.generation,
    ).toBe(3)
    const tolerations = (await cluster.get(`${pods}/gen`)).spec["tolerations"] as object[]
    expect(
      (
        await cluster.patch(`${pods}/gen`, "merge", {
          spec: {
            tolerations: [...tolerations, { key: "foo-", operator: "Exists" }].map((t, i, all) =>
              i === all.length - 1 ? { key: "foo", operator: "Exists" } : t,
            ),
          },
        })
      ).metadata.generation,
    ).toBe(4)
    expect(
      (await cluster.patch(`${pods}/gen`, "merge", { metadata: { labels: { a: "b" } } })).metadata.generation,
    ).toBe(4)
    expect(
      (
        await cluster.patch(`${pods}/gen/ephemeralcontainers`, "strategic", {
          spec: { ephemeralContainers: [{ name: "debugger", image: "busybox" }] },
        })
      ).metadata.generation,
    ).toBe(5)
    expect(
      await cluster.patch(`${pods}/gen/status`, "merge", {
        status: { observedGeneration: 5, conditions: [{ type: "Ready", status: "False", observedGeneration: 5 }] },
      }),
    ).toMatchObject({ metadata: { generation: 5 }, status: { observedGeneration: 5 } })
    expect((await cluster.post(`${pods}/gen/binding`, { target: { kind: "Node", name: "n1" } })).kind).toBe("Status")
    expect((await cluster.get(`${pods}/gen`)).metadata.generation).toBe(5)
    const deleted = await cluster.delete(`${pods}/gen`)
    expect(deleted.metadata).toMatchObject({ generation: 6, deletionGracePeriodSeconds: 30 })
    await cluster.delete(`${pods}/gen`, { gracePeriodSeconds: 0 })
  })

  test("get a QoS class from their requests and limits", async () => {
    const qos = async (name: string, resources: object) =>
      (await cluster.post(pods, podOf(name, {}, { resources }))).status["qosClass"]
    expect(
      await qos("q1", { requests: { cpu: "100m", memory: "100Mi" }, limits: { cpu: "100m", memory: "100Mi" } }),
    ).toBe("Guaranteed")
    expect(await qos("q2", { requests: { cpu: "100m" } })).toBe("Burstable")
    expect(await qos("q3", {})).toBe("BestEffort")
  })

  test("accept only few changes", async () => {
    await cluster.post(pods, podOf("few"))
    const change = await refused(
      "PATCH",
      `${pods}/few`,
      { spec: { nodeSelector: { a: "b" } } },
      "application/merge-patch+json",
    )
    expect(change.code).toBe(422)
    expect(change.message).toStartWith(
      'Pod "few" is invalid: spec: Forbidden: pod updates may not change fields other than ' +
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` " +
        "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 " +
        "if it was previously negative)",
    )
    expect(
      (
        await cluster.patch(`${pods}/few`, "strategic", {
          spec: { containers: [{ name: "c", image: "registry.example/c:2" }] },
        })
      ).spec,
    ).toMatchObject({ containers: [{ image: "registry.example/c:2" }] })
  })

  test("refuse invalid sysctls", async () => {
    const answer = await refused(
      "POST",
      pods,
      podOf("sysctl", {
        securityContext: {
          sysctls: [
            { name: "foo-", value: "bar" },
            { name: "kernel.shmmax", value: "100000000" },
            { name: "safe-and-unsafe", value: "100000000" },
            { name: "bar..", value: "42" },
          ],
        },
      }),
    )
    expect(answer.code).toBe(422)
    expect(answer.message).toContain('Invalid value: "foo-"')
    expect(answer.message).toContain('Invalid value: "bar.."')
    expect(answer.message).not.toContain("safe-and-unsafe")
    expect(answer.message).not.toContain("kernel.shmmax")
  })

  test("accept inline CSI volumes and ephemeral containers", async () => {
    const made = await cluster.post(
      pods,
      podOf(
        "csi",
        { volumes: [{ name: "v", csi: { driver: "inline.example.com", volumeAttributes: { a: "b" } } }] },
        { volumeMounts: [{ name: "v", mountPath: "/v" }] },
      ),
    )
    expect(made.spec["volumes"]).toMatchObject([{ name: "v", csi: { driver: "inline.example.com" } }, {}])
    const path = `${pods}/csi/ephemeralcontainers`
    const debugged = await cluster.put(path, {
      ...made,
      spec: {
        ...made.spec,
        ephemeralContainers: [{ name: "debug", image: "busybox", targetContainerName: "c", stdin: true, tty: true }],
      },
    })
    expect(debugged.spec["ephemeralContainers"]).toMatchObject([
      { name: "debug", imagePullPolicy: "Always", terminationMessagePath: "/dev/termination-log" },
    ])
    expect(
      (await refused("PATCH", path, { spec: { ephemeralContainers: null } }, "application/merge-patch+json")).message,
    ).toContain('existing ephemeral containers "debug" may not be removed')
    await cluster.delete(`${pods}?labelSelector=app%3Dcsi`, { gracePeriodSeconds: 0 })
    expect((await cluster.send("GET", `${pods}/csi`)).code).toBe(404)
  })
})

describe("Nodes", () => {
  test("are created, updated with their status, and deleted", async () => {
    const node = await cluster.post("/api/v1/nodes", {
      metadata: { name: "fake" },
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    })
    expect(node.status.conditions).toMatchObject([{ type: "Ready", status: "True" }])
    const patched = await cluster.patch("/api/v1/nodes/fake", "strategic", {
      metadata: { labels: { patched: "true" } },
    })
    expect(
      (
        await cluster.put("/api/v1/nodes/fake", {
          ...patched,
          metadata: { ...patched.metadata, labels: { ...patched.metadata.labels, updated: "true" } },
        })
      ).metadata.labels,
    ).toMatchObject({ updated: "true" })
    const tainted = await cluster.patch("/api/v1/nodes/fake", "strategic", {
      spec: { taints: [{ key: "a", effect: "NoSchedule" }] },
    })
    expect(tainted.spec["taints"]).toContainEqual({ key: "a", effect: "NoSchedule" })
    const status = await cluster.patch("/api/v1/nodes/fake/status", "strategic", {
      status: { conditions: [{ type: "Ready", status: "False" }], capacity: { "example.com/fakecpu": "1k" } },
    })
    expect(status.status).toMatchObject({
      conditions: [{ type: "Ready", status: "False" }],
      capacity: { "example.com/fakecpu": "1k" },
    })
    await cluster.delete("/api/v1/nodes?labelSelector=patched%3Dtrue")
    expect((await cluster.send("GET", "/api/v1/nodes/fake")).code).toBe(404)
  })
})

describe("PersistentVolumes and claims", () => {
  test("are protected by finalizers, and have a status that clients can write", async () => {
    const pv = await cluster.post("/api/v1/persistentvolumes", {
      metadata: { name: "pv1" },
      spec: {
        storageClassName: "sc",
        capacity: { storage: "2Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        volumeMode: "Filesystem",
        csi: { driver: "d.example.com", volumeHandle: "h" },
      },
    })
    expect([pv.metadata.finalizers, pv.status.phase]).toEqual([["kubernetes.io/pv-protection"], "Pending"])
    const pvc = await cluster.post(`${NS}/persistentvolumeclaims`, {
      metadata: { name: "pvc1" },
      spec: { storageClassName: "sc", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    })
    expect([pvc.metadata.finalizers, pvc.status.phase, pvc.spec["volumeMode"]]).toEqual([
      ["kubernetes.io/pvc-protection"],
      "Pending",
      "Filesystem",
    ])
    const patch = await cluster.patch(`${NS}/persistentvolumeclaims/pvc1/status`, "merge", {
      status: {
        conditions: [
          { type: "StatusPatched", status: "True", reason: "E2E patchedStatus", message: "Set from e2e test" },
        ],
      },
    })
    expect(patch.status.conditions).toHaveLength(1)
    const bound = await cluster.patch("/api/v1/persistentvolumes/pv1/status", "merge", {
      status: { message: "StatusPatched", reason: "E2E patchStatus" },
    })
    expect(bound.status).toMatchObject({ message: "StatusPatched", reason: "E2E patchStatus" })
    const updatedVolume = await cluster.put("/api/v1/persistentvolumes/pv1/status", {
      ...bound,
      status: { ...bound.status, message: "StatusUpdated", reason: "E2E updateStatus" },
    })
    expect(updatedVolume.status).toMatchObject({ message: "StatusUpdated", reason: "E2E updateStatus" })
    const claim = await cluster.get(`${NS}/persistentvolumeclaims/pvc1/status`)
    const updatedClaim = await cluster.put(`${NS}/persistentvolumeclaims/pvc1/status`, {
      ...claim,
      status: {
        ...claim.status,
        conditions: [{ type: "StatusUpdate", status: "True", reason: "E2E", message: "Set" }],
      },
    })
    expect(updatedClaim.status.conditions).toMatchObject([{ type: "StatusUpdate", status: "True" }])
    expect(
      (
        await refused(
          "PATCH",
          `${NS}/persistentvolumeclaims/pvc1`,
          { spec: { accessModes: ["ReadOnlyMany"] } },
          "application/merge-patch+json",
        )
      ).message,
    ).toContain(
      "spec: Forbidden: spec is immutable after creation except resources.requests and " +
        "volumeAttributesClassName for bound claims",
    )
    expect((await cluster.delete(`${NS}/persistentvolumeclaims/pvc1`)).metadata.deletionTimestamp).toBeTruthy()
  })
})
