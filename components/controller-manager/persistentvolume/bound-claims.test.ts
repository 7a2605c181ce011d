import { test } from "bun:test"
import { expectLook, BOUND, MISMATCH, type Row } from "./claims.fixtures.ts"

/** Claims that name their volume, which their user or a controller chose. */
const rows: readonly Row[] = [
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
    title: "is Pending if the volume that it names is bound to another claim",
    from: "2-6",
    given: { volumes: ["a 1Gi Bound for=other/x"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: ["Warning FailedBinding"] },
  },
  {
    title: "keeps its phase if the volume that a controller chose is bound to another claim",
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
    title: "does not get the volume that it names if that is too small",
    from: "2-9",
    given: { volumes: ["a 1Gi Available"], claim: "2Gi Bound volume=a" },
    wants: { claim: "2Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "does not get the volume that it names if that has another class",
    from: "2-10, 14-5-2",
    given: { volumes: ["a 1Gi Available class=gold"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "does not get the volume that it names if that lacks its access mode",
    from: "1-16",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a modes=ReadWriteMany" },
    wants: { events: MISMATCH },
  },
  {
    title: "does not get the volume that it names if that has another VolumeAttributesClass",
    from: "2-11",
    given: { volumes: ["a 1Gi Available attributes=fast"], claim: "1Gi Bound volume=a" },
    wants: { claim: "1Gi Pending volume=a", events: MISMATCH },
  },
  {
    title: "gets the VolumeAttributesClass of the volume that it names",
    from: "2-12",
    given: { volumes: ["a 1Gi Available attributes=fast"], claim: "1Gi Pending volume=a attributes=fast" },
    wants: {
      volumes: ["a 1Gi Bound for=data/u chosen attributes=fast"],
      claim: "1Gi Bound volume=a complete attributes=fast current=fast",
    },
  },
  {
    title: "that is Bound keeps the VolumeAttributesClass in its status, which the resizer changes",
    from: "TestUpdateClaimStatus",
    given: {
      volumes: ["a 1Gi Bound for=data/u attributes=slow"],
      claim: "1Gi Bound volume=a complete attributes=slow current=fast",
    },
  },
  {
    title: "does not get the volume that it names while that is being deleted",
    given: { volumes: ["a 1Gi Available going"], claim: "1Gi Pending volume=a" },
    wants: { events: MISMATCH },
  },
  // A claim whose binding is complete.
  {
    title: "is Lost if it has lost the name of its volume",
    from: "3-1",
    given: { claim: "1Gi Bound chosen complete" },
    wants: { claim: "1Gi Lost chosen complete", events: ["Warning ClaimLost"] },
  },
  {
    title: "is Lost if its volume is gone",
    from: "3-2, 5-4, 15-3",
    given: { claim: "1Gi Bound volume=a chosen complete" },
    wants: { claim: "1Gi Lost volume=a chosen complete", events: ["Warning ClaimLost"] },
  },
  { title: "gets one Event when it becomes Lost", given: { claim: "1Gi Lost volume=a chosen complete" } },
  {
    title: "is Bound again if its volume has lost the reference to it",
    from: "3-3, 3-7",
    given: { volumes: ["a 1Gi Available"], claim: "1Gi Pending volume=a chosen complete color=red" },
    wants: { volumes: ["a 1Gi Bound for=data/u chosen"], claim: `${BOUND} color=red` },
  },
  {
    title: "is Lost if its volume belongs to a claim of the same name with another uid",
    from: "3-4",
    given: { volumes: ["a 1Gi Available for=data/x"], claim: "1Gi Pending volume=a chosen complete" },
    wants: { claim: "1Gi Lost volume=a chosen complete", events: ["Warning ClaimMisbound"] },
  },
  {
    title: "becomes Bound with its volume if both name each other",
    from: "3-5",
    given: { volumes: ["a 1Gi Available for=data/u"], claim: "1Gi Pending volume=a complete" },
    wants: { volumes: ["a 1Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
  {
    title: "is Lost if its volume belongs to another claim",
    from: "3-6",
    given: { volumes: ["a 1Gi Available for=other/x"], claim: "1Gi Pending volume=a complete" },
    wants: { claim: "1Gi Lost volume=a complete", events: ["Warning ClaimMisbound"] },
  },
  {
    title: "that is Bound keeps the capacity in its status when the volume's changes",
    given: { volumes: ["a 5Gi Bound for=data/u"], claim: "1Gi Bound volume=a complete" },
  },
]

test.each(rows)("a claim $title", expectLook)
