import { describe, expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

describe("a pod's worker", () => {
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
})
