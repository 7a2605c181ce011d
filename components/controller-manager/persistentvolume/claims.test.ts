import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { StorageClass } from "../../../pkg/api/storage/v1/storageclass.ts"
import { claimBinder } from "./claims.ts"
import { syncOnce, wantedClaim, wantedVolume, type World } from "./one-sync.fixtures.ts"

/**
 * One look of the binder at a claim. `from` names the case of upstream's tests that asserts the same:
 * pkg/controller/volume/persistentvolume/{binder,provision,index}_test.go, pv_controller_test.go. The words of the
 * lines are told in one-sync.fixtures.ts. What is left out of `wants` stays as it was.
 */
interface Row {
  readonly title: string
  readonly from?: string
  readonly given: World
  readonly wants?: {
    readonly volumes?: readonly string[]
    readonly claim?: string
    readonly events?: readonly string[]
  }
}

const storageClass = (name: string, provisioner: string, more: object = {}): StorageClass =>
  ({ kind: "StorageClass", metadata: { name }, provisioner, ...more }) as unknown as StorageClass
const WAITS = { volumeBindingMode: "WaitForFirstConsumer" }
const byDefault = (name: string, created: string): StorageClass =>
  storageClass(name, "vendor.com/disk", {
    metadata: {
      name,
      creationTimestamp: created,
      annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
    },
  })
const CLASSES = [
  storageClass("external", "vendor.com/disk"),
  storageClass("external-waits", "vendor.com/disk", WAITS),
  storageClass("waits", "kubernetes.io/no-provisioner", WAITS),
  storageClass("unknown", "kubernetes.io/unknown"),
  storageClass("ebs", "kubernetes.io/aws-ebs"),
]
const user = (name: string, fields: object = {}): Pod =>
  ({
    kind: "Pod",
    metadata: { namespace: "default", name },
    spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
    status: {},
    ...fields,
  }) as unknown as Pod
const FAILED = ["Normal FailedBinding"]
const MISMATCH = ["Warning VolumeMismatch"]
const WAITING = ["Normal ExternalProvisioning"]
const BOUND = "1Gi Bound volume=a chosen complete"

const rows: readonly Row[] = [
  // A claim that names no volume.
  {
    title: "gets a free volume",
    from: "1-1, 10-1, 5-2, 5-2-2, 13-4, 13-5",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
  {
    title: "waits where every volume is too small",
    from: "1-2",
    given: { volumes: ["a 1Gi Available"], claim: "10Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "is Pending again where it is Bound to nothing",
    from: "1-3",
    given: { volumes: ["a 1Gi Available"], claim: "10Gi Bound" },
    wants: { claim: "10Gi Pending", events: FAILED },
  },
  {
    title: "gets the smallest volume",
    from: "1-4",
    given: { volumes: ["b 10Gi Available", "a 1Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["b 10Gi Available", "a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
  {
    title: "gets the volume that is reserved by its name, though a smaller one is free",
    from: "1-5",
    given: { volumes: ["a 10Gi Available for=data", "b 1Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 10Gi Bound for=data/u", "b 1Gi Available"], claim: `${BOUND} has=10Gi` },
  },
  {
    title: "gets the volume that is reserved by its uid, though a smaller one is free",
    from: "1-6",
    given: { volumes: ["a 10Gi Available for=data/u", "b 1Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 10Gi Bound for=data/u", "b 1Gi Available"], claim: `${BOUND} has=10Gi` },
  },
  {
    title: "does not get the volume of an earlier claim of its name",
    from: "1-7",
    given: { volumes: ["a 10Gi Available for=data/other"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "is bound on where only the volume names it",
    from: "1-8",
    given: { volumes: ["a 1Gi Available for=data/u chosen"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
  {
    title: "is bound on where the volume is Bound too",
    from: "1-9",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Pending" },
    wants: { claim: BOUND },
  },
  {
    title: "is bound on where only its phase is missing",
    from: "1-10",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Pending volume=a chosen complete" },
    wants: { claim: BOUND },
  },
  {
    title: "gets a volume that its selector matches",
    from: "1-11",
    given: { volumes: ["a 1Gi Available color=red"], claim: "1Gi Pending color=red" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen color=red"], claim: `${BOUND} color=red` },
  },
  {
    title: "does not get a volume that its selector does not match",
    from: "1-12",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending color=red" },
    wants: { events: FAILED },
  },
  {
    title: "waits for its first pod where its class says so",
    from: "1-13",
    given: { volumes: ["a 1Gi Available class=waits"], claim: "1Gi Pending class=waits" },
    wants: { events: ["Normal WaitForFirstConsumer"] },
  },
  {
    title: "waits for its pods to be scheduled where there are some",
    given: { claim: "1Gi Pending class=waits", others: [user("p")] },
    wants: { events: ["Normal WaitForPodScheduled"] },
  },
  {
    title: "does not wait for pods that have ended",
    given: { claim: "1Gi Pending class=waits", others: [user("p", { status: { phase: "Succeeded" } })] },
    wants: { events: ["Normal WaitForFirstConsumer"] },
  },
  {
    title: "of a class that waits gets a volume that is reserved for it",
    from: "1-14",
    given: { volumes: ["a 1Gi Available for=data class=waits"], claim: "1Gi Pending class=waits" },
    wants: { volumes: ["a 1Gi Bound for=data/u class=waits"], claim: `${BOUND} class=waits` },
  },
  {
    title: "with a node gets the volume that was made for it",
    from: "1-18",
    given: { volumes: ["a 1Gi Available for=data/u class=waits"], claim: "1Gi Pending class=waits node=n" },
    wants: { volumes: ["a 1Gi Bound for=data/u class=waits"], claim: `${BOUND} class=waits node=n` },
  },
  {
    title: "does not get volumes that are Pending, Failed or Released",
    from: "1-17",
    given: { volumes: ["a 1Gi Pending", "b 1Gi Failed", "c 1Gi Released"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "does not get a volume that is being deleted",
    from: "TestFindMatchVolumeWithNode",
    given: { volumes: ["a 1Gi Available going"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "does not get a volume that is reserved for it and is being deleted",
    given: { volumes: ["a 1Gi Available for=data going"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "shows the capacity that the volume had before it was enlarged",
    from: "5-2-3",
    given: { volumes: ["a 2Gi Available chosen before=1Gi"], claim: "2Gi Pending" },
    wants: {
      volumes: ["a 2Gi Bound for=data/u chosen before=1Gi"],
      claim: "2Gi Bound volume=a chosen complete has=1Gi",
    },
  },
  // The closest volume.
  {
    title: "gets a volume with more access modes than it asks for",
    from: "TestMatchVolume",
    given: { volumes: ["a 5Gi Available modes=ReadWriteOnce+ReadOnlyMany"], claim: "1Gi Pending" },
    wants: { volumes: ["a 5Gi Bound for=data/u chosen"], claim: `${BOUND} has=5Gi` },
  },
  {
    title: "gets no volume that lacks one of its access modes",
    from: "TestMatchVolume",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending modes=ReadWriteOnce+ReadOnlyMany" },
    wants: { events: FAILED },
  },
  {
    title: "gets the volume with the fewest access modes, though another is smaller",
    from: "TestFindingPreboundVolumes, TestAllPossibleAccessModes",
    given: {
      volumes: ["b 1Gi Available modes=ReadWriteOnce+ReadOnlyMany", "a 8Gi Available", "c 9Gi Available"],
      claim: "1Gi Pending",
    },
    wants: {
      volumes: ["b 1Gi Available", "a 8Gi Bound for=data/u chosen", "c 9Gi Available"],
      claim: `${BOUND} has=8Gi`,
    },
  },
  {
    title: "does not get a volume that is reserved for it and lacks its access mode",
    given: { volumes: ["a 1Gi Available for=data"], claim: "1Gi Pending modes=ReadWriteMany" },
    wants: { events: FAILED },
  },
  {
    title: "does not get a volume that is reserved for it and is too small",
    from: "TestFindingPreboundVolumes",
    given: { volumes: ["a 1Gi Available for=data"], claim: "2Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "does not get a volume that is reserved for another claim, though it is the only one",
    from: "TestFindingPreboundVolumes",
    given: { volumes: ["a 1Gi Available for=other"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "gets a volume of exactly its size, written otherwise",
    from: "TestMatchVolume",
    given: { volumes: ["a 1024Mi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1024Mi Bound for=data/u chosen"], claim: `${BOUND} has=1024Mi` },
  },
  // A claim that names its volume.
  { title: "waits for the volume that it names", from: "2-1", given: { claim: "1Gi Pending volume=a" } },
  {
    title: "is Pending again while the volume that it names is missing",
    from: "2-2",
    given: { claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a" },
  },
  {
    title: "gets the free volume that it names, though a smaller one is there",
    from: "2-3, 1-15",
    given: { volumes: ["a 10Gi Available", "b 1Gi Available"], claim: "1Gi Pending volume=a" },
    wants: {
      volumes: ["a 10Gi Bound for=data/u chosen", "b 1Gi Available"],
      claim: "1Gi Bound volume=a complete has=10Gi",
    },
  },
  {
    title: "gets the volume that it names and that names it",
    from: "2-4",
    given: { volumes: ["a 1Gi Available for=data"], claim: "1Gi Pending volume=a" },
    wants: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
  {
    title: "gets the volume that it names and that names its uid",
    from: "2-5",
    given: { volumes: ["a 1Gi Available for=data/u"], claim: "1Gi Pending volume=a" },
    wants: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
  {
    title: "is Pending where the volume that it names is another claim's",
    from: "2-6",
    given: { volumes: ["a 1Gi Bound for=other/x"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: ["Warning FailedBinding"] },
  },
  {
    title: "keeps its phase where a controller chose a volume that is another claim's",
    from: "2-7",
    given: { volumes: ["a 1Gi Bound for=other/x"], claim: "1Gi Bound volume=a chosen" },
    wants: { events: ["Warning FailedBinding"] },
  },
  {
    title: "gets the volume that it names, whatever its selector says",
    from: "2-8",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a color=red" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Bound volume=a complete color=red" },
  },
  {
    title: "is refused the volume that it names where that is too small",
    from: "2-9",
    given: { volumes: ["a 1Gi Available"], claim: "2Gi Bound volume=a" },
    wants: { claim: "2Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "is refused the volume that it names where that is of another class",
    from: "2-10, 14-5-2",
    given: { volumes: ["a 1Gi Available class=gold"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "is refused the volume that it names where that lacks its access mode",
    from: "1-16",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a modes=ReadWriteMany" },
    wants: { events: MISMATCH },
  },
  {
    title: "is refused the volume that it names where that has other attributes",
    from: "2-11",
    given: { volumes: ["a 1Gi Available attributes=fast"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "has the attributes of the volume that it names",
    from: "2-12",
    given: { volumes: ["a 1Gi Available attributes=fast"], claim: "1Gi Pending volume=a attributes=fast" },
    wants: {
      volumes: ["a 1Gi Bound for=data/u chosen attributes=fast"],
      claim: "1Gi Bound volume=a complete attributes=fast current=fast",
    },
  },
  {
    title: "that is Bound keeps the attributes that it shows, which are the resizer's business",
    from: "TestUpdateClaimStatus",
    given: {
      volumes: ["a 1Gi Bound for=data/u attributes=slow"],
      claim: "1Gi Bound volume=a complete attributes=slow current=fast",
    },
  },
  {
    title: "is refused the volume that it names while that is being deleted",
    given: { volumes: ["a 1Gi Available going"], claim: "1Gi Pending volume=a" },
    wants: { events: MISMATCH },
  },
  // A claim whose binding is complete.
  {
    title: "is Lost where it names its volume no more",
    from: "3-1",
    given: { claim: "1Gi Bound chosen complete" },
    wants: { claim: "1Gi Lost chosen complete", events: ["Warning ClaimLost"] },
  },
  {
    title: "is Lost where its volume is gone",
    from: "3-2, 5-4, 15-3",
    given: { claim: "1Gi Bound volume=a chosen complete" },
    wants: { claim: "1Gi Lost volume=a chosen complete", events: ["Warning ClaimLost"] },
  },
  { title: "is told once to be Lost", given: { claim: "1Gi Lost volume=a chosen complete" } },
  {
    title: "gets its volume back that has lost its claim",
    from: "3-3, 3-7",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a chosen complete color=red" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: `${BOUND} color=red` },
  },
  {
    title: "is Lost where its volume is that of a claim of its name with another uid",
    from: "3-4",
    given: { volumes: ["a 1Gi Available for=data/x"], claim: "1Gi Pending volume=a chosen complete" },
    wants: { claim: "1Gi Lost volume=a chosen complete", events: ["Warning ClaimMisbound"] },
  },
  {
    title: "is Bound, as is its volume, where both name each other",
    from: "3-5",
    given: { volumes: ["a 1Gi Available for=data/u"], claim: "1Gi Pending volume=a complete" },
    wants: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
  {
    title: "is Lost where its volume is another claim's",
    from: "3-6",
    given: { volumes: ["a 1Gi Available for=other/x"], claim: "1Gi Pending volume=a complete" },
    wants: { claim: "1Gi Lost volume=a complete", events: ["Warning ClaimMisbound"] },
  },
  {
    title: "that is Bound keeps its own capacity, whatever that of its volume has become",
    given: { volumes: ["a 5Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
  // Classes.
  {
    title: "gets a volume of its class, though a smaller one has none",
    from: "13-1",
    given: { volumes: ["b 1Gi Available", "a 10Gi Available class=gold"], claim: "1Gi Pending class=gold" },
    wants: {
      volumes: ["b 1Gi Available", "a 10Gi Bound for=data/u chosen class=gold"],
      claim: `${BOUND} class=gold has=10Gi`,
    },
  },
  {
    title: "without a class gets a volume without one, though a smaller one has a class",
    from: "13-2",
    given: { volumes: ["b 1Gi Available class=gold", "a 10Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["b 1Gi Available class=gold", "a 10Gi Bound for=data/u chosen"], claim: `${BOUND} has=10Gi` },
  },
  {
    title: "gets a volume of its class, though a smaller one has another",
    from: "13-3",
    given: {
      volumes: ["b 1Gi Available class=silver", "a 10Gi Available class=gold"],
      claim: "1Gi Pending class=gold",
    },
    wants: {
      volumes: ["b 1Gi Available class=silver", "a 10Gi Bound for=data/u chosen class=gold"],
      claim: `${BOUND} class=gold has=10Gi`,
    },
  },
  {
    title: "gets a volume without a class where its own is empty",
    from: "13-4",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending class=" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: `${BOUND} class=` },
  },
  // Block devices.
  {
    title: "gets a block device where it asks for one",
    from: "14-1",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending Block" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen Block"], claim: `${BOUND} Block` },
  },
  {
    title: "gets no filesystem where it asks for a block device",
    from: "14-3",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending Block" },
    wants: { events: FAILED },
  },
  {
    title: "gets no block device where it asks for a filesystem",
    from: "14-4",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "gets no volume of its class and the other mode, and is not provisioned without its class",
    from: "14-5, 14-5-1",
    given: { volumes: ["a 1Gi Available class=gold"], claim: "1Gi Pending class=gold Block" },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "gets the block device that is reserved for it",
    from: "14-7, 14-10",
    given: { volumes: ["a 1Gi Available Block for=data"], claim: "1Gi Pending Block" },
    wants: { volumes: ["a 1Gi Bound Block for=data/u"], claim: `${BOUND} Block` },
  },
  {
    title: "gets the filesystem that is reserved for it",
    from: "14-12",
    given: { volumes: ["a 1Gi Available for=data"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1Gi Bound for=data/u"], claim: BOUND },
  },
  {
    title: "is refused the block device that it names where it asks for a filesystem",
    from: "14-8",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending volume=a" },
    wants: { events: MISMATCH },
  },
  {
    title: "does not get a block device that is reserved for it where it asks for a filesystem",
    from: "14-8-1",
    given: { volumes: ["a 1Gi Available Block for=data"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "gets the block device that it names",
    from: "14-9",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending volume=a Block" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen Block"], claim: "1Gi Bound volume=a complete Block" },
  },
  {
    title: "gets the filesystem that it names",
    from: "14-11",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Bound volume=a complete" },
  },
  // Provisioning.
  {
    title: "of a class that is not there says so",
    from: "11-2, 11-14",
    given: { claim: "1Gi Pending class=nothing" },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "gets a volume of its class that is there, and nothing is provisioned",
    from: "11-6, 11-22",
    given: { volumes: ["a 1Gi Available class=external"], claim: "1Gi Pending class=external" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen class=external"], claim: `${BOUND} class=external` },
  },
  {
    title: "without a class is not provisioned",
    from: "11-15, 11-16, 15-1",
    given: { claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "is marked for the provisioner of its class",
    from: "11-17, 12-3",
    given: { claim: "1Gi Pending class=external" },
    wants: { claim: "1Gi Pending class=external provisioner=vendor.com/disk", events: WAITING },
  },
  {
    title: "is marked once, and told again that it waits",
    from: "11-26",
    given: { claim: "1Gi Pending class=external provisioner=vendor.com/disk" },
    wants: { events: WAITING },
  },
  {
    title: "gets the volume that its provisioner has made",
    from: "12-2",
    given: {
      volumes: ["a 1Gi Available class=external"],
      claim: "1Gi Pending class=external provisioner=vendor.com/disk",
    },
    wants: {
      volumes: ["a 1Gi Bound for=data/u chosen class=external"],
      claim: `${BOUND} class=external provisioner=vendor.com/disk`,
    },
  },
  {
    title: "gets the volume that its provisioner has made and reserved",
    from: "12-4",
    given: {
      volumes: ["a 1Gi Bound for=data/u chosen class=external"],
      claim: "1Gi Pending class=external provisioner=vendor.com/disk",
    },
    wants: { claim: `${BOUND} class=external provisioner=vendor.com/disk` },
  },
  {
    title: "of a class whose provisioner is no more part of Kubernetes says so",
    from: "11-18",
    given: { claim: "1Gi Pending class=unknown" },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "of a class whose provisioner became a CSI driver is marked for that",
    from: "11-21",
    given: { claim: "1Gi Pending class=ebs" },
    wants: { claim: "1Gi Pending class=ebs provisioner=ebs.csi.aws.com", events: WAITING },
  },
  {
    title: "that was marked for a provisioner which became a CSI driver says which",
    from: "TestUpdateClaimMigrationAnnotations",
    given: { claim: "1Gi Pending volume=a provisioner=kubernetes.io/gce-pd" },
    wants: { claim: "1Gi Pending volume=a provisioner=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io" },
  },
  {
    title: "names no driver for a provisioner that became none",
    from: "TestUpdateClaimMigrationAnnotations",
    given: { claim: "1Gi Pending volume=a provisioner=vendor.com/disk migrated=pd.csi.storage.gke.io" },
    wants: { claim: "1Gi Pending volume=a provisioner=vendor.com/disk" },
  },
  {
    title: "with a node is provisioned, though a volume of its class is free",
    from: "11-23, 11-24",
    given: {
      volumes: ["a 1Gi Available Delete class=external-waits"],
      claim: "1Gi Pending class=external-waits node=n",
    },
    wants: { claim: "1Gi Pending class=external-waits node=n provisioner=vendor.com/disk", events: WAITING },
  },
  // The default class.
  {
    title: "without a class gets the default one",
    from: "15-5",
    given: { claim: "1Gi Pending", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "without a class gets the newest of several default ones",
    from: "15-2",
    given: {
      claim: "1Gi Pending",
      others: [byDefault("silver", "2030-01-01T00:00:00Z"), byDefault("gold", "2030-01-02T00:00:00Z")],
    },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "without a class gets the first by name of default ones of one age",
    from: "15-2",
    given: {
      claim: "1Gi Pending",
      others: [byDefault("silver", "2030-01-01T00:00:00Z"), byDefault("gold", "2030-01-01T00:00:00Z")],
    },
    wants: { claim: "1Gi Pending class=gold" },
  },
  {
    title: "keeps the class that it has",
    from: "15-6",
    given: { claim: "1Gi Pending class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "keeps the empty class, which asks for volumes without one",
    given: { claim: "1Gi Pending class=", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: FAILED },
  },
  {
    title: "keeps the class that its annotation names",
    from: "15-7",
    given: { claim: "1Gi Pending beta-class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { events: ["Warning ProvisioningFailed"] },
  },
  {
    title: "that names its volume gets no class",
    from: "15-4",
    given: { claim: "1Gi Bound volume=a class=copper", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { claim: "1Gi Pending volume=a class=copper" },
  },
  {
    title: "without a class gets a volume without one before the default class",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending", others: [byDefault("gold", "2030-01-01T00:00:00Z")] },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
]

test.each(rows)("a claim $title", async ({ given, wants = {} }) => {
  // when
  const after = await syncOnce(claimBinder, "default/data", { ...given, others: [...CLASSES, ...(given.others ?? [])] })
  // then
  const { volumes = given.volumes ?? [], claim = given.claim, events = [] } = wants
  expect(after).toEqual({
    volumes: volumes.map(wantedVolume),
    claim: claim === undefined ? undefined : wantedClaim(claim),
    events,
  })
})
