import { describe, expect, test } from "bun:test"
import {
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  startCluster,
  type Cluster,
} from "../../cluster/testing/testing.ts"

/**
 * The behaviour that upstream's tests assert of the binder:
 * pkg/controller/volume/persistentvolume/{binder,delete}_test.go.
 */

const volume = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name, ...metadata },
  spec: {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    storageClassName: "",
    hostPath: { path: `/disks/${name}` },
    ...spec,
  },
})
const claim = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", ...metadata },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Gi" } },
    storageClassName: "",
    ...spec,
  },
})
const storageClass = (name: string, fields: object = {}) => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name },
  provisioner: "example.com/nobody",
  ...fields,
})
const reserved = (fields: object = {}) => ({ claimRef: { namespace: "default", name: "data", ...fields } })
const gold = { storageClassName: "gold" }
const big = (storage: string) => ({ capacity: { storage } })
const asks = (storage: string) => ({ resources: { requests: { storage } } })
const labels = (color: string) => ({ labels: { color } })

const NOBODY_PROVISIONS = {
  controllers: { disabled: ["simulated-volume-controller", "simulated-volume-reclaimer"] },
}

/** Each claim with its phase and volume, each volume with its phase and claim, and the reasons of events. */
async function stateOf(cluster: Cluster) {
  const claims = (await cluster.list(PersistentVolumeClaim)).map(
    ({ spec, status }) => `${status.phase} ${spec.volumeName ?? "-"}`,
  )
  const volumes = (await cluster.list(PersistentVolume)).map(
    ({ metadata, spec, status }) => `${metadata.name} ${status.phase} ${spec.claimRef?.name ?? "-"}`,
  )
  const events = (await cluster.list(Event)).map(({ reason, message }) => `${reason}: ${message}`)
  return { claims, volumes, events }
}

describe("a claim", () => {
  test.each([
    {
      title: "gets a volume that matches",
      given: [volume("a"), claim()],
      wants: { claims: ["Bound a"], volumes: ["a Bound data"] },
    },
    {
      title: "gets the smallest volume that is large enough",
      given: [volume("a", big("10Gi")), volume("b", big("2Gi")), volume("c", big("5Gi")), claim(asks("2Gi"))],
      wants: { claims: ["Bound b"], volumes: ["a Available -", "b Bound data", "c Available -"] },
    },
    {
      title: "gets the volume with the fewest access modes",
      given: [volume("a", { accessModes: ["ReadWriteOnce", "ReadOnlyMany"] }), volume("b", big("9Gi")), claim()],
      wants: { claims: ["Bound b"], volumes: ["a Available -", "b Bound data"] },
    },
    {
      title: "waits if every volume is too small, with an Event",
      given: [volume("a"), claim(asks("2Gi"))],
      wants: {
        claims: ["Pending -"],
        volumes: ["a Available -"],
        events: ["FailedBinding: no persistent volumes available for this claim and no storage class is set"],
      },
    },
    {
      title: "waits if no volume has its access mode",
      given: [volume("a"), claim({ accessModes: ["ReadWriteMany"] })],
      wants: { claims: ["Pending -"], volumes: ["a Available -"] },
    },
    {
      title: "waits for its provisioner if all volumes are of other classes",
      given: [storageClass("gold"), volume("a"), claim(gold)],
      wants: {
        claims: ["Pending -"],
        volumes: ["a Available -"],
        events: [
          "ExternalProvisioning: Waiting for a volume to be created either by the external provisioner " +
            "'example.com/nobody' or manually by the system administrator. If volume creation is delayed, please " +
            "verify that the provisioner is running and correctly registered.",
        ],
      },
    },
    {
      title: "of a class that does not exist waits, with an Event",
      given: [claim(gold)],
      wants: {
        claims: ["Pending -"],
        events: ['ProvisioningFailed: storageclass.storage.k8s.io "gold" not found'],
      },
    },
    {
      title: "of a class whose in-tree provisioner was removed from Kubernetes waits, with an Event",
      given: [storageClass("gold", { provisioner: "kubernetes.io/glusterfs" }), claim(gold)],
      wants: {
        claims: ["Pending -"],
        events: ["ProvisioningFailed: no volume plugin matched name: kubernetes.io/glusterfs"],
      },
    },
    {
      title: "of a class with WaitForFirstConsumer is left to the scheduler, though a volume matches",
      given: [storageClass("gold", { volumeBindingMode: "WaitForFirstConsumer" }), volume("a", gold), claim(gold)],
      wants: {
        claims: ["Pending -"],
        volumes: ["a Available -"],
        events: ["WaitForFirstConsumer: waiting for first consumer to be created before binding"],
      },
    },
    {
      title: "of a class with WaitForFirstConsumer gets a volume that is reserved for it",
      given: [
        storageClass("gold", { volumeBindingMode: "WaitForFirstConsumer" }),
        volume("a", { ...gold, ...reserved() }),
        claim(gold),
      ],
      wants: { claims: ["Bound a"], volumes: ["a Bound data"] },
    },
    {
      title: "gets only volumes that its selector matches",
      given: [
        volume("a", {}, labels("red")),
        volume("b", big("9Gi"), labels("blue")),
        claim({ selector: { matchLabels: { color: "blue" } } }),
      ],
      wants: { claims: ["Bound b"], volumes: ["a Available -", "b Bound data"] },
    },
    {
      title: "gets no filesystem if its volumeMode is Block",
      given: [volume("a"), claim({ volumeMode: "Block" })],
      wants: { claims: ["Pending -"], volumes: ["a Available -"] },
    },
    {
      title: "gets the volume that is reserved for it, though a smaller one matches",
      given: [volume("a"), volume("b", { ...big("9Gi"), ...reserved() }), claim()],
      wants: { claims: ["Bound b"], volumes: ["a Available -", "b Bound data"] },
    },
    {
      title: "does not get a volume that is reserved for another claim of its name",
      given: [volume("a", reserved({ uid: "another" })), claim()],
      wants: { claims: ["Pending -"], volumes: ["a Released data"] },
    },
    {
      title: "gets the volume that it names",
      given: [volume("a"), volume("b", big("9Gi")), claim({ volumeName: "b" })],
      wants: { claims: ["Bound b"], volumes: ["a Available -", "b Bound data"] },
    },
    {
      title: "waits for the volume that it names",
      given: [volume("a"), claim({ volumeName: "b" })],
      wants: { claims: ["Pending b"], volumes: ["a Available -"], events: [] },
    },
    {
      title: "gets an Event that says why the volume that it names does not match",
      given: [volume("a"), claim({ ...asks("2Gi"), volumeName: "a" })],
      wants: {
        claims: ["Pending a"],
        volumes: ["a Available -"],
        events: ['VolumeMismatch: Cannot bind to requested volume "a": requested PV is too small'],
      },
    },
    {
      title: "does not get the volume that it names if another claim has it",
      given: [volume("a", reserved({ name: "other" })), claim({ volumeName: "a" })],
      wants: {
        claims: ["Pending a"],
        volumes: ["a Available other"],
        events: ['FailedBinding: volume "a" already bound to a different claim.'],
      },
    },
  ])("$title", async ({ given, wants }) => {
    // given a class that is no default, as nothing is to be made here
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    // when
    await cluster.apply(given)
    await cluster.settle()
    // then
    expect(await stateOf(cluster)).toMatchObject(wants)
  })

  test("gets Events in the name of upstream's controller", async () => {
    // given
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    // when
    await cluster.apply(claim())
    await cluster.settle()
    // then
    const [event] = await cluster.list(Event)
    expect(event).toMatchObject({
      source: { component: "persistentvolume-controller" },
      reportingComponent: "persistentvolume-controller",
    })
  })

  test("that was created without a default class gets the default class that is created later", async () => {
    // given
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    const { name } = (await cluster.list(StorageClass))[0]!.metadata
    await cluster.delete(StorageClass, name!)
    const { storageClassName: _, ...spec } = claim().spec
    await cluster.apply({ ...claim(), spec })
    await cluster.settle()
    expect((await cluster.get(PersistentVolumeClaim, "data")).spec.storageClassName).toBeUndefined()
    // when
    await cluster.apply({
      ...storageClass("gold"),
      metadata: { name: "gold", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    })
    await cluster.settle()
    // then
    expect((await cluster.get(PersistentVolumeClaim, "data")).spec.storageClassName).toBe("gold")
  })

  test("is Lost when its volume is deleted", async () => {
    // given
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    await cluster.apply([volume("a"), claim()])
    await cluster.settle()
    // when somebody takes the protection off and deletes it
    await cluster.client.delete(PersistentVolume, { name: "a" })
    const going = await cluster.get(PersistentVolume, "a")
    await cluster.client.update(PersistentVolume, { ...going, metadata: { ...going.metadata, finalizers: [] } })
    await cluster.settle()
    // then
    const { claims, events } = await stateOf(cluster)
    expect(claims).toEqual(["Lost a"])
    expect(events).toContain("ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!")
  })
})

describe("a volume whose claim is deleted", () => {
  test.each([
    { title: "is kept with reclaim policy Retain", policy: "Retain", wants: "a Released data", says: undefined },
    {
      title: "fails with reclaim policy Delete if nothing can delete it",
      policy: "Delete",
      wants: "a Failed data",
      says:
        'VolumeFailedDelete: error getting deleter volume plugin for volume "a": ' +
        "no deletable volume plugin matched",
    },
    {
      title: "fails with reclaim policy Recycle",
      policy: "Recycle",
      wants: "a Failed data",
      says: "VolumeFailedRecycle: No recycler plugin found for the volume!",
    },
  ])("$title", async ({ policy, wants, says }) => {
    // given
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    await cluster.apply([volume("a", { persistentVolumeReclaimPolicy: policy }), claim()])
    await cluster.settle()
    // when
    await cluster.delete(PersistentVolumeClaim, "data")
    await cluster.settle()
    // then
    const { volumes, events } = await stateOf(cluster)
    expect(volumes).toEqual([wants])
    if (says !== undefined) expect(events).toContain(says)
  })

  test("is not bound to a new claim of the same name", async () => {
    // given
    await using cluster = await startCluster({ components: NOBODY_PROVISIONS })
    await cluster.apply([volume("a"), claim()])
    await cluster.settle()
    // when
    await cluster.delete(PersistentVolumeClaim, "data")
    await cluster.apply(claim())
    await cluster.settle()
    // then
    expect(await stateOf(cluster)).toMatchObject({ claims: ["Pending -"], volumes: ["a Released data"] })
  })
})

test("a claim of an ephemeral volume is created for its pod, and deleted with the pod", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  // when
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      containers: [{ name: "c", image: "web" }],
      volumes: [
        {
          name: "own",
          ephemeral: { volumeClaimTemplate: { spec: { ...claim().spec, storageClassName: "local-path" } } },
        },
      ],
    },
  })
  await cluster.settle()
  // then
  const made = await cluster.get(PersistentVolumeClaim, "p-own")
  expect(made.status.phase).toBe("Bound")
  expect(made.metadata.ownerReferences).toMatchObject([{ kind: "Pod", name: "p", controller: true }])
  await cluster.delete(Pod, "p")
  await cluster.eventually(PersistentVolume, {}, (volumes) => volumes.length === 0)
})

test("a bound claim that requests more grows if its class allows expansion", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply([
    claim({ storageClassName: "local-path" }),
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image: "web" }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
      },
    },
  ])
  await cluster.settle()
  // when
  await cluster.apply(claim({ storageClassName: "local-path", ...asks("5Gi") }))
  await cluster.settle()
  // then
  const { status, spec } = await cluster.get(PersistentVolumeClaim, "data")
  expect(status.capacity).toEqual({ storage: "5Gi" })
  expect(status.conditions ?? []).toEqual([])
  expect((await cluster.get(PersistentVolume, spec.volumeName!)).spec.capacity).toEqual({ storage: "5Gi" })
})
