import { describe, expect, test } from "bun:test"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { LeaseCandidate } from "../../../pkg/api/coordination/v1beta1/leasecandidate.ts"
import { formatMicroTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const SERVED = {
  nodes: 0,
  features: { CoordinatedLeaderElection: true },
  runtimeConfig: ["coordination.k8s.io/v1beta1=true"],
}
const named = (name: string) => ({ namespace: "default", name })
const nowOf = (cluster: Cluster) => formatMicroTime(cluster.now.getTime())

/** Creates a candidate for the lease `web`, which was there just now. */
const candidate = (cluster: Cluster, name: string, emulationVersion: string, more: object = {}) =>
  cluster.client.create(LeaseCandidate, {
    metadata: named(name),
    spec: {
      leaseName: "web",
      binaryVersion: "1.36.0",
      emulationVersion,
      strategy: "OldestEmulationVersion",
      renewTime: nowOf(cluster),
      ...more,
    },
  })
const lease = async (cluster: Cluster) => (await cluster.client.get(Lease, named("web"))).spec
/** The candidates answer, or the holder renews. */
async function renews(cluster: Cluster, name: string): Promise<void> {
  const body = { spec: { renewTime: nowOf(cluster) } }
  await cluster.client.patch(LeaseCandidate, named(name), { type: "merge", body })
}
const holds = async (cluster: Cluster, holderIdentity: string) =>
  cluster.client.patch(Lease, named("web"), {
    type: "merge",
    body: { spec: { holderIdentity, renewTime: nowOf(cluster) } },
  })

describe("an election", () => {
  test("is won by the candidate that behaves as the oldest version, and a better one is preferred later", async () => {
    // given two candidates
    await using cluster = await startCluster(SERVED)
    await candidate(cluster, "older", "1.35.0")
    await candidate(cluster, "newer", "1.36.0")
    await cluster.settle()
    // then
    expect(await lease(cluster)).toMatchObject({
      holderIdentity: "older",
      strategy: "OldestEmulationVersion",
      leaseDurationSeconds: 5,
    })
    // when an older one comes while the holder renews its lease
    await cluster.advance("4s")
    await holds(cluster, "older")
    await candidate(cluster, "oldest", "1.34.0")
    await cluster.settle()
    // then all are asked
    const asked = await cluster.client.get(LeaseCandidate, named("older"))
    await cluster.advance("2s")
    expect((await lease(cluster)).holderIdentity).toBe("older")
    for (const name of ["newer", "older", "oldest"]) await renews(cluster, name)
    await holds(cluster, "older")
    await cluster.advance("4s")
    expect(asked.spec.leaseName).toBe("web")
    // and the holder is told to give the lease up
    expect(await lease(cluster)).toMatchObject({ holderIdentity: "older", preferredHolder: "oldest" })
    // when it does
    for (const name of ["newer", "older", "oldest"]) await renews(cluster, name)
    await holds(cluster, "")
    await cluster.settle()
    // then
    expect((await lease(cluster)).holderIdentity).toBe("oldest")
    expect((await lease(cluster)).preferredHolder).toBeUndefined()
  })

  test("is lost by a candidate that does not answer when its lease has ended", async () => {
    await using cluster = await startCluster(SERVED)
    await candidate(cluster, "gone", "1.35.0")
    await candidate(cluster, "there", "1.36.0")
    await cluster.settle()
    expect((await lease(cluster)).holderIdentity).toBe("gone")
    // when the holder is gone, its lease ends, and candidates are asked
    await cluster.advance("6s")
    const { spec } = await cluster.client.get(LeaseCandidate, named("there"))
    expect(spec.pingTime).toBeString()
    await renews(cluster, "there")
    await cluster.advance("4s")
    expect((await lease(cluster)).holderIdentity).toBe("gone")
    await renews(cluster, "there")
    await cluster.advance("3s")
    // then
    expect((await lease(cluster)).holderIdentity).toBe("there")
  })

  test("is left to others where its strategy is not Kubernetes' own", async () => {
    await using cluster = await startCluster(SERVED)
    await candidate(cluster, "a", "1.35.0", { strategy: "example.com/mine" })
    await cluster.settle()
    expect(await lease(cluster)).toMatchObject({ strategy: "example.com/mine" })
    expect((await lease(cluster)).holderIdentity).toBeUndefined()
  })

  test("does not happen for leases without candidates, and candidates are deleted after half an hour", async () => {
    await using cluster = await startCluster(SERVED)
    await cluster.client.create(Lease, { metadata: named("other"), spec: { holderIdentity: "x" } })
    await candidate(cluster, "a", "1.35.0")
    await cluster.advance("29m")
    expect((await cluster.client.list(LeaseCandidate)).items).toHaveLength(1)
    await cluster.advance("2m")
    expect((await cluster.client.list(LeaseCandidate)).items).toEqual([])
    expect((await cluster.client.get(Lease, named("other"))).spec).toEqual({ holderIdentity: "x" })
  })
})

describe("a LeaseCandidate", () => {
  test.each<[string, object, string]>([
    ["no lease", { leaseName: "" }, "spec.leaseName: Required value"],
    ["no version", { binaryVersion: "" }, "spec.binaryVersion: Required value"],
    ["a version that is none", { binaryVersion: "v1" }, 'spec.binaryVersion: Invalid value: "v1": must be a valid'],
    ["an emulated version that is none", { emulationVersion: "1" }, 'spec.emulationVersion: Invalid value: "1"'],
    [
      "a program that is older than what it behaves as",
      { binaryVersion: "1.34.0" },
      "must be greater than or equal to `emulationVersion`",
    ],
    ["no strategy", { strategy: "" }, "spec.strategy: Required value"],
    [
      "an unknown strategy",
      { strategy: "Best" },
      'Unsupported value: "Best": supported values: "OldestEmulationVersion"',
    ],
    ["a faulty strategy", { strategy: "a b/c" }, 'spec.strategy.strategy: Invalid value: "a b/c": prefix part'],
    ["no emulated version", { emulationVersion: "" }, "must be specified when `strategy` is 'OldestEmulationVersion'"],
  ])("with %s is refused", async (_what, spec, message) => {
    await using cluster = await startCluster(SERVED)
    await expect(candidate(cluster, "c", "1.35.0", spec)).rejects.toThrow(message)
  })

  test("keeps its lease, and shows itself in a table", async () => {
    await using cluster = await startCluster(SERVED)
    const made = await candidate(cluster, "C_1.x", "1.35.0")
    await expect(
      cluster.client.update(LeaseCandidate, { ...made, spec: { ...made.spec, leaseName: "other" } }),
    ).rejects.toThrow('spec.leaseName: Invalid value: "other": field is immutable')
    expect((await cluster.kubectl("get leasecandidates")).stdout).toMatch(
      /^NAME +LEASENAME +BINARYVERSION +EMULATIONVERSION +AGE\nC_1.x +web +1.36.0 +1.35.0 /,
    )
  })
})

test("the fields of elections are left out of leases where the gate is off", async () => {
  await using cluster = await startCluster({ nodes: 0 })
  const made = await cluster.client.create(Lease, {
    metadata: named("l"),
    spec: { holderIdentity: "a", strategy: "OldestEmulationVersion", preferredHolder: "b" },
  })
  expect(made.spec).toEqual({ holderIdentity: "a" })
})
