import { expect, test } from "bun:test"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { VolumeAttributesClass } from "../../../pkg/api/storage/v1/volumeattributesclass.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { Controller, ReconcileContext } from "../../../pkg/controller/controller.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { attributesClassProtection, claimProtection, volumeProtection } from "./protection.ts"

/** The cases of upstream's tests: pkg/controller/volume/{pvcprotection,pvprotection,vacprotection}/*_test.go. */
interface Row {
  readonly title: string
  readonly controller: "claims" | "volumes" | "classes"
  /** The object `one` in short: whether it is being deleted, and whether it has the finalizer. */
  readonly given: "live" | "live held" | "going held" | "going"
  readonly phase?: string
  readonly others?: readonly KubeObject[]
  /** Objects that the informers do not show yet. */
  readonly unseen?: readonly KubeObject[]
  /** Whether the API cannot be asked for pods. */
  readonly listFails?: true
  readonly wants: "held" | "free" | "unchanged" | "an error"
}

const CONTROLLERS = {
  claims: { controller: claimProtection, resource: PersistentVolumeClaim, finalizer: "kubernetes.io/pvc-protection" },
  volumes: { controller: volumeProtection, resource: PersistentVolume, finalizer: "kubernetes.io/pv-protection" },
  classes: {
    controller: attributesClassProtection,
    resource: VolumeAttributesClass,
    finalizer: "kubernetes.io/vac-protection",
  },
} as unknown as Record<Row["controller"], { controller: Controller; resource: Resource; finalizer: string }>

const pod = (volume: object, { nodeName = "n", ...metadata }: Record<string, unknown> = {}) =>
  ({
    kind: "Pod",
    metadata: { namespace: "default", name: "p", uid: "pod-uid", ...metadata },
    spec: { nodeName, volumes: [{ name: "v", ...volume }] },
    status: {},
  }) as unknown as KubeObject
const using = (claimName: string) => ({ persistentVolumeClaim: { claimName } })
const owner = (name: string, more: object = {}) => pod({ name: "e", ephemeral: {} }, { name, ...more })
const claimWith = (spec: object, status: object = {}) =>
  ({ kind: "PersistentVolumeClaim", metadata: { name: "c" }, spec, status }) as unknown as KubeObject
const volumeWith = (spec: object) =>
  ({ kind: "PersistentVolume", metadata: { name: "v" }, spec, status: {} }) as unknown as KubeObject
const named = { volumeAttributesClassName: "one" }

const rows: readonly Row[] = [
  ...(["claims", "volumes", "classes"] as const).flatMap((controller): readonly Row[] => [
    { title: "without the finalizer gets it", controller, given: "live", wants: "held" },
    { title: "with the finalizer keeps it", controller, given: "live held", wants: "unchanged" },
    {
      title: "that is not in use loses the finalizer when it is deleted",
      controller,
      given: "going held",
      wants: "free",
    },
    {
      title: "that is being deleted does not get the finalizer any more",
      controller,
      given: "going",
      wants: "unchanged",
    },
  ]),
  {
    title: "of a pod on a node keeps the finalizer",
    controller: "claims",
    given: "going held",
    others: [pod(using("one"))],
    wants: "unchanged",
  },
  {
    title: "of a pod that has ended but still exists keeps the finalizer",
    controller: "claims",
    given: "going held",
    others: [pod(using("one"), { deletionTimestamp: "2030-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 })],
    wants: "unchanged",
  },
  {
    title: "of a pod without a node loses the finalizer",
    controller: "claims",
    given: "going held",
    others: [pod(using("one"), { nodeName: "" })],
    wants: "free",
  },
  {
    title: "loses the finalizer though pods have other volumes",
    controller: "claims",
    given: "going held",
    others: [pod(using("another")), pod({ emptyDir: {} })],
    wants: "free",
  },
  {
    title: "of a pod that the informer does not show yet keeps the finalizer",
    controller: "claims",
    given: "going held",
    unseen: [pod(using("one"))],
    wants: "unchanged",
  },
  {
    title: "keeps the finalizer while the API cannot be asked for pods",
    controller: "claims",
    given: "going held",
    listFails: true,
    wants: "an error",
  },
  {
    title: "that is Bound keeps the finalizer",
    controller: "volumes",
    given: "going held",
    phase: "Bound",
    wants: "unchanged",
  },
  {
    title: "that is Released loses the finalizer",
    controller: "volumes",
    given: "going held",
    phase: "Released",
    wants: "free",
  },
  {
    title: "that a volume has keeps the finalizer",
    controller: "classes",
    given: "going held",
    others: [volumeWith(named)],
    wants: "unchanged",
  },
  {
    title: "that a claim asks for keeps the finalizer",
    controller: "classes",
    given: "going held",
    others: [claimWith(named)],
    wants: "unchanged",
  },
  {
    title: "that a claim's status still has keeps the finalizer",
    controller: "classes",
    given: "going held",
    others: [claimWith({ volumeAttributesClassName: "next" }, { currentVolumeAttributesClassName: "one" })],
    wants: "unchanged",
  },
  {
    title: "that a claim is being changed to keeps the finalizer",
    controller: "classes",
    given: "going held",
    others: [claimWith({}, { modifyVolumeStatus: { targetVolumeAttributesClassName: "one", status: "InProgress" } })],
    wants: "unchanged",
  },
  {
    title: "loses the finalizer though others are in use",
    controller: "classes",
    given: "going held",
    others: [claimWith({ volumeAttributesClassName: "next" }), volumeWith({ volumeAttributesClassName: "next" })],
    wants: "free",
  },
]

test.each(rows.map((row) => ({ ...row, name: row.controller })))("$name: one $title", async (row) => {
  // given
  const { controller, resource, finalizer } = CONTROLLERS[row.controller]
  const one = {
    kind: resource.kind,
    metadata: {
      name: "one",
      ...(row.controller === "claims" ? { namespace: "default" } : {}),
      finalizers: ["other", ...(row.given.endsWith("held") ? [finalizer] : [])],
      ...(row.given.startsWith("going") ? { deletionTimestamp: "2030-01-01T00:00:00Z" } : {}),
    },
    spec: {},
    status: { phase: row.phase ?? "Pending" },
  } as unknown as KubeObject
  // when
  const made = await lookAt(controller, one, row)
  // then
  const outcome = made instanceof Error ? "an error" : made === undefined ? "unchanged" : finalizersOf(made)
  expect(outcome).toBe(row.wants)

  function finalizersOf({ metadata: { finalizers = [] } }: KubeObject): string {
    expect(finalizers).toContain("other")
    return finalizers.includes(finalizer) ? "held" : "free"
  }
})

test.each([
  { title: "keeps the finalizer while its pod runs", metadata: {}, wants: undefined },
  {
    title: "loses the finalizer when its pod has ended, since the pod waits for the claim's deletion",
    metadata: { deletionTimestamp: "2030-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 },
    wants: [],
  },
  { title: "loses the finalizer when another pod has taken the name", metadata: { uid: "another" }, wants: [] },
])("the claim of an ephemeral volume $title", async ({ metadata, wants }) => {
  const claim = {
    kind: "PersistentVolumeClaim",
    metadata: {
      namespace: "default",
      name: "o-e",
      deletionTimestamp: "2030-01-01T00:00:00Z",
      finalizers: ["kubernetes.io/pvc-protection"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "o", uid: "pod-uid", controller: true }],
    },
    spec: {},
    status: {},
  } as unknown as KubeObject
  const made = await lookAt(claimProtection as unknown as Controller, claim, { others: [owner("o", metadata)] })
  expect((made as KubeObject | undefined)?.metadata.finalizers).toEqual(wants!)
})

test("an update of finalizers that fails is tried again", async () => {
  const claim = { kind: "PersistentVolumeClaim", metadata: { name: "one" }, spec: {}, status: {} }
  const refused = new Error("refused")
  const context = {
    client: { update: () => Promise.reject(refused) },
    informers: { of: () => ({ get: () => claim }) },
  } as unknown as ReconcileContext
  await expect(claimProtection.reconcile("one", context)).rejects.toBe(refused)
})

/** Reconciles an object once. Returns what the controller wrote or threw. */
async function lookAt(
  controller: Controller,
  one: KubeObject,
  { others = [], unseen = [], listFails }: Pick<Row, "others" | "unseen" | "listFails">,
): Promise<KubeObject | Error | undefined> {
  let written: KubeObject | undefined
  const shown = [one, ...others]
  const of = (kind: string, from: readonly KubeObject[]) => from.filter((object) => object.kind === kind)
  const context = {
    client: {
      update: (_: Resource, object: KubeObject) => Promise.resolve((written = object)),
      list: ({ kind }: Resource, { namespace }: { readonly namespace: string }) =>
        listFails
          ? Promise.reject(new Error("no answer"))
          : Promise.resolve({
              items: of(kind, [...shown, ...unseen]).filter(({ metadata }) => metadata.namespace === namespace),
            }),
    },
    informers: {
      of: ({ kind }: Resource) => ({
        get: (key: string) => of(kind, shown).find(({ metadata }) => keyFrom(metadata) === key),
        by: (index: { of(object: KubeObject): readonly string[] }, value: string) =>
          of(kind, shown).filter((object) => index.of(object).includes(value)),
      }),
    },
  } as unknown as ReconcileContext
  try {
    await controller.reconcile(keyFrom(one.metadata), context)
    return written
  } catch (err) {
    return err as Error
  }
}

test("a claim stays while a pod with it is on a node", async () => {
  // given a claim, and a pod that uses it
  await using cluster = await startCluster({ components: { scheduler: false } })
  const { client } = cluster
  const data = { name: "data", namespace: "default" }
  await client.create(PersistentVolumeClaim, {
    metadata: data,
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  })
  await client.create(Pod, {
    metadata: { name: "user", namespace: "default" },
    spec: {
      nodeName: "node-0",
      containers: [{ name: "main", image: "busybox" }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  })
  await cluster.settle()
  expect((await client.get(PersistentVolumeClaim, data)).metadata.finalizers).toEqual(["kubernetes.io/pvc-protection"])
  // when the claim is deleted
  await client.delete(PersistentVolumeClaim, data)
  await cluster.settle()
  expect((await client.get(PersistentVolumeClaim, data)).metadata.deletionTimestamp).toBeDefined()
  // then it goes with the pod
  await client.delete(Pod, { name: "user", namespace: "default" }, { gracePeriodSeconds: 0 })
  await cluster.settle()
  expect((await client.list(PersistentVolumeClaim)).items).toEqual([])
})
