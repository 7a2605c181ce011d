import { describe, expect, test } from "bun:test"
import { web } from "./cluster.fixtures.ts"
import { CronJob, Deployment, Job, Node, Pod, startCluster } from "./testing.ts"

const NIGHTLY = `
apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly }
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - { name: work, image: busybox, command: [sh, -c, "echo done; sleep 30"] }
`

describe("a cluster", () => {
  test("runs a Deployment's pods on its nodes", async () => {
    // given three nodes
    await using cluster = await startCluster({ nodes: 3 })
    // when
    await cluster.apply(web(6))
    // then the pods run, are ready and have addresses of their nodes' ranges
    const pods = await cluster.eventually(Pod, { labels: "app=web", phase: "Running" }, (all) => all.length === 6)
    const nodes = await cluster.list(Node)
    for (const { spec, status } of pods) {
      const range = nodes.find(({ metadata }) => metadata.name === spec.nodeName)?.spec.podCIDR?.replace("0/24", "")
      expect(status.podIP).toStartWith(range ?? "?")
    }
    expect(new Set(pods.map(({ status }) => status.podIP)).size).toBe(6)
    expect((await cluster.get(Deployment, "web")).status.readyReplicas).toBe(6)
  })

  test("runs a CronJob every midnight", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1, startTime: "2026-03-01T12:00:00Z" })
    await cluster.apply(NIGHTLY)
    // when three days pass
    await cluster.advance("3d")
    // then it ran three times, and each run ended well
    const jobs = await cluster.list(Job)
    expect(jobs.map(({ status }) => status.startTime)).toEqual([
      "2026-03-02T00:00:00Z",
      "2026-03-03T00:00:00Z",
      "2026-03-04T00:00:00Z",
    ])
    expect(jobs.map(({ status }) => status.succeeded)).toEqual([1, 1, 1])
    expect((await cluster.get(CronJob, "nightly")).status.lastScheduleTime).toBe("2026-03-04T00:00:00Z")
    expect(await cluster.logs((await cluster.list(Pod))[0]!)).toBe("done\n")
  })

  test("is independent of other clusters in the process", async () => {
    // given many clusters at the same time
    const clusters = await Promise.all(Array.from({ length: 20 }, () => startCluster({ nodes: 1 })))
    // when each gets something of its own
    await Promise.all(clusters.map((cluster, index) => cluster.apply(web(index % 3))))
    // then none has anything of another
    for (const [index, cluster] of clusters.entries()) expect(await cluster.list(Pod)).toHaveLength(index % 3)
    await Promise.all(clusters.map((cluster) => cluster.stop()))
  })

  test("can have nodes with capacity, labels and taints", async () => {
    // given
    await using cluster = await startCluster({
      nodes: [
        { name: "small", capacity: { cpu: 1, memory: "1Gi" } },
        { name: "gpu", labels: { gpu: "yes" }, taints: [{ key: "gpu", effect: "NoSchedule" }] },
      ],
    })
    // when a pod asks for more than the small one has
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "big" },
      spec: { containers: [{ name: "big", image: "big", resources: { requests: { cpu: "2" } } }] },
    })
    // then it is told why it fits nowhere, node by node
    const [found] = (await cluster.explain("big")).findings
    expect(found?.cause.code).toBe("insufficient-cpu")
    const { evidence = [] } = found?.cause ?? {}
    expect(evidence.slice(0, 2)).toEqual([
      "node small: needs 2 CPUs, the whole node has 1",
      "node gpu: has the taint gpu:NoSchedule, which the pod does not tolerate",
    ])
    expect(evidence.slice(2).join()).toStartWith("scheduler: 0/2 nodes are available")
  })

  test("writes little in a month without work, and its nodes stay Ready", async () => {
    // given
    await using cluster = await startCluster({ nodes: 2 })
    await cluster.apply(web(2))
    const before = cluster.history().length
    // when
    await cluster.advance("30d")
    // then hardly anything was written but what its pods need, and all is as it was
    expect(cluster.history().length - before).toBeLessThan(20_000)
    expect(
      (await cluster.list(Node)).every(({ status }) =>
        status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
      ),
    ).toBe(true)
    expect(await cluster.list(Pod, { phase: "Running" })).toHaveLength(2)
  })
})

describe("images", () => {
  test("have the exit code, termination message and logs that they are given, and restart with back-off", async () => {
    // given an image that fails
    await using cluster = await startCluster({
      nodes: 1,
      images: { broken: { runsMs: 100, exitCode: 3, terminationMessage: "no luck", logs: ["starting"] } },
    })
    await cluster.apply(web(1, "broken:1"))
    // when some time passes
    await cluster.advance("5m")
    // then it is restarted with growing delays
    const [pod] = await cluster.list(Pod)
    const [status] = pod!.status.containerStatuses!
    expect(status!.state.waiting?.reason).toBe("CrashLoopBackOff")
    expect(status!.restartCount).toBe(5)
    expect(status!.lastState.terminated).toMatchObject({ exitCode: 3, message: "no luck" })
    const why = String(await cluster.explain(pod!))
    expect(why).toContain("ended with exit code 3, reason Error, after 0s; it was started 6 times")
    expect(why).toContain("its last words: no luck")
  })

  test("answer HTTP probes by a function of the test", async () => {
    // given an image whose health is the test's to say
    let healthy = false
    await using cluster = await startCluster({
      nodes: 1,
      images: { api: { http: () => new Response("", { status: healthy ? 200 : 503 }) } },
    })
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "api" },
      spec: {
        containers: [
          { name: "api", image: "api", readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 5 } },
        ],
      },
    })
    const ready = async () =>
      (await cluster.get(Pod, "api")).status.conditions?.find(({ type }) => type === "Ready")?.status
    await cluster.advance("1m")
    expect(await ready()).toBe("False")
    expect((await cluster.explain("api")).findings.map(({ cause }) => cause.message)).toEqual([
      "the readiness probe of container api asks for /ready, and the program answers 503: it says that it is not well, so it gets no requests",
    ])
    // when it becomes healthy, and unhealthy again
    healthy = true
    await cluster.eventually(async () => (await ready()) === "True", { within: "10s" })
    healthy = false
    await cluster.eventually(async () => (await ready()) === "False", { within: "20s" })
    // then requests reach it all the while
    const { status } = await cluster.get(Pod, "api")
    expect((await cluster.fetch(`http://${status.podIP}:8080/`)).status).toBe(503)
  })

  test("use the memory that they are given, and are killed above their limit", async () => {
    // given
    await using cluster = await startCluster({ nodes: 1, images: { hog: { memoryBytes: 200 * 2 ** 20 } } })
    // when
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "hog" },
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "hog", image: "hog", resources: { limits: { memory: "100Mi" } } }],
      },
    })
    // then
    const { status } = await cluster.get(Pod, "hog")
    expect(status.phase).toBe("Failed")
    expect(status.containerStatuses![0]!.state.terminated).toMatchObject({ reason: "OOMKilled", exitCode: 137 })
  })

  test("stop after the time that they are given, or only when they are killed", async () => {
    // given one that needs ten seconds and one that never listens
    await using cluster = await startCluster({
      nodes: 1,
      images: { slow: { onStop: { afterMs: 10_000 } }, deaf: { onStop: "ignore" } },
    })
    const pod = (name: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name, image: name }] },
    })
    await cluster.apply([pod("slow"), pod("deaf")])
    const began = cluster.now.getTime()
    // when both are deleted
    await cluster.delete(Pod, "slow")
    await cluster.delete(Pod, "deaf")
    // then each goes in its own time
    await cluster.eventually(async () => (await cluster.find(Pod, "slow")) === undefined)
    expect(cluster.now.getTime() - began).toBe(10_000)
    await cluster.eventually(async () => (await cluster.find(Pod, "deaf")) === undefined)
    expect(cluster.now.getTime() - began).toBe(30_000)
  })
})
