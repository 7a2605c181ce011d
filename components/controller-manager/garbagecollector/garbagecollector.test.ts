import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
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
})
