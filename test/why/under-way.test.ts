/**
 * What is not wrong yet: objects that are new or change, and for how long that counts as going well. Each is asked
 * about while it is under way, and again much later: then it is well, or something is wrong.
 */
import { describe, expect, test } from "bun:test"
import { startCluster, type Cluster, type ClusterOptions } from "../../components/cluster/testing/testing.ts"
import type { State } from "../../pkg/why/answer.ts"
import type { Overview } from "../../pkg/why/cluster.ts"
import { ask, deployment, pod } from "./situation.fixtures.ts"

interface Row {
  readonly title: string
  readonly yaml: string
  readonly ask: string
  readonly options?: ClusterOptions
  /** Changes what has run for two minutes. */
  readonly changes?: (cluster: Cluster) => Promise<unknown>
  /** How long after the change, or after it was applied, it is asked. */
  readonly after?: string
  readonly state?: State
  /** The code of the first finding. */
  readonly code: string
  readonly says?: RegExp
  /** The seconds from `since` to `until` that are told of it. */
  readonly seconds?: number
  /** The state a quarter of an hour later: well by default. */
  readonly later?: State
}

const ONE = `{containers: [{name: c, image: "app:1"}]}`
const SLOW = { nodes: 2, images: { "app:1": { startMs: 8000 } } }
const probed = (probe: string) => `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], ${probe}}]}`
const LISTENS_LATE = { nodes: 1, images: { "app:1": { listensAfterMs: 15_000 } } }
const workload = (kind: string, more: string, podSpec = ONE) => `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: w}
spec: {selector: {matchLabels: {app: w}}, ${more} template: {metadata: {labels: {app: w}}, spec: ${podSpec}}}
`
const claim = (mode: string) => `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: net}
provisioner: disk.example.com
volumeBindingMode: ${mode}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: net, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
const SERVICE = `
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

const ROWS: readonly Row[] = [
  {
    title: "a Deployment that is seconds old",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    options: SLOW,
    code: "starting",
    seconds: 600,
  },
  {
    title: "a Deployment with a progress deadline of its own",
    yaml: deployment("web", ONE, "progressDeadlineSeconds: 20"),
    ask: "deployment/web",
    options: SLOW,
    code: "starting",
    seconds: 20,
  },
  {
    title: "a Deployment whose progress deadline is over is not under way",
    yaml: deployment("web", ONE, "progressDeadlineSeconds: 5"),
    ask: "deployment/web",
    options: { nodes: 1, images: { "app:1": { startMs: 120_000 } } },
    after: "12s",
    state: "unwell",
    code: "starting",
  },
  {
    title: "a Deployment whose image cannot be pulled is not under way, however new it is",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    options: { nodes: 1, images: { "app:1": { pullError: "docker.io/library/app:1: not found" } } },
    state: "unwell",
    code: "image-not-found",
    later: "unwell",
  },
  {
    title: "a Deployment whose pods fit on no node is not under way",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: "100"}}}]}`),
    ask: "deployment/web",
    options: { nodes: 1 },
    state: "unwell",
    code: "insufficient-cpu",
    later: "unwell",
  },
  {
    title: "a rollout of a new image",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    options: { nodes: 1, images: { "app:2": { startMs: 8000 } } },
    changes: (cluster) => cluster.kubectl("set image deployment/web c=app:2"),
    code: "starting",
  },
  {
    title: "a rollout whose pods must be ready for some time",
    yaml: deployment("web", ONE, "minReadySeconds: 30"),
    ask: "deployment/web",
    options: { nodes: 1 },
    after: "10s",
    code: "rollout-goes-on",
    says: /a pod must be ready for 30 s/,
    seconds: 600,
  },
  {
    title: "a Deployment that no controller has looked at",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    options: { nodes: 1, components: { controllers: false } },
    code: "controller-behind",
    seconds: 30,
    later: "unwell",
  },
  {
    title: "a Deployment whose pod no scheduler has looked at",
    yaml: deployment("web", ONE),
    ask: "deployment/web",
    options: { nodes: 1, components: { scheduler: false } },
    code: "not-scheduled-yet",
    seconds: 30,
    later: "unwell",
  },
  {
    title: "a StatefulSet that is seconds old",
    yaml: workload("StatefulSet", "replicas: 3, serviceName: w,"),
    ask: "statefulset/w",
    options: SLOW,
    after: "12s",
    code: "starting",
  },
  {
    title: "a StatefulSet that no controller has looked at",
    yaml: workload("StatefulSet", "serviceName: w,"),
    ask: "statefulset/w",
    options: { nodes: 1, components: { controllers: false } },
    code: "pods-not-created",
    later: "unwell",
  },
  {
    title: "a DaemonSet that is seconds old",
    yaml: workload("DaemonSet", ""),
    ask: "daemonset/w",
    options: SLOW,
    code: "starting",
  },
  {
    title: "a DaemonSet that no controller has looked at",
    yaml: workload("DaemonSet", ""),
    ask: "daemonset/w",
    options: { nodes: 1, components: { controllers: false } },
    code: "controller-behind",
    later: "unwell",
  },
  {
    title: "a Job whose pod is starting",
    yaml: `apiVersion: batch/v1\nkind: Job\nmetadata: {name: task}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "app:1"}]}}}`,
    ask: "job/task",
    options: { nodes: 1, images: { "app:1": { startMs: 8000, runsMs: 1000 } } },
    code: "starting",
  },
  {
    title: "a pod that pulls its image",
    yaml: pod("web", ONE),
    ask: "pod/web",
    options: { nodes: 1, images: { "app:1": { pullMs: 20_000 } } },
    code: "starting",
    seconds: 600,
  },
  {
    title: "a pod whose program does not listen yet",
    yaml: pod("web", probed("readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 2, initialDelaySeconds: 4}")),
    ask: "pod/web",
    options: { nodes: 1, images: { "app:1": { listensAfterMs: 6500 } } },
    after: "6s",
    code: "readiness-probe-refused",
    seconds: 10,
  },
  {
    title: "a pod whose program has not listened for longer than its probe allows is not under way",
    yaml: pod("web", probed("readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 2}")),
    ask: "pod/web",
    options: LISTENS_LATE,
    after: "10s",
    state: "unwell",
    code: "readiness-probe-refused",
  },
  {
    title: "a pod whose program has the time of a startup probe",
    yaml: pod("web", probed("startupProbe: {tcpSocket: {port: 80}, periodSeconds: 2, failureThreshold: 30}")),
    ask: "pod/web",
    options: LISTENS_LATE,
    after: "10s",
    code: "startup-probe-refused",
    seconds: 60,
  },
  {
    title: "a pod whose probe asks for a path that there is not is not under way",
    yaml: pod("web", probed("readinessProbe: {httpGet: {port: 80, path: /up}}")),
    ask: "pod/web",
    options: { nodes: 1, images: { "app:1": { http: () => new Response("no", { status: 404 }) } } },
    after: "15s",
    state: "unwell",
    code: "readiness-probe-path",
    later: "unwell",
  },
  {
    title: "a pod whose init container runs",
    yaml: pod("web", `{initContainers: [{name: i, image: "init:1"}], containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/web",
    options: { nodes: 1, images: { "init:1": { runsMs: 20_000 } } },
    after: "10s",
    code: "init-container-runs",
    seconds: 60,
  },
  {
    title: "a pod whose readiness gate nobody has set yet",
    yaml: pod("web", `{readinessGates: [{conditionType: example.com/up}], containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/web",
    options: { nodes: 1 },
    after: "10s",
    code: "readiness-gate",
    seconds: 60,
    later: "unwell",
  },
  {
    title: "a pod that ends within its grace",
    yaml: pod("web", ONE),
    ask: "pod/web",
    options: { nodes: 1, images: { "app:1": { onStop: "ignore" } } },
    changes: (cluster) => cluster.kubectl("delete pod web --wait=false"),
    code: "terminating",
    seconds: 30,
    later: "unwell",
  },
  {
    title: "a claim that waits for the first pod that uses it",
    yaml: claim("WaitForFirstConsumer"),
    ask: "pvc/data",
    options: { nodes: 1, csiDrivers: { "disk.example.com": {} } },
    code: "claim-waits-for-pod",
    seconds: 60,
    later: "unwell",
  },
  {
    title: "a claim whose volume is being made",
    yaml: claim("Immediate"),
    ask: "pvc/data",
    options: { nodes: 1, csiDrivers: { "disk.example.com": { provisionDelay: "20s" } } },
    code: "provisioner-silent",
    seconds: 60,
  },
  {
    title: "a Service whose pods start",
    yaml: deployment("web", ONE) + SERVICE,
    ask: "service/web",
    options: SLOW,
    code: "starting",
  },
  {
    title: "a Service that waits for a load balancer",
    yaml:
      deployment("web", ONE) +
      SERVICE.replace("spec: {", "spec: {type: LoadBalancer, loadBalancerClass: example.com/lb, "),
    ask: "service/web",
    options: { nodes: 1 },
    after: "5s",
    code: "load-balancer-pending",
    later: "unwell",
  },
]

const secondsOf = ({ since = "", until = "" }: { readonly since?: string; readonly until?: string }) =>
  (Date.parse(until) - Date.parse(since)) / 1000

describe("why takes for under way", () => {
  test.each([...ROWS])("$title", async (row) => {
    const { options, changes, after = "3s", state = "under-way", later = "healthy" } = row
    // given something new, or a change to what runs
    await using cluster = await startCluster({ seed: 1, ...options })
    await cluster.apply(row.yaml)
    if (changes !== undefined) {
      await cluster.advance("2m")
      await changes(cluster)
    }
    await cluster.advance(after)

    // when somebody asks why
    const { code, answer } = await ask(cluster, row.ask)

    // then nothing is wrong as long as it may take, and the exit code is that of what is well
    const [first] = answer.findings
    expect({ state: answer.state, code: first?.cause.code }).toEqual({ state, code: row.code })
    expect(code).toBe(state === "under-way" ? 0 : 1)
    if (row.says !== undefined) expect(first!.cause.message).toMatch(row.says)
    if (row.seconds !== undefined) expect(secondsOf(first!)).toBe(row.seconds)
    // and later it is well, or something is wrong
    await cluster.advance("15m")
    expect((await ask(cluster, row.ask)).answer.state).toBe(later)
  })

  test("is told with its times, and that nothing is wrong yet", async () => {
    // given a Deployment that is seconds old, in a cluster that is well
    await using cluster = await startCluster({ nodes: 1, images: { "app:1": { pullMs: 20_000 } } })
    await cluster.advance("2m")
    await cluster.apply(deployment("web", ONE))
    await cluster.advance("3s")

    // when somebody asks why
    const one = await cluster.kubectl("why deployment/web")
    const all = await cluster.kubectl("why")
    const { groups, underWay, state } = JSON.parse((await cluster.kubectl("why -o json")).stdout) as Overview

    // then
    expect(one.stdout).toContain(
      [
        "Under way: it has been starting for 3s on node node-0 (starting)",
        "  since 2026-01-01T00:02:00Z; nothing is wrong until 2026-01-01T00:12:00Z",
        "  container c: ContainerCreating",
        '  event Pulling: Pulling image "app:1", for 3s',
      ].join("\n"),
    )
    expect(all.stdout).toMatch(
      /^Nothing is wrong: \d+ objects were looked at\n\nUnder way:\n {2}Deployment default\/web: it has been starting/,
    )
    expect([one.code, all.code]).toEqual([0, 0])
    expect({ state, groups: groups.length, underWay: underWay.map(({ cause }) => cause.code) }).toEqual({
      state: "under-way",
      groups: 0,
      underWay: ["starting"],
    })
  })
})
