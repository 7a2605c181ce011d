import { test } from "bun:test"
import { expectLook, BOUND, MISMATCH, type Row } from "./claims.fixtures.ts"

/** Claims that name their volume, chosen by their user or by a controller. */
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
]

test.each(rows)("a claim $title", expectLook)
