import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

const MiB = 2 ** 20

let node: Awaited<ReturnType<typeof simulatedKubelet>>
beforeEach(async () => {
  node = await simulatedKubelet({
    web: { memoryBytes: 20 * MiB, logs: ["hello", "world"] },
    side: { memoryBytes: 5 * MiB },
  })
  await node.create("web", {
    containers: [
      {
        name: "web",
        image: "web",
        resources: { limits: { cpu: "500m", memory: "64Mi" } },
        livenessProbe: { exec: { command: ["true"] }, periodSeconds: 10 },
      },
      { name: "side", image: "side" },
    ],
  })
  await node.cluster.advance(30_000)
})
afterEach(() => node[Symbol.asyncDispose]())

const ask = async (path: string, init?: RequestInit) => {
  const asked = node.cluster.connector("node-0")!.proxy!(new Request(`http://node${path}`, init))
  await node.cluster.settle()
  const response = await asked
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() }
}
const json = async (path: string) => JSON.parse((await ask(path)).text) as unknown

describe("the kubelet's own paths", () => {
  test("serve the usage of node, pods and containers as the summary API", async () => {
    expect(await json("/stats/summary")).toMatchObject({
      node: {
        nodeName: "node-0",
        startTime: "2026-01-01T00:00:00Z",
        cpu: { time: "2026-01-01T00:00:30Z", usageNanoCores: 0, usageCoreNanoSeconds: 0 },
        memory: { workingSetBytes: 25 * MiB, availableBytes: 8 * 2 ** 30 - 25 * MiB },
        fs: { capacityBytes: 100 * 2 ** 30, availableBytes: 90 * 2 ** 30, usedBytes: 10 * 2 ** 30 },
        runtime: { imageFs: { capacityBytes: 100 * 2 ** 30 } },
        rlimit: { maxpid: 4_194_304, curproc: 100 },
        systemContainers: [{ name: "pods" }],
      },
      pods: [
        {
          podRef: { name: "web", namespace: "default", uid: expect.any(String) },
          memory: { workingSetBytes: 25 * MiB },
          "ephemeral-storage": { usedBytes: expect.any(Number) },
          containers: expect.arrayContaining([
            {
              name: "web",
              startTime: "2026-01-01T00:00:00Z",
              cpu: expect.anything(),
              memory: expect.objectContaining({ usageBytes: 20 * MiB, rssBytes: 20 * MiB }),
              rootfs: expect.anything(),
              logs: expect.objectContaining({ usedBytes: expect.any(Number) }),
            },
          ]),
        },
      ],
    })
    // and only the half of it where no more is wanted
    const half = (await json("/stats/summary?only_cpu_and_memory=true")) as { node: object; pods: [object] }
    expect(half.node).not.toHaveProperty("fs")
    expect(half.pods[0]).not.toHaveProperty("ephemeral-storage")
  })

  test("serve metrics for metrics-server and Prometheus", async () => {
    const resource = await ask("/metrics/resource")
    expect(resource.type).toBe("text/plain; version=0.0.4; charset=utf-8")
    const at = Date.parse("2026-01-01T00:00:30Z")
    for (const line of [
      `node_memory_working_set_bytes ${25 * MiB} ${at}`,
      `container_memory_working_set_bytes{container="web",namespace="default",pod="web"} ${20 * MiB} ${at}`,
      `pod_memory_working_set_bytes{namespace="default",pod="web"} ${25 * MiB} ${at}`,
      `container_start_time_seconds{container="web",namespace="default",pod="web"} ${at / 1000 - 30}`,
      "resource_scrape_error 0",
      "# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds",
      "# TYPE node_cpu_usage_seconds_total counter",
    ])
      expect(resource.text.split("\n")).toContain(line)
    // and each has a help that says how long it will be there, as Kubernetes' have
    expect(resource.text.match(/^# HELP .*$/gm)!.every((line) => /^# HELP \w+ \[(STABLE|ALPHA)\] /.test(line))).toBe(
      true,
    )

    const cadvisor = (await ask("/metrics/cadvisor")).text
    expect(cadvisor).toMatch(
      /^container_memory_working_set_bytes\{container="web",id="\/kubepods\/burstable\/pod[^"/]+\/[0-9a-f]{64}",image="[^"]*web[^"]*",name="[0-9a-f]{64}",namespace="default",pod="web"\} 20971520 \d+$/m,
    )
    expect(cadvisor).toMatch(/^container_spec_memory_limit_bytes\{container="web",[^}]*\} 67108864 \d+$/m)
    expect(cadvisor).toMatch(/^container_cpu_usage_seconds_total\{container="web",cpu="total",[^}]*\} 0 \d+$/m)
    expect(cadvisor).toMatch(/^machine_cpu_cores\{[^}]*\} 4$/m)

    expect((await ask("/metrics/probes")).text).toMatch(
      /^prober_probe_total\{container="web",namespace="default",pod="web",pod_uid="[^"]+",probe_type="Liveness",result="successful"\} [1-9]/m,
    )
    expect((await ask("/metrics")).text).toContain('kubelet_running_containers{container_state="running"} 2\n')
  })

  test("serve the pods as the kubelet sees them", async () => {
    expect(await json("/pods")).toMatchObject({
      kind: "PodList",
      apiVersion: "v1",
      items: [
        {
          metadata: { name: "web" },
          spec: { nodeName: "node-0" },
          status: { phase: "Running", podIP: expect.any(String) },
        },
      ],
    })
    expect(await json("/runningpods/")).toMatchObject({
      kind: "PodList",
      items: [
        {
          metadata: { name: "web", namespace: "default" },
          spec: { containers: expect.arrayContaining([{ name: "web", image: expect.any(String), resources: {} }]) },
        },
      ],
    })
  })

  test("serve the logs of containers, and of the machine", async () => {
    expect(await ask("/containerLogs/default/web/web?tailLines=1")).toMatchObject({ status: 200, text: "world\n" })
    expect(await ask("/containerLogs/default/none/web")).toMatchObject({ status: 404 })
    expect(await ask("/containerLogs/default/web/web?tailLines=x")).toMatchObject({
      status: 400,
      text: 'invalid tailLines "x": must be a whole number\n',
    })
    const [, pod = ""] = /<a href="(default_web_[^"]+)">/.exec((await ask("/logs/pods/")).text) ?? []
    expect(await ask(`/logs/pods/${pod}/web/0.log`)).toMatchObject({
      status: 200,
      type: "text/plain; charset=utf-8",
      text: expect.stringMatching(/ stdout F hello\n.* stdout F world\n$/),
    })
    expect(await ask("/logs/none")).toMatchObject({ status: 404 })
    expect(await ask("/logs/%2e%2e%2fetc%2fpasswd")).toMatchObject({ status: 404 })
  })

  test("serve the kubelet's health and configuration", async () => {
    expect(await ask("/healthz")).toMatchObject({ status: 200, text: "ok" })
    expect((await ask("/healthz?verbose")).text).toBe("[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n")
    expect((await ask("/metrics/slis")).text).toContain(
      'kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 2\n',
    )
    expect(await ask("/healthz/syncloop")).toMatchObject({ status: 200, text: "ok" })
    expect(await json("/configz")).toMatchObject({
      kubeletconfig: {
        kind: "KubeletConfiguration",
        maxPods: 110,
        clusterDomain: "cluster.local",
        nodeStatusUpdateFrequency: "10s",
        syncFrequency: "1m0s",
        evictionHard: { "memory.available": "100Mi" },
      },
    })
  })

  test("run a command to its end", async () => {
    // given
    const run = (path: string) => ask(`/run/${path}`, { method: "POST" })
    const uid = node.pod("web")!.metadata.uid!

    // then what it printed is the answer, and its failure is one
    expect(await run("default/web/web?cmd=echo%20hello%20you")).toMatchObject({
      status: 200,
      type: "application/json",
      text: "hello you\n",
    })
    expect(await run(`default/web/${uid}/side?cmd=hostname`)).toMatchObject({ status: 200, text: "web\n" })
    expect(await run("default/web/web?cmd=ls%20/none")).toMatchObject({
      status: 500,
      text: "command 'ls /none' exited with 1: ls: /none: No such file or directory\n\n",
    })
    expect(await run("default/web/none?cmd=true")).toMatchObject({
      status: 500,
      text: 'container not found ("none")\n',
    })
    expect(await run("default/web/another/web?cmd=true")).toMatchObject({ status: 500 })
    expect(await run("default/none/web?cmd=true")).toMatchObject({ status: 404, text: "pod does not exist\n" })
  })

  test("are parsed, and unknown ones are refused", async () => {
    expect(await ask("/pods", { method: "POST" })).toMatchObject({ status: 405, text: "Method Not Allowed" })
    expect(await ask("/run/default/web/web")).toMatchObject({ status: 405 })
    expect(await ask("/none")).toMatchObject({ status: 404 })
    expect(await ask("/")).toMatchObject({ status: 404 })
  })
})
