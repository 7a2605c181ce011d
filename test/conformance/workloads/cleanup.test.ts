/** What is deleted because of another deletion: dependents, contents of namespaces, volumes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import {
  APPS,
  condition,
  makeNamespace,
  NS,
  podsOf,
  podSpec,
  running,
  selected,
  startWorkloadCluster,
  template,
} from "./workload-cluster.ts"

let cluster: ConformanceCluster
beforeAll(async () => {
  cluster = await startWorkloadCluster()
})
afterAll(() => cluster.stop())

describe("the garbage collector", () => {
  const rc = (name: string, replicas = 2) => ({
    metadata: { name },
    spec: { replicas, selector: { app: name }, template: template(name) },
  })
  const path = `${NS}/replicationcontrollers`

  test("deletes dependents, orphans them, or lets the owner wait, as the propagation policy says", async () => {
    for (const name of ["gc-bg", "gc-orphan", "gc-fg"]) await cluster.post(path, rc(name))
    for (const name of ["gc-bg", "gc-orphan", "gc-fg"]) await cluster.untilList(podsOf(name), running(2))
    await cluster.delete(`${path}/gc-bg`, { propagationPolicy: "Background" })
    await cluster.untilList(podsOf("gc-bg"), (pods) => pods.length === 0)
    await cluster.delete(`${path}/gc-orphan`, { propagationPolicy: "Orphan" })
    await cluster.until(`${path}/gc-orphan`, (found) => found === undefined)
    const orphans = await cluster.untilList(podsOf("gc-orphan"), (pods) =>
      pods.every(({ metadata }) => metadata.ownerReferences === undefined),
    )
    expect(orphans).toHaveLength(2)
    const waiting = await cluster.delete(`${path}/gc-fg`, { propagationPolicy: "Foreground" })
    expect(waiting.metadata.finalizers ?? ["foregroundDeletion"]).toContain("foregroundDeletion")
    await cluster.until(`${path}/gc-fg`, (found) => found === undefined)
    expect((await cluster.get(podsOf("gc-fg"))).items).toEqual([])
  })

  test("orphans the pods of Jobs and ReplicationControllers by default", async () => {
    const jobs = `/apis/batch/v1/${NS.slice("/api/v1/".length)}/jobs`
    const job = { template: { ...template("gc-job"), spec: { ...podSpec(), restartPolicy: "Never" } } }
    await cluster.post(path, rc("gc-rc", 1))
    await cluster.post(jobs, { metadata: { name: "gc-job" }, spec: job })
    for (const [owner, name] of [
      [path, "gc-rc"],
      [jobs, "gc-job"],
    ] as const) {
      await cluster.untilList(podsOf(name), running(1))
      await cluster.delete(`${owner}/${name}`)
      await cluster.until(`${owner}/${name}`, (found) => found === undefined)
      const [pod] = (await cluster.get(podsOf(name))).items
      expect(pod?.metadata).toMatchObject({ labels: { app: name } })
      expect([pod?.metadata.ownerReferences, pod?.metadata.deletionTimestamp]).toEqual([undefined, undefined])
    }
  })

  test("deletes or orphans the ReplicaSet of a Deployment", async () => {
    for (const [name, propagationPolicy, left] of [
      ["gc-dep", "Background", 0],
      ["gc-dep-orphan", "Orphan", 1],
    ] as const) {
      await cluster.post(`${APPS}/deployments`, { metadata: { name }, spec: { replicas: 2, ...selected(name) } })
      const sets = `${APPS}/replicasets?labelSelector=app%3D${name}`
      await cluster.untilList(sets, (found) => found.length === 1)
      await cluster.delete(`${APPS}/deployments/${name}`, { propagationPolicy })
      await cluster.until(`${APPS}/deployments/${name}`, (found) => found === undefined)
      await cluster.untilList(
        sets,
        (found) => found.length === left && found.every(({ metadata }) => metadata.ownerReferences === undefined),
      )
    }
  })

  test("keeps dependents with another owner, and deletes cycles of owners", async () => {
    await cluster.post(path, rc("gc-going"))
    const stays = await cluster.post(path, rc("gc-stays", 0))
    const [shared] = await cluster.untilList(podsOf("gc-going"), running(2))
    await cluster.patch(`${NS}/pods/${shared!.metadata.name}`, "strategic", {
      metadata: {
        ownerReferences: [
          { apiVersion: "v1", kind: "ReplicationController", name: "gc-stays", uid: stays.metadata.uid },
        ],
      },
    })
    await cluster.delete(`${path}/gc-going`, { propagationPolicy: "Foreground" })
    await cluster.until(`${path}/gc-going`, (found) => found === undefined)
    expect(
      (await cluster.get(`${NS}/pods/${shared!.metadata.name}`)).metadata.ownerReferences?.map(({ name }) => name),
    ).toEqual(["gc-stays"])

    const pods: Loose[] = []
    for (const name of ["circle1", "circle2", "circle3"])
      pods.push(await cluster.post(`${NS}/pods`, { metadata: { name, labels: { app: "circle" } }, spec: podSpec() }))
    const ownedBy = (i: number) => ({
      metadata: {
        ownerReferences: [
          {
            apiVersion: "v1",
            kind: "Pod",
            name: pods[i]!.metadata.name,
            uid: pods[i]!.metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
    })
    for (const [i, pod] of pods.entries())
      await cluster.patch(`${NS}/pods/${pod.metadata.name}`, "merge", ownedBy((i + 2) % 3))
    await cluster.delete(`${NS}/pods/circle1`, { propagationPolicy: "Foreground" })
    await cluster.untilList(podsOf("circle"), (left) => left.length === 0)
  })
})

describe("a namespace that is deleted", () => {
  test("is deleted with its pods and Services, and can be created again", async () => {
    const ns = await makeNamespace(cluster, "nsdelete")
    await cluster.post(`${ns}/pods`, { metadata: { name: "p", labels: { app: "ns" } }, spec: podSpec() })
    await cluster.post(`${ns}/services`, { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } })
    await cluster.untilList(podsOf("ns", ns), running(1))
    await cluster.delete("/api/v1/namespaces/nsdelete")
    await cluster.until("/api/v1/namespaces/nsdelete", (found) => found === undefined)
    await makeNamespace(cluster, "nsdelete")
    expect([(await cluster.get(`${ns}/pods`)).items, (await cluster.get(`${ns}/services`)).items]).toEqual([[], []])
  })

  test("deletes pods first, and waits for them", async () => {
    const ns = await makeNamespace(cluster, "ordered")
    await cluster.post(`${ns}/configmaps`, { metadata: { name: "cm" } })
    await cluster.post(`${ns}/pods`, {
      metadata: { name: "p", finalizers: ["e2e.example.com/finalizer"] },
      spec: podSpec(),
    })
    await cluster.delete("/api/v1/namespaces/ordered")
    const waiting = await cluster.until(
      "/api/v1/namespaces/ordered",
      (found) =>
        condition(found, "NamespaceContentRemaining")?.status === "True" &&
        condition(found, "NamespaceFinalizersRemaining")?.status === "True",
    )
    expect(condition(waiting, "NamespaceDeletionContentFailure")?.status).not.toBe("True")
    expect((await cluster.get(`${ns}/pods/p`)).metadata.deletionTimestamp).toBeTruthy()
    expect((await cluster.get(`${ns}/configmaps/cm`)).metadata.deletionTimestamp).toBeUndefined()
    await cluster.patch(`${ns}/pods/p`, "merge", { metadata: { finalizers: null } })
    await cluster.until("/api/v1/namespaces/ordered", (found) => found === undefined)
  })
})

test("volumes and claims that are not in use are removed when they are deleted", async () => {
  const [claims, volumes, classes] = [
    `${NS}/persistentvolumeclaims`,
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/volumeattributesclasses",
  ]
  await cluster.post(volumes, {
    metadata: { name: "pv" },
    spec: {
      storageClassName: "none",
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      hostPath: { path: "/tmp/pv" },
    },
  })
  await cluster.post(claims, {
    metadata: { name: "pvc" },
    spec: { storageClassName: "none", accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  })
  await cluster.post(classes, { metadata: { name: "vac" }, driverName: "d.example.com", parameters: { a: "b" } })
  for (const path of [`${claims}/pvc`, `${volumes}/pv`, `${classes}/vac`]) {
    expect((await cluster.get(path)).metadata.finalizers).toHaveLength(1)
    await cluster.delete(path)
    await cluster.until(path, (found) => found === undefined)
  }
})
