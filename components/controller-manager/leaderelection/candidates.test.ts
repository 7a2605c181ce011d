import { expect, test } from "bun:test"
import type { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { oldestVersion, strategyOf } from "./candidates.ts"

/** A candidate that tells of each read of its program's version. */
function candidate(name: string, emulationVersion: string, binaryVersion: string, onRead = () => {}): LeaseCandidate {
  const spec = { leaseName: "web", emulationVersion, binaryVersion, strategy: "OldestEmulationVersion" }
  Object.defineProperty(spec, "binaryVersion", { enumerable: true, get: () => (onRead(), binaryVersion) })
  return {
    apiVersion: "coordination.k8s.io/v1beta1",
    kind: "LeaseCandidate",
    metadata: { name, namespace: "default" },
    spec,
  }
}

type Row = readonly [name: string, emulationVersion: string, binaryVersion: string]

test.each<{ title: string; rows: readonly Row[] }>([
  {
    title: "the oldest behaviour",
    rows: [
      ["a", "1.36.0", "1.36.0"],
      ["b", "1.35.0", "1.37.0"],
    ],
  },
  {
    title: "of the same behaviour the oldest program",
    rows: [
      ["a", "1.35.0", "1.37.0"],
      ["b", "1.35.0", "1.36.0"],
    ],
  },
  {
    title: "one that has versions",
    rows: [
      ["a", "x", "1.36.0"],
      ["b", "1.36.0", "1.36.0"],
    ],
  },
])("$title is elected", ({ rows }) => {
  const candidates = rows.map(([name, emulated, binary]) => candidate(name, emulated, binary))
  expect(oldestVersion(candidates)?.metadata.name).toBe("b")
})

test("each version is read a fixed number of times, however many candidates there are", () => {
  // given versions as long as a version may be
  let reads = 0
  const candidates = Array.from({ length: 500 }, (_, i) =>
    candidate(`c${i}`, "1.0.0", `1.0.${i}-${"a.".repeat(400)}b`, () => void reads++),
  )
  // when
  const oldest = oldestVersion(candidates)
  const strategy = strategyOf(candidates)
  // then
  expect(oldest?.metadata.name).toBe("c0")
  expect(strategy).toBe("OldestEmulationVersion")
  expect(reads).toBe(2 * candidates.length)
})
