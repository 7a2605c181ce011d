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

  test("tries every ten seconds to make a sandbox that cannot be made", async () => {
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
    const remove = cgroups.remove
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

  test("ends sidecars after the containers, in the reverse order of their start, and then the pod", async () => {
    // given containers that note when they are told to end
    const ended: string[] = []
    const noting = (afterMs: number) => ({
      run: async (container: {
        name: string
        stopping: AbortSignal
        sleep(ms: number): Promise<void>
        now(): number
      }) => {
        await new Promise<void>((resolve) => container.stopping.addEventListener("abort", () => resolve()))
        ended.push(container.name)
        await container.sleep(afterMs)
        return 0
      },
    })
    await using node = await simulatedKubelet({ side: noting(0), slow: noting(3000) })
    await node.create("pod", {
      initContainers: [
        { name: "s1", image: "side", restartPolicy: "Always" },
        { name: "s2", image: "side", restartPolicy: "Always" },
      ],
      containers: [
        { name: "a", image: "slow" },
        { name: "b", image: "slow" },
      ],
    })
    expect(node.status("pod").phase).toBe("Running")
    // when it is deleted
    await node.delete("pod")
    // then only the containers are told to end, at once
    expect(ended.sort()).toEqual(["a", "b"])
    await node.cluster.advance(2900)
    expect(ended).toHaveLength(2)
    expect(node.pod("pod")).toBeDefined()
    // and the sidecars when those have ended, the last one first
    await node.cluster.advance(200)
    expect(ended.slice(2)).toEqual(["s2", "s1"])
    expect(node.pod("pod")).toBeUndefined()
    expect(await node.runtime.containers.listPodSandboxes()).toEqual([])
  })

  test("kills a container that ignores its stop signal after the grace period, or earlier when that is shortened", async () => {
    await using node = await simulatedKubelet({ deaf: { onStop: "ignore" } })
    for (const name of ["patient", "hurried"])
      await node.create(name, { terminationGracePeriodSeconds: 60, containers: [{ name: "c", image: "deaf" }] })
    await node.delete("patient")
    await node.delete("hurried")
    await node.cluster.advance(5000)
    // when one is given less time
    await node.delete("hurried", 3)
    await node.cluster.advance(3000)
    expect([node.pod("patient") !== undefined, node.pod("hurried") !== undefined]).toEqual([true, false])
    await node.cluster.advance(51_000)
    expect(node.pod("patient")).toBeDefined()
    await node.cluster.advance(2000)
    expect(node.pod("patient")).toBeUndefined()
  })

  test("runs preStop hooks within the grace period", async () => {
    const calls: string[] = []
    await using node = await simulatedKubelet({
      web: {
        exec: (command) => {
          calls.push(command.join(" "))
          return 0
        },
        onStop: "exit",
      },
    })
    await node.create("web", {
      containers: [
        { name: "a", image: "web", lifecycle: { preStop: { exec: { command: ["bye", "now"] } } } },
        { name: "b", image: "web", lifecycle: { preStop: { sleep: { seconds: 7 } } } },
      ],
    })
    await node.delete("web")
    expect(calls).toEqual(["bye now"])
    await node.cluster.advance(6900)
    expect(node.pod("web")).toBeDefined()
    await node.cluster.advance(200)
    expect(node.pod("web")).toBeUndefined()
  })

  test("kills and restarts a container whose liveness probe fails, with the probe's own grace period", async () => {
    let healthy = true
    await using node = await simulatedKubelet({ web: { onStop: "ignore", exec: () => (healthy ? 0 : 1) } })
    await node.create("web", {
      containers: [
        {
          name: "c",
          image: "web",
          livenessProbe: {
            exec: { command: ["check"] },
            periodSeconds: 5,
            failureThreshold: 3,
            terminationGracePeriodSeconds: 4,
          },
        },
      ],
    })
    await node.cluster.advance(20_000)
    expect(node.status("web").containerStatuses![0]!.restartCount).toBe(0)
    // when it is sick
    healthy = false
    await node.cluster.advance(15_000)
    healthy = true
    await node.cluster.advance(4000)
    // then it was killed after the third failure and runs anew
    expect(node.status("web").containerStatuses![0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 137 } },
    })
    expect(node.events("web")).toContainEqual("Killing: Container c failed liveness probe, will be restarted")
    expect(node.events("web")).toContainEqual(expect.stringContaining("Unhealthy: Liveness probe failed: "))
  })

  test("holds the other probes, and the init containers after a sidecar, until the startup probe has succeeded", async () => {
    let up = false
    await using node = await simulatedKubelet({ side: { exec: () => (up ? 0 : 1) }, init: { runsMs: 1000 }, main: {} })
    await node.create("pod", {
      initContainers: [
        {
          name: "side",
          image: "side",
          restartPolicy: "Always",
          startupProbe: { exec: { command: ["x"] }, periodSeconds: 1, failureThreshold: 60 },
        },
        { name: "init", image: "init" },
      ],
      containers: [{ name: "main", image: "main" }],
    })
    await node.cluster.advance(10_000)
    expect(node.status("pod")).toMatchObject({
      phase: "Pending",
      initContainerStatuses: [
        { started: false, state: { running: {} } },
        { state: { waiting: { reason: "PodInitializing" } } },
      ],
    })
    expect(node.status("pod").conditions?.find(({ type }) => type === "Initialized")).toMatchObject({
      status: "False",
      message: "containers with incomplete status: [side init]",
    })
    up = true
    await node.cluster.advance(3000)
    expect(node.status("pod")).toMatchObject({
      phase: "Running",
      initContainerStatuses: [
        { started: true, ready: true },
        { ready: true, state: { terminated: { reason: "Completed" } } },
      ],
    })
  })

  test("marks a container ready soon after it is, and not ready after the threshold", async () => {
    let ready = true
    await using node = await simulatedKubelet({
      web: { exec: (_command, container) => (ready && container.now() - container.startedAt >= 120 ? 0 : 1) },
    })
    await node.create("web", {
      containers: [{ name: "c", image: "web", readinessProbe: { exec: { command: ["x"] } } }],
    })
    const isReady = () => node.status("web").conditions?.find(({ type }) => type === "Ready")?.status
    expect(isReady()).toBe("False")
    // then within 200 ms, without a failure being told beyond the first check
    await node.cluster.advance(200)
    expect(isReady()).toBe("True")
    // when it is not ready any more, three checks find so
    ready = false
    await node.cluster.advance(29_000)
    expect(isReady()).toBe("True")
    await node.cluster.advance(2000)
    expect(isReady()).toBe("False")
    expect(node.status("web").phase).toBe("Running")
  })

  test("fails a pod that is past its deadline", async () => {
    await using node = await simulatedKubelet({ web: {} })
    await node.create("late", { activeDeadlineSeconds: 5, containers: [{ name: "c", image: "web" }] })
    await node.cluster.advance(4900)
    expect(node.status("late").phase).toBe("Running")
    await node.cluster.advance(200)
    expect(node.status("late")).toMatchObject({
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    })
  })

  test("fails a pod past its deadline although its container exits with 0, while its sandbox still exists", async () => {
    // given a node where it takes a while to take a sandbox down
    await using node = await simulatedKubelet({ web: { onStop: { afterMs: 100, exitCode: 0 } } })
    await node.create("late", {
      activeDeadlineSeconds: 5,
      restartPolicy: "Never",
      containers: [{ name: "c", image: "web" }],
    })
    await node.cluster.faults.nodeSlow("node-0", 1000)
    // when
    await node.cluster.advance(60_000)
    // then
    expect(node.status("late")).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" })
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

  test("continues the probes of running containers although the wall clock was set back", async () => {
    let healthy = true
    await using node = await simulatedKubelet({ web: { exec: () => (healthy ? 0 : 1) } })
    await node.create("web", {
      containers: [
        {
          name: "c",
          image: "web",
          livenessProbe: { exec: { command: ["check"] }, periodSeconds: 5, failureThreshold: 1 },
        },
      ],
    })
    await node.cluster.advance(10_000)
    // given a kubelet that finds containers which began in the future
    await node.cluster.faults.clockJump(-3_600_000)
    await node.restart()
    // when
    healthy = false
    await node.cluster.advance(60_000)
    // then
    expect(node.status("web").containerStatuses![0]!.restartCount).toBeGreaterThan(0)
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
      // when it asks for more than there is, then it keeps what it has, and says so
      const third = await resize("64", "2Gi")
      expect(third.containerStatuses![0]!.allocatedResources).toMatchObject({ cpu: "2" })
      expect(third.conditions).toContainEqual(
        expect.objectContaining({ type: "PodResizePending", status: "True", reason: "Infeasible" }),
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
      message: expect.stringContaining("The node was low on resource: memory. Threshold quantity: 100Mi."),
    })
    expect(node.status("greedy").conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }),
    )
    expect(node.status("modest").phase).toBe("Running")
  })
})
