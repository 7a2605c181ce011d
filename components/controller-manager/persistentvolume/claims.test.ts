import { test } from "bun:test"
import { expectLook, BOUND, FAILED, MISMATCH, user, type Row } from "./claims.fixtures.ts"

/** Claims that name no volume, and the volumes that they get. */
const rows: readonly Row[] = [
  // A claim that names no volume.
  {
    title: "gets a free volume",
    from: "1-1, 10-1, 5-2, 5-2-2, 13-4, 13-5",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
  {
    title: "waits if every volume is too small",
    from: "1-2",
    given: { volumes: ["a 1Gi Available"], claim: "10Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "is Pending again if it is Bound without a volume",
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
    title: "does not get a volume that is reserved for an earlier claim of its name",
    from: "1-7",
    given: { volumes: ["a 10Gi Available for=data/other"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "becomes Bound if only the volume names it",
    from: "1-8",
    given: { volumes: ["a 1Gi Available for=data/u chosen"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: BOUND },
  },
  {
    title: "becomes Bound if the volume names it and is Bound",
    from: "1-9",
    given: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: "1Gi Pending" },
    wants: { claim: BOUND },
  },
  {
    title: "becomes Bound if only its phase is missing",
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
    title: "waits for its first pod if its class has WaitForFirstConsumer",
    from: "1-13",
    given: { volumes: ["a 1Gi Available class=waits"], claim: "1Gi Pending class=waits" },
    wants: { events: ["Normal WaitForFirstConsumer"] },
  },
  {
    title: "waits for its pods to be scheduled if there are pods",
    given: { claim: "1Gi Pending class=waits", others: [user("p")] },
    wants: { events: ["Normal WaitForPodScheduled"] },
  },
  {
    title: "does not wait for pods that have ended",
    given: { claim: "1Gi Pending class=waits", others: [user("p", { status: { phase: "Succeeded" } })] },
    wants: { events: ["Normal WaitForFirstConsumer"] },
  },
  {
    title: "of a class with WaitForFirstConsumer gets a volume that is reserved for it",
    from: "1-14",
    given: { volumes: ["a 1Gi Available for=data class=waits"], claim: "1Gi Pending class=waits" },
    wants: { volumes: ["a 1Gi Bound for=data/u class=waits"], claim: `${BOUND} class=waits` },
  },
  {
    title: "with a selected node gets the volume that was made for it",
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
    title: "shows the capacity that the volume had before its expansion",
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
    title: "gets a volume of exactly its size, given in another unit",
    from: "TestMatchVolume",
    given: { volumes: ["a 1024Mi Available"], claim: "1Gi Pending" },
    wants: { volumes: ["a 1024Mi Bound for=data/u chosen"], claim: `${BOUND} has=1024Mi` },
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
    title: "with an empty class gets a volume without a class",
    from: "13-4",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending class=" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: `${BOUND} class=` },
  },
  // Block devices.
  {
    title: "gets a block device if its volumeMode is Block",
    from: "14-1",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending Block" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen Block"], claim: `${BOUND} Block` },
  },
  {
    title: "gets no filesystem if its volumeMode is Block",
    from: "14-3",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending Block" },
    wants: { events: FAILED },
  },
  {
    title: "gets no block device if its volumeMode is Filesystem",
    from: "14-4",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending" },
    wants: { events: FAILED },
  },
  {
    title: "gets no volume of the other volumeMode, and is not provisioned if its class does not exist",
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
    title: "does not get the block device that it names if its volumeMode is Filesystem",
    from: "14-8",
    given: { volumes: ["a 1Gi Available Block"], claim: "1Gi Pending volume=a" },
    wants: { events: MISMATCH },
  },
  {
    title: "does not get a block device that is reserved for it if its volumeMode is Filesystem",
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
]

test.each(rows)("a claim $title", expectLook)
