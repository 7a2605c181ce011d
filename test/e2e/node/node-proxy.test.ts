/** The paths of the kubelet about its node and pods, through the API server. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { Summary } from "../../../components/kubelet/stats/summary-types.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"

describeOnNode("a node's own paths", () => {
  let cluster: Cluster
  let proxy: string
  beforeAll(async () => {
    cluster = await startCluster()
    const name = (await cluster.kubectl.ok("get nodes -o jsonpath={.items[0].metadata.name}")).trim()
    proxy = `/api/v1/nodes/${name}/proxy`
    const volumeMounts = [
      { name: "disk", mountPath: "/disk" },
      { name: "memory", mountPath: "/memory" },
    ]
    const write = "for file in /disk/big /memory/big; do dd if=/dev/zero of=$file bs=1M count=5; done"
    await cluster.runPod("busy", {
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory", sizeLimit: "8Mi" } },
      ],
      // The size of a volume is known for a minute, so the files are there before anything may measure it.
      initContainers: [{ name: "writes", image: BUSYBOX, command: sh(write), volumeMounts }],
      containers: [
        {
          name: "burns",
          image: BUSYBOX,
          command: ["sh", "-c", "trap exit TERM; echo began; while :; do :; done"],
          resources: { limits: { cpu: "200m", memory: "64Mi" } },
        },
        {
          name: "rests",
          image: BUSYBOX,
          command: stay(),
          volumeMounts,
        },
      ],
    })
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  const raw = (path: string) => cluster.kubectl.ok(["get", "--raw", proxy + path])

  test("show what its pods use: CPU, memory, disk and network", async () => {
    // given a pod with network traffic and files on its disk and in its volumes
    await cluster.kubectl.run([
      "exec",
      "busy",
      "-c",
      "rests",
      "--",
      "sh",
      "-c",
      "dd if=/dev/zero of=/big bs=1M count=5 2>/dev/null; nc -w 1 $KUBERNETES_SERVICE_HOST 443 </dev/null",
    ])

    // when it has run long enough for its usage to be known
    let summary: Summary
    const stats = (name: string) =>
      summary.pods.find(({ podRef }) => podRef.name === "busy")?.containers.find((container) => container.name === name)
    do summary = JSON.parse(await raw("/stats/summary")) as Summary
    while (stats("burns")?.cpu?.usageNanoCores === undefined)

    // then the node uses more than the pod, and the pod as much as its containers
    const { node } = summary
    const pod = summary.pods.find(({ podRef }) => podRef.name === "busy")!
    const [burns, rests] = [stats("burns"), stats("rests")]
    expect(node.cpu!.usageCoreNanoSeconds).toBeGreaterThan(pod.cpu!.usageCoreNanoSeconds)
    expect(node.memory!.workingSetBytes).toBeGreaterThan(pod.memory!.workingSetBytes)
    expect(node.memory!.availableBytes).toBeGreaterThan(0)
    expect(node.fs!.capacityBytes).toBeGreaterThan(node.fs!.availableBytes)
    expect(node.runtime!.imageFs!.capacityBytes).toBeGreaterThan(0)
    expect(node.network!.interfaces.length).toBeGreaterThan(0)
    expect(node.rlimit!.curproc).toBeGreaterThan(10)
    expect(burns!.cpu!.usageCoreNanoSeconds).toBeGreaterThan(rests!.cpu!.usageCoreNanoSeconds)
    expect(burns!.cpu!.usageNanoCores).toBeLessThan(4e8)
    expect(burns!.memory!.availableBytes).toBe(64 * 2 ** 20 - burns!.memory!.workingSetBytes)
    expect(rests!.memory).not.toHaveProperty("availableBytes")
    expect(burns!.logs!.usedBytes).toBeGreaterThan(0)
    expect(pod.network).toMatchObject({ name: "eth0", rxBytes: expect.any(Number) })
    expect(pod.network!.txBytes).toBeGreaterThan(0)
    expect(pod.process_stats!.process_count).toBeGreaterThanOrEqual(3)

    // and the volumes have the bytes that were written to them
    const volume = (name: string) => pod.volume!.find((one) => one.name === name)!
    expect(volume("disk")).toMatchObject({ capacityBytes: node.fs!.capacityBytes, inodesUsed: 2 })
    expect(volume("memory")).toMatchObject({ capacityBytes: 8 * 2 ** 20, availableBytes: 3 * 2 ** 20, inodesUsed: 2 })
    for (const name of ["disk", "memory"]) expect(volume(name).usedBytes).toBeGreaterThanOrEqual(5 * 2 ** 20)
    expect(pod.volume!.find(({ name }) => name.startsWith("kube-api-access-"))!.usedBytes).toBeGreaterThan(1000)
    expect(pod["ephemeral-storage"]!.usedBytes).toBeGreaterThanOrEqual(5 * 2 ** 20)
  }, 60_000)

  test("run a command and return its output", async () => {
    expect(
      await cluster.kubectl.ok([
        "create",
        "--raw",
        `${proxy}/run/default/busy/rests?cmd=echo%20hello`,
        "-f",
        "/dev/null",
      ]),
    ).toBe("hello\n")
  })

  test("give the metrics of containers in cAdvisor's format", async () => {
    const lines = (await raw("/metrics/cadvisor")).split("\n")
    const value = (name: string, ...labels: readonly string[]) =>
      Number(
        lines
          .find((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
          ?.split("} ")[1]
          ?.split(" ")[0],
      )
    const burns = ['container="burns"', 'namespace="default"', 'pod="busy"']
    expect(value("container_cpu_usage_seconds_total", ...burns)).toBeGreaterThan(0.1)
    expect(value("container_cpu_cfs_throttled_periods_total", ...burns)).toBeGreaterThan(0)
    expect(value("container_memory_working_set_bytes", ...burns)).toBeGreaterThan(0)
    expect(value("container_memory_rss", ...burns)).toBeGreaterThan(0)
    expect(value("container_spec_memory_limit_bytes", ...burns)).toBe(64 * 2 ** 20)
    expect(value("container_network_transmit_bytes_total", 'interface="eth0"', 'pod="busy"')).toBeGreaterThan(0)
    expect(value("container_cpu_usage_seconds_total", 'id="/"')).toBeGreaterThan(0)
    expect(value("machine_memory_bytes")).toBeGreaterThan(2 ** 28)
    expect(await raw("/metrics/resource")).toMatch(
      /^pod_cpu_usage_seconds_total\{namespace="default",pod="busy"\} [\d.]+ \d+$/m,
    )
  })

  test("show pods, their logs and the kubelet's health to users who have the right", async () => {
    const { items } = JSON.parse(await raw("/pods")) as {
      items: { metadata: { name: string }; status: { phase: string } }[]
    }
    expect(items.find(({ metadata }) => metadata.name === "busy")?.status.phase).toBe("Running")
    expect(await raw("/runningpods/")).toContain('"name":"burns"')
    expect(await raw("/containerLogs/default/busy/burns")).toBe("began\n")
    expect(await raw("/logs/pods/")).toContain('<a href="default_busy_')
    expect(await raw("/healthz")).toBe("ok")
    expect(await raw("/configz")).toContain('"kubeletconfig":{"kind":"KubeletConfiguration"')
    const { code, err } = await cluster.kubectl.run(["get", "--raw", `${proxy}/pods`, "--as", "jane"])
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('cannot get resource "nodes/proxy" in API group "" at the cluster scope'),
    ])
  })

  test("are the numbers that kubectl top shows", async () => {
    // given a pod that uses a fifth of a core, on a busy machine not at once; its usage is known after two measurements
    const shown = async () => (await cluster.kubectl.run(["top", "pod", "busy", "--containers", "--no-headers"])).out
    let cpu: Partial<Record<string, number>>
    do {
      const lines = (await shown()).split("\n").map((line) => line.trim().split(/\s+/))
      cpu = Object.fromEntries(lines.map(([, name = "", cores = ""]) => [name, Number.parseInt(cores)]))
    } while (!(cpu["burns"]! >= 100))
    // then
    expect(cpu["burns"]).toBeWithin(100, 300)
    expect(cpu["rests"]).toBeLessThan(50)
    expect(await cluster.kubectl.ok("top node --no-headers")).toMatch(/^\S+\s+\d+m\s+\d+%\s+\d+Mi\s+\d+%/)
    // and a user without rights gets no numbers
    const refused = await cluster.kubectl.run(["top", "pod", "--as", "somebody"])
    expect(refused.err).toContain(
      'cannot list resource "pods" in API group "metrics.k8s.io" in the namespace "default"',
    )
  })
})
