import { describe, expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

describe("a pod's worker", () => {
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

  test("takes a redirect to another host for a success, and warns of it", async () => {
    // given a container that sends its probe elsewhere
    const away = new Response("elsewhere", { status: 302, headers: { Location: "http://elsewhere.invalid/" } })
    await using node = await simulatedKubelet({ web: { http: () => away.clone() } })
    // when
    await node.create("web", {
      containers: [{ name: "c", image: "web", readinessProbe: { httpGet: { port: 80, path: "/" } } }],
    })
    await node.cluster.advance(10_000)
    // then
    expect(node.status("web").containerStatuses![0]).toMatchObject({ ready: true, restartCount: 0 })
    expect(node.events("web")).toContain(
      "ProbeWarning: Readiness probe warning: Probe terminated redirects, Response body: elsewhere",
    )
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
})
