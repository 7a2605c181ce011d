import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { ClusterRole } from "../../../pkg/api/rbac/v1/clusterrole.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const owning = (owner: KubeObject, blockOwnerDeletion = true) => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name!,
  uid: owner.metadata.uid!,
  blockOwnerDeletion,
})
const create = (cluster: Cluster, name: string, ...owners: KubeObject[]) =>
  cluster.client.create(ConfigMap, {
    metadata: { name, namespace: "default", ownerReferences: owners.map((owner) => owning(owner)) },
  })
/** Returns the names of the namespace's ConfigMaps, without that of the root certificate. */
const names = async ({ client }: Cluster) =>
  (await client.list(ConfigMap, { namespace: "default" })).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== "kube-root-ca.crt")

const nameOf = ({ metadata }: KubeObject) => metadata.name

describe("garbage collection", () => {
  test("deletes the dependents of a deleted owner, and their dependents", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    const child = await create(cluster, "child", owner)
    await create(cluster, "grandchild", child)
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Background" })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual([])
  })

  test("keeps an object that has another owner, and removes the reference to the deleted one", async () => {
    await using cluster = await startCluster()
    const [first, second] = [await create(cluster, "first"), await create(cluster, "second")]
    const child = await create(cluster, "child", first, second)
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, first.metadata)
    await cluster.settle()
    // then
    expect(
      (await cluster.client.get(ConfigMap, child.metadata)).metadata.ownerReferences?.map(({ name }) => name),
    ).toEqual(["second"])
  })

  test("deletes the owner last in the foreground", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    // a dependent that a finalizer holds
    const child = await cluster.client.create(ConfigMap, {
      metadata: {
        name: "child",
        namespace: "default",
        finalizers: ["example.com/hold"],
        ownerReferences: [owning(owner)],
      },
    })
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Foreground" })
    await cluster.settle()
    // then the owner waits for it
    expect(await names(cluster)).toEqual(["child", "owner"])
    // and goes with it
    await cluster.client.patch(ConfigMap, child.metadata, { type: "merge", body: { metadata: { finalizers: null } } })
    await cluster.settle()
    expect(await names(cluster)).toEqual([])
  })

  test("in the foreground deletes dependents that do not block at once, and does not wait for them", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    const held = (name: string, block: boolean) =>
      cluster.client.create(ConfigMap, {
        metadata: {
          name,
          namespace: "default",
          finalizers: ["example.com/hold"],
          ownerReferences: [owning(owner, block)],
        },
      })
    const [blocking, free] = [await held("blocking", true), await held("free", false)]
    await cluster.client.create(ConfigMap, {
      metadata: { name: "loose", namespace: "default", ownerReferences: [owning(owner, false)] },
    })
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Foreground" })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual(["blocking", "free", "owner"])
    for (const { metadata } of [blocking, free])
      expect((await cluster.client.get(ConfigMap, metadata)).metadata.deletionTimestamp).toBeDefined()
    // when the one that blocks is gone
    await cluster.client.patch(ConfigMap, blocking.metadata, {
      type: "merge",
      body: { metadata: { finalizers: null } },
    })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual(["free"])
  })

  test("removes the owner reference of dependents with propagation policy Orphan", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    const child = await create(cluster, "child", owner)
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Orphan" })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual(["child"])
    expect((await cluster.client.get(ConfigMap, child.metadata)).metadata.ownerReferences ?? []).toEqual([])
  })

  test("deletes a circle of owners once one of them is deleted in the foreground", async () => {
    await using cluster = await startCluster()
    const [a, b] = [await create(cluster, "a"), await create(cluster, "b")]
    const own = (object: KubeObject, owner: KubeObject) =>
      cluster.client.patch(ConfigMap, object.metadata, {
        type: "merge",
        body: { metadata: { ownerReferences: [owning(owner)] } },
      })
    await own(a, b)
    await own(b, a)
    await cluster.settle()
    // when
    await cluster.client.delete(ConfigMap, a.metadata, { propagationPolicy: "Foreground" })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual([])
  })

  test("treats an owner of the same name with another UID as deleted", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    // when
    await cluster.client.create(Secret, {
      metadata: { name: "child", namespace: "default", ownerReferences: [{ ...owning(owner), uid: "another" }] },
    })
    await cluster.settle()
    // then
    expect((await cluster.client.list(Secret, { namespace: "default" })).items).toEqual([])
  })

  test("treats an owner with the right UID and another name or kind as absent", async () => {
    await using cluster = await startCluster()
    const owner = await create(cluster, "owner")
    const right = owning(owner)
    await create(cluster, "proper", owner)
    // when
    const wrong = [
      { ...right, name: "somebody-else" },
      { ...right, kind: "Secret" },
    ]
    for (const [i, reference] of wrong.entries())
      await cluster.client.create(ConfigMap, {
        metadata: { name: `wrong-${i}`, namespace: "default", ownerReferences: [reference] },
      })
    await cluster.settle()
    // then
    expect(await names(cluster)).toEqual(["owner", "proper"])
  })

  test.each(["the owner is there before", "the owner is seen later"])(
    "tells of owners in another namespace, and keeps a cluster-wide object for ever when %s",
    async (order) => {
      // given an owner in a namespace
      await using cluster = await startCluster()
      for (const name of ["one", "two"]) await cluster.client.create(Namespace, { metadata: { name } })
      const uid = "7c2e1d4a-0000-4000-8000-000000000001"
      const makeOwner = () =>
        cluster.client.create(ConfigMap, { metadata: { name: "owner", namespace: "one" } }).then(owning)
      const reference = order === "the owner is there before" ? await makeOwner() : undefined
      await cluster.settle()
      // when
      const ownerReferences = [reference ?? { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }]
      await cluster.client.create(ClusterRole, { metadata: { name: "whole", ownerReferences } })
      await cluster.client.create(ConfigMap, { metadata: { name: "child", namespace: "two", ownerReferences } })
      await cluster.advance("1h")
      // then the one in the other namespace is collected, the cluster-wide one is not
      expect((await cluster.client.list(ConfigMap, { namespace: "two" })).items.map(nameOf)).not.toContain("child")
      expect((await cluster.get(ClusterRole, "whole")).metadata.deletionTimestamp).toBeUndefined()
      if (reference === undefined) return
      const told = cluster
        .history({ kind: "Event" })
        .filter(({ type }) => type === "create")
        .map(({ object }) => object as Event)
        .filter(({ reason }) => reason === "OwnerRefInvalidNamespace")
      const text = (namespace: string) =>
        `ownerRef [v1/ConfigMap, namespace: ${namespace}, name: owner, uid: ${reference.uid}] ` +
        `does not exist in namespace "${namespace}"`
      expect(
        told.map(({ type, metadata, involvedObject, message }) => [
          type,
          metadata.namespace,
          involvedObject.name,
          message,
        ]),
      ).toEqual([
        ["Warning", "default", "whole", text("")],
        ["Warning", "two", "child", text("two")],
      ])
      // when the owner is deleted
      await cluster.client.delete(ConfigMap, { name: "owner", namespace: "one" })
      await cluster.advance("1h")
      // then
      expect((await cluster.get(ClusterRole, "whole")).metadata.deletionTimestamp).toBeUndefined()
    },
  )
})
