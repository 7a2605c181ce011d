import { describe, expect, test } from "bun:test"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { OwnerReference } from "../../../pkg/apimachinery/meta.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { setClaimOwners } from "./claim-owners.ts"

const set = (whenDeleted: string, whenScaled: string, replicas: number) =>
  ({
    metadata: { name: "db", namespace: "default", uid: "set" },
    spec: {
      replicas,
      volumeClaimTemplates: [{ metadata: { name: "data" } }],
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
    },
  }) as unknown as StatefulSet
const pod = { metadata: { name: "db-1", namespace: "default", uid: "pod" } } as unknown as Pod

const ref = (kind: string, name: string, uid: string, controller = true): OwnerReference => ({
  apiVersion: kind === "Pod" ? "v1" : "apps/v1",
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion: controller,
})
const SET = ref("StatefulSet", "db", "set")
const POD = ref("Pod", "db-1", "pod")
const OTHER = ref("Deployment", "web", "other")
const FRIEND = ref("Deployment", "web", "friend", false)

/** Returns the owners of the claim data-db-1 afterwards, `kept` if they were not written, and the events' reasons. */
async function after(
  policy: readonly [whenDeleted: string, whenScaled: string, replicas: number],
  ownerReferences: readonly OwnerReference[],
): Promise<readonly [owners: readonly OwnerReference[] | "kept", reasons: readonly string[]]> {
  let owners: readonly OwnerReference[] | "kept" = "kept"
  const reasons: string[] = []
  const claim = { metadata: { name: "data-db-1", namespace: "default", ownerReferences } }
  const context = {
    informers: { of: () => ({ get: () => claim }) },
    client: {
      update(_: unknown, { metadata }: PersistentVolumeClaim) {
        owners = metadata.ownerReferences ?? []
        return Promise.resolve()
      },
    },
    events: { event: (_: unknown, _type: string, reason: string) => void reasons.push(reason) },
  } as unknown as ReconcileContext
  await setClaimOwners(set(...policy), pod, 1, context)
  return [owners, reasons]
}

const CONFLICT = ["ConflictingController"]

describe("the owners of a claim", () => {
  test.each<[string, Parameters<typeof after>[0], OwnerReference[], OwnerReference[] | "kept", string[]]>([
    ["retained lose the set and the pod", ["Retain", "Retain", 2], [SET, POD, FRIEND], [FRIEND], []],
    ["retained may have any controller", ["Retain", "Retain", 2], [OTHER], "kept", []],
    ["deleted with the set get the set", ["Delete", "Retain", 2], [FRIEND], [FRIEND, SET], []],
    ["that are right are kept", ["Delete", "Retain", 2], [SET], "kept", []],
    ["whose set does not control are mended", ["Delete", "Retain", 2], [{ ...SET, controller: false }], [SET], []],
    ["of a pod that goes get the pod", ["Delete", "Delete", 1], [SET], [POD], []],
    ["of a pod that stays get the set", ["Delete", "Delete", 2], [POD], [SET], []],
    ["of a pod that goes, with a retaining set", ["Retain", "Delete", 1], [], [POD], []],
    ["with another controller are left alone", ["Delete", "Retain", 2], [OTHER], "kept", []],
    ["with another controller lose the set", ["Delete", "Retain", 2], [OTHER, SET], [OTHER], CONFLICT],
    ["of an earlier set are left alone", ["Delete", "Delete", 2], [{ ...SET, uid: "before" }], "kept", []],
    ["of an earlier pod are left alone", ["Delete", "Delete", 2], [{ ...POD, uid: "before" }, SET], "kept", []],
  ])("%s", async (_, policy, before, owners, reasons) => {
    expect(await after(policy, before)).toEqual([owners, reasons])
  })

  test("are mended as soon as somebody changes them", async () => {
    // given a claim that goes with its set
    await using cluster = await startCluster({ nodes: 1 })
    await cluster.client.create(StatefulSet, {
      metadata: { name: "db", namespace: "default" },
      spec: {
        replicas: 1,
        serviceName: "db",
        selector: { matchLabels: { app: "db" } },
        template: { metadata: { labels: { app: "db" } }, spec: { containers: [{ name: "main", image: "db" }] } },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" },
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    })
    await cluster.settle()
    const name = { name: "data-db-0", namespace: "default" }
    const { ownerReferences = [] } = (await cluster.get(PersistentVolumeClaim, name)).metadata
    expect(ownerReferences.map(({ kind, controller }) => [kind, controller])).toEqual([["StatefulSet", true]])
    // when
    await cluster.client.patch(PersistentVolumeClaim, name, {
      type: "merge",
      body: { metadata: { ownerReferences: [{ ...ownerReferences[0], controller: false }] } },
    })
    await cluster.settle()
    // then
    expect((await cluster.get(PersistentVolumeClaim, name)).metadata.ownerReferences).toEqual(ownerReferences)
  })
})
