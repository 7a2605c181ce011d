import { describe, expect, test } from "bun:test"
import { Pod, PodGroup, startCluster, type Cluster } from "../../../components/cluster/testing/testing.ts"
import { startFork } from "../../../components/cluster/testing/forecast/fork.ts"
import { tryMend } from "../../../components/cluster/testing/forecast/trial.ts"
import { readObjects, type SnapshotContent } from "../../../components/cluster/testing/snapshot.ts"
import type { Answer } from "../../../pkg/why/answer.ts"
import { liveObjects, type ReadPath } from "./live-objects.ts"
import { liveSettings, settingsOfSnapshot } from "./live-settings.ts"

const GROUPS = "scheduling.k8s.io/v1alpha2"
const withGangs = () =>
  startCluster({
    nodes: [{ name: "n", capacity: { cpu: "8" } }],
    features: { GenericWorkload: true, GangScheduling: true, EnvFiles: false },
    runtimeConfig: [`${GROUPS}=true`],
  })
const GANG = `
apiVersion: ${GROUPS}
kind: PodGroup
metadata: {name: g, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {schedulingGroup: {podGroupName: g}, containers: [{name: main, image: web}]}
`
const reader =
  (cluster: Cluster): ReadPath =>
  async (path) => {
    const { code, stdout } = await cluster.kubectl(["get", "--raw", path])
    return code === 0 ? (JSON.parse(stdout) as unknown) : undefined
  }
const metricsOf = (cluster: Cluster) => async () => (await cluster.kubectl(["get", "--raw", "/metrics"])).stdout

/** Reads a cluster as `k3ts what-if` and `k3ts why --try` do. */
async function copyOf(cluster: Cluster): Promise<SnapshotContent> {
  const { settings, kinds } = await liveSettings(reader(cluster), metricsOf(cluster))
  const { left: _left, ...content } = await liveObjects(reader(cluster), cluster.contextFor().clock.now(), kinds)
  return { ...content, settings }
}
const placed = async (cluster: Cluster) => (await cluster.list(Pod)).filter(({ spec }) => spec.nodeName).length

test("the gates and kinds of a cluster are read from its metrics and its discovery", async () => {
  await using cluster = await withGangs()
  const { settings, kinds, left } = await liveSettings(reader(cluster), metricsOf(cluster))
  expect(kinds.map(({ plural }) => plural)).toEqual(["podgroups", "workloads"])
  expect(settings.runtimeConfig).toEqual([`${GROUPS}/podgroups=true`, `${GROUPS}/workloads=true`])
  expect(settings.features).toMatchObject({ GangScheduling: true, EnvFiles: false, WorkloadWithJob: false })
  expect(left).toEqual([])
})

test("a cluster of which one may not read the metrics has the gates of its kinds, and that is told", async () => {
  await using cluster = await withGangs()
  const { settings, left } = await liveSettings(reader(cluster), () => Promise.resolve(undefined))
  expect(settings.features).toEqual({ GenericWorkload: true })
  expect(left).toEqual(["feature gates: you may not read /metrics, so those of its kinds are on"])
})

test("gates of another version that depend on others here are left out, and that is told", async () => {
  const metrics = 'kubernetes_feature_enabled{name="GangScheduling",stage="BETA"} 1\n'
  const { settings, left } = await liveSettings(
    () => Promise.resolve(undefined),
    () => Promise.resolve(metrics),
  )
  expect(settings).toEqual({ features: {}, runtimeConfig: [] })
  expect(left[0]).toContain("feature gates: GangScheduling is enabled, but depends on")
})

describe("a copy of a cluster with gangs", () => {
  test("for k3ts what-if has them: pods of a gang wait, and start when they are enough", async () => {
    await using cluster = await withGangs()
    await cluster.apply(GANG)
    await cluster.advance("1m")
    expect(await placed(cluster)).toBe(0)
    const { cluster: copy } = await startFork(await copyOf(cluster), { seed: 1 })
    await copy.advance("1m")
    expect((await copy.get(PodGroup, "g")).spec.schedulingPolicy.gang?.minCount).toBe(3)
    expect(await placed(copy)).toBe(0)
    await copy.kubectl("scale deployment web --replicas=3")
    await copy.advance("1m")
    expect(await placed(copy)).toBe(3)
    await copy.stop()
  })

  test("for k3ts why --try has them: what is wrong is so there, and its mend helps", async () => {
    await using cluster = await withGangs()
    await cluster.apply(GANG)
    await cluster.advance("1m")
    const { stdout } = await cluster.kubectl(["why", "deployment/web", "-o=json"])
    const answer = JSON.parse(stdout) as Answer
    expect(answer.findings[0]?.cause.code).toBe("gang-incomplete")
    const question = { answer, flags: [] }
    const trial = await tryMend(await copyOf(cluster), question, "kubectl scale deployment web --replicas=3")
    expect(trial).toMatchObject({ verdict: "helps" })
  })

  test("of a snapshot has its kinds, and says that it knows no other gates", async () => {
    await using cluster = await withGangs()
    await cluster.apply(GANG)
    const content = await readObjects(await cluster.snapshot())
    const { settings, left } = settingsOfSnapshot(content.objects)
    expect(left).toEqual(["feature gates: a snapshot has none, so those of its kinds are on"])
    const { cluster: copy } = await startFork({ ...content, settings }, { seed: 1 })
    expect((await copy.get(PodGroup, "g")).metadata.name).toBe("g")
    await copy.stop()
  })
})
