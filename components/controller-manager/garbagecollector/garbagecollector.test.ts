import { describe, expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Secret } from "../../../pkg/api/core/v1/secret.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { startControlPlane, type ControlPlane } from "../../../pkg/testing/control-plane.ts"

const owning = (owner: KubeObject, blockOwnerDeletion = true) => ({ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name!, uid: owner.metadata.uid!, blockOwnerDeletion })
const create = (plane: ControlPlane, name: string, ...owners: KubeObject[]) =>
  plane.client.create(ConfigMap, { metadata: { name, namespace: "default", ownerReferences: owners.map((owner) => owning(owner)) } })
/** Names in the namespace, but for the certificate that every namespace has. */
const names = async ({ client }: ControlPlane) => (await client.list(ConfigMap, { namespace: "default" })).items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt")

describe("garbage collection", () => {
  test("deletes the dependents of an owner that is gone, down to the last generation", async () => {
    await using plane = await startControlPlane()
    const owner = await create(plane, "owner")
    const child = await create(plane, "child", owner)
    await create(plane, "grandchild", child)
    await plane.clock.settle()
    // when
    await plane.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Background" })
    await plane.clock.settle()
    // then
    expect(await names(plane)).toEqual([])
  })

  test("keeps an object that has another owner, and drops the reference to the one that is gone", async () => {
    await using plane = await startControlPlane()
    const [first, second] = [await create(plane, "first"), await create(plane, "second")]
    const child = await create(plane, "child", first, second)
    await plane.clock.settle()
    // when
    await plane.client.delete(ConfigMap, first.metadata)
    await plane.clock.settle()
    // then
    expect((await plane.client.get(ConfigMap, child.metadata)).metadata.ownerReferences?.map(({ name }) => name)).toEqual(["second"])
  })

  test("deletes the owner last in the foreground", async () => {
    await using plane = await startControlPlane()
    const owner = await create(plane, "owner")
    // a dependent that a finalizer holds
    const child = await plane.client.create(ConfigMap, { metadata: { name: "child", namespace: "default", finalizers: ["example.com/hold"], ownerReferences: [owning(owner)] } })
    await plane.clock.settle()
    // when
    await plane.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Foreground" })
    await plane.clock.settle()
    // then the owner waits for it
    expect(await names(plane)).toEqual(["child", "owner"])
    // and goes with it
    await plane.client.patch(ConfigMap, child.metadata, { type: "merge", body: { metadata: { finalizers: null } } })
    await plane.clock.settle()
    expect(await names(plane)).toEqual([])
  })

  test("leaves dependents behind without their owner when they are to be orphaned", async () => {
    await using plane = await startControlPlane()
    const owner = await create(plane, "owner")
    const child = await create(plane, "child", owner)
    await plane.clock.settle()
    // when
    await plane.client.delete(ConfigMap, owner.metadata, { propagationPolicy: "Orphan" })
    await plane.clock.settle()
    // then
    expect(await names(plane)).toEqual(["child"])
    expect((await plane.client.get(ConfigMap, child.metadata)).metadata.ownerReferences ?? []).toEqual([])
  })

  test("deletes a circle of owners once one of them is deleted in the foreground", async () => {
    await using plane = await startControlPlane()
    const [a, b] = [await create(plane, "a"), await create(plane, "b")]
    const own = (object: KubeObject, owner: KubeObject) => plane.client.patch(ConfigMap, object.metadata, { type: "merge", body: { metadata: { ownerReferences: [owning(owner)] } } })
    await own(a, b)
    await own(b, a)
    await plane.clock.settle()
    // when
    await plane.client.delete(ConfigMap, a.metadata, { propagationPolicy: "Foreground" })
    await plane.clock.settle()
    // then
    expect(await names(plane)).toEqual([])
  })

  test("takes an owner of the same name with another UID for one that is gone", async () => {
    await using plane = await startControlPlane()
    const owner = await create(plane, "owner")
    // when
    await plane.client.create(Secret, { metadata: { name: "child", namespace: "default", ownerReferences: [{ ...owning(owner), uid: "another" }] } })
    await plane.clock.settle()
    // then
    expect((await plane.client.list(Secret, { namespace: "default" })).items).toEqual([])
  })
})
