import { describe, expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

describe("a pod's worker", () => {
  test("runs a pod and reports its status", async () => {
    // given a node
    await using node = await simulatedKubelet({ web: {} })
    // when a pod is bound to it
    await node.create("web", { containers: [{ name: "c", image: "web" }] })
    // then it runs and is ready
    const status = node.status("web")
    expect(status).toMatchObject({
      phase: "Running",
      hostIP: "192.168.0.2",
      podIP: "10.128.0.2",
      qosClass: "BestEffort",
      startTime: "2026-01-01T00:00:00Z",
      observedGeneration: 1,
    })
    expect(status.conditions!.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=True",
      "ContainersReady=True",
      "PodScheduled=True",
    ])
    expect(node.events("web").map((text) => text.split(":")[0])).toEqual(["Pulling", "Pulled", "Created", "Started"])
  })

  test(
    "waits ten seconds, then twenty, then forty before it starts a crashing container again, and forgets after " +
      "ten quiet minutes",
    async () => {
      // given a container that ends after a second, but the fifth time after eleven minutes
      await using node = await simulatedKubelet({
        crash: {
          run: async (container) => {
            await container.sleep(container.attempt === 4 ? 660_000 : 1000)
            return 1
          },
        },
      })
      await node.create("crash", { containers: [{ name: "c", image: "crash" }] })
      const starts: number[] = []
      let seen = -1
      // when time passes
      for (let second = 0; second < 900; second++) {
        const { restartCount, state } = node.status("crash").containerStatuses![0]!
        if (state.running !== undefined && restartCount > seen) {
          starts.push(second)
          seen = restartCount
        }
        await node.cluster.advance(1000)
      }
      // then the first start after a crash comes at once, and each later one after twice as long
      expect(starts.slice(0, 5)).toEqual([0, 1, 12, 33, 74])
      // and after the long run there is again no waiting
      expect(starts[5]).toBe(74 + 660)
    },
  )

  test("with a mistake that one pod shows tries that pod again, and other pods start and end meanwhile", async () => {
    // given a node where a step fails for one pod as only a mistake of the program fails
    await using node = await simulatedKubelet({ web: {} })
    const { runPodSandbox } = node.runtime.containers
    let isMended = false
    let tries = 0
    node.runtime.containers.runPodSandbox = (config, ...rest) => {
      if (config.metadata?.name !== "bad" || isMended)
        return runPodSandbox.call(node.runtime.containers, config, ...rest)
      tries++
      throw new TypeError("undefined is not an object")
    }
    // when
    await node.create("bad", { containers: [{ name: "c", image: "web" }] })
    await node.create("good", { containers: [{ name: "c", image: "web" }] })
    await node.cluster.advance("1m")
    // then
    expect(node.status("good").phase).toBe("Running")
    expect(node.status("bad").phase).toBe("Pending")
    expect(tries).toBeGreaterThan(1)
    expect(tries).toBeLessThan(15)
    // and once the cause is gone the pod starts without anybody's help
    isMended = true
    await node.cluster.advance("1m")
    expect(node.status("bad").phase).toBe("Running")
  })

  test("retries to create a sandbox every ten seconds", async () => {
    // given a node whose network has no address left, and counts how often it is asked
    await using node = await simulatedKubelet({})
    let asked = 0
    node.runtime.containers.runPodSandbox = () => {
      asked++
      return Promise.reject(new Error("no IP addresses available"))
    }
    // when two pods are to run there
    await node.create("a", { containers: [{ name: "c", image: "web" }] })
    await node.create("b", { containers: [{ name: "c", image: "web" }] })
    await node.cluster.advance(25_000)
    // then neither wakes the other
    expect(asked).toBe(6)
    expect(node.events("a")).toEqual([
      "FailedCreatePodSandBox: Failed to create pod sandbox: no IP addresses available",
    ])
  })

  test("restarts a container that ended before its state was first read", async () => {
    // given containers that end within their start, so that no event tells of it later
    await using node = await simulatedKubelet({
      quick: { run: async (container) => (container.attempt === 0 ? 1 : 0) },
    })
    // when it fails at once, the first time
    await node.create("quick", {
      restartPolicy: "OnFailure",
      initContainers: [{ name: "i", image: "quick" }],
      containers: [{ name: "c", image: "quick" }],
    })
    await node.cluster.advance(1000)
    // then it runs a second time
    expect(node.status("quick")).toMatchObject({
      phase: "Succeeded",
      initContainerStatuses: [{ restartCount: 1 }],
      containerStatuses: [{ restartCount: 1, state: { terminated: { exitCode: 0 } } }],
    })
  })

  test("shows CrashLoopBackOff and how the container ended before", async () => {
    await using node = await simulatedKubelet({ crash: { runsMs: 1000, exitCode: 3, terminationMessage: "no luck" } })
    await node.create("crash", { containers: [{ name: "c", image: "crash" }] })
    await node.cluster.advance(3000)
    expect(node.status("crash")).toMatchObject({
      phase: "Running",
      containerStatuses: [
        {
          restartCount: 1,
          ready: false,
          started: false,
          state: {
            waiting: {
              reason: "CrashLoopBackOff",
              message: expect.stringContaining("back-off 10s restarting failed container=c pod=crash_default("),
            },
          },
          lastState: { terminated: { exitCode: 3, reason: "Error", message: "no luck" } },
        },
      ],
    })
    expect(node.events("crash")).toContainEqual(
      expect.stringContaining("BackOff: Back-off restarting failed container c in pod crash_default("),
    )
  })

  test("gives a pod of a Job its final phase", async () => {
    await using node = await simulatedKubelet({ good: { runsMs: 1000 }, bad: { runsMs: 1000, exitCode: 2 } })
    await node.create("good", { restartPolicy: "Never", containers: [{ name: "c", image: "good" }] })
    await node.create("bad", {
      restartPolicy: "Never",
      containers: [
        { name: "c", image: "bad" },
        { name: "d", image: "good" },
      ],
    })
    await node.create("again", {
      restartPolicy: "OnFailure",
      containers: [
        { name: "c", image: "bad" },
        { name: "d", image: "good" },
      ],
    })
    await node.cluster.advance(2500)
    expect(["good", "bad", "again"].map((name) => node.status(name).phase)).toEqual(["Succeeded", "Failed", "Running"])
    expect(node.status("again").containerStatuses!.map(({ restartCount }) => restartCount)).toEqual([1, 0])
    expect(node.status("good").conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "False",
      reason: "PodCompleted",
    })
  })

  test("unmounts the volumes of a pod that has finished, although the pod stays in the API", async () => {
    // given a pod with a volume, of which the node keeps a file
    await using node = await simulatedKubelet({ work: { runsMs: 1000 } })
    const spec = {
      restartPolicy: "Never" as const,
      containers: [{ name: "c", image: "work", volumeMounts: [{ name: "about", mountPath: "/about" }] }],
      volumes: [
        { name: "about", downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
      ],
    }
    await node.create("work", spec)
    const kept = () => node.runtime.files.below("/var/lib/kubelet/memory")
    expect(kept()).toHaveLength(1)
    // when it has ended
    await node.cluster.advance(2000)
    // then nothing of the volume is kept
    expect(node.status("work").phase).toBe("Succeeded")
    expect(kept()).toEqual([])
  })

  test("removes a pod's cgroup again when its sandbox is gone, in case it was still in use before", async () => {
    // given a node on which a process is on its way out still when its pod ends
    await using node = await simulatedKubelet({ web: {} })
    const { cgroups } = node.runtime
    const remove = cgroups.remove.bind(cgroups)
    let refused = 0
    cgroups.remove = (path) => (refused++ === 0 ? Promise.resolve() : remove(path))
    await node.create("web", { containers: [{ name: "c", image: "web" }] })
    expect(await cgroups.children(["kubepods", "besteffort"])).toHaveLength(1)
    // when the pod is deleted
    await node.cluster.delete(Pod, "web")
    await node.cluster.advance("1m")
    // then no cgroup of it is left
    expect(await cgroups.children(["kubepods", "besteffort"])).toEqual([])
  })

  test("does not run pods that the node must not run", async () => {
    await using node = await simulatedKubelet({ web: {} })
    await node.create("sysctl", {
      securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] },
      containers: [{ name: "c", image: "web" }],
    })
    await node.create("big", { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "64" } } }] })
    expect(node.status("sysctl")).toMatchObject({ phase: "Failed", reason: "SysctlForbidden" })
    expect(node.status("big")).toMatchObject({
      phase: "Failed",
      reason: "OutOfcpu",
      message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 64000, used: 0, capacity: 4000",
    })
    expect(await node.runtime.containers.listPodSandboxes()).toEqual([])
  })

  test("reports why a container cannot be created", async () => {
    await using node = await simulatedKubelet({ root: { uid: 0 }, bad: { startError: "exec: no such file" } })
    await node.create("root", { containers: [{ name: "c", image: "root", securityContext: { runAsNonRoot: true } }] })
    await node.create("bad", { containers: [{ name: "c", image: "bad" }] })
    expect(node.status("root").containerStatuses![0]!.state.waiting).toMatchObject({
      reason: "CreateContainerConfigError",
      message: expect.stringContaining("container has runAsNonRoot and image will run as root"),
    })
    expect(["RunContainerError", "CrashLoopBackOff"]).toContain(
      node.status("bad").containerStatuses![0]!.state.waiting!.reason!,
    )
    expect(node.events("bad")).toContainEqual("Failed: Error: exec: no such file")
  })

  test("adopts running pods when it starts again: nothing is restarted, nothing is written", async () => {
    await using node = await simulatedKubelet({ web: {} })
    await node.create("web", {
      containers: [{ name: "c", image: "web", readinessProbe: { exec: { command: ["true"] } } }],
    })
    await node.cluster.advance(1000)
    const before = node.pod("web")!
    expect(before.status.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True")
    await node.restart()
    await node.cluster.advance(30_000)
    expect(node.pod("web")!).toBe(before)
  })

  test("creates a new sandbox when the old one is lost", async () => {
    await using node = await simulatedKubelet({ web: {} })
    await node.create("web", { containers: [{ name: "c", image: "web" }] })
    const [sandbox] = await node.runtime.containers.listPodSandboxes()
    await node.runtime.containers.stopPodSandbox(sandbox!.id)
    await node.cluster.advance(15_000)
    expect(node.status("web")).toMatchObject({
      phase: "Running",
      containerStatuses: [{ restartCount: 1, state: { running: {} } }],
    })
    expect(node.events("web")).toContainEqual("SandboxChanged: Pod sandbox changed, it will be killed and re-created.")
  })

  test(
    "resizes running containers in place, restarts those whose resizePolicy says so, and waits where the node has too " +
      "little",
    async () => {
      // given a pod whose memory may only change with a restart
      await using node = await simulatedKubelet({ web: {} })
      const sized = (cpu: string, memory: string) => [
        { name: "a", image: "web", resources: { requests: { cpu, memory: "1Gi" } }, resizePolicy: [] },
        {
          name: "b",
          image: "web",
          resources: { requests: { cpu: "1", memory } },
          resizePolicy: [{ resourceName: "memory" as const, restartPolicy: "RestartContainer" as const }],
        },
      ]
      await node.create("web", { containers: sized("1", "1Gi") })
      const resize = async (cpu: string, memory: string) => {
        await node.cluster.client.patch(
          Pod,
          { name: "web", namespace: "default" },
          { type: "strategic", body: { spec: { containers: sized(cpu, memory) } } },
          { subresource: "resize" },
        )
        await node.cluster.advance(1000)
        return node.status("web")
      }
      // when cpu changes, then nothing is restarted
      const ids = node.status("web").containerStatuses!.map(({ containerID }) => containerID)
      const first = await resize("2", "1Gi")
      expect(
        first.containerStatuses!.map(({ containerID, allocatedResources }) => [
          containerID,
          allocatedResources!["cpu"],
        ]),
      ).toEqual([
        [ids[0], "2"],
        [ids[1], "1"],
      ])
      // when memory changes, then one is
      const second = await resize("2", "2Gi")
      expect(second.containerStatuses!.map(({ restartCount }) => restartCount)).toEqual([0, 1])
      // when it asks for more than others leave of the node, then it keeps what it has, and says so
      await node.create("other", { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "1" } } }] })
      const third = await resize("3", "2Gi")
      expect(third.containerStatuses![0]!.allocatedResources).toMatchObject({ cpu: "2" })
      expect(third.conditions).toContainEqual(
        expect.objectContaining({ type: "PodResizePending", status: "True", reason: "Deferred" }),
      )
      // and no longer says so when it is content again
      expect((await resize("2", "2Gi")).conditions!.some(({ type }) => type === "PodResizePending")).toBe(false)
    },
  )

  test("evicts a pod when memory is short", async () => {
    await using node = await simulatedKubelet({
      modest: { memoryBytes: 10 * 2 ** 20 },
      greedy: { memoryBytes: 2 ** 30 },
    })
    await node.create("modest", { containers: [{ name: "c", image: "modest" }] })
    await node.create("greedy", { containers: [{ name: "c", image: "greedy" }] })
    node.runtime.faults.runShort("memory")
    await node.cluster.advance(11_000)
    expect(node.status("greedy")).toMatchObject({
      phase: "Failed",
      reason: "Evicted",
      message: expect.stringContaining(
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 0.",
      ),
    })
    expect(node.status("greedy").conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }),
    )
    expect(node.status("modest").phase).toBe("Running")
  })
})
