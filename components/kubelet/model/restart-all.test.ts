import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { ContainerHandle } from "../runtime/simulated/containers/behaviour.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { podOf, runOf, runtimeOf } from "../testing/pod.ts"
import { resetsOf, restartsAllNow } from "./restart-all.ts"

const rules = [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }] as const
/** A container whose exit code 42 starts all containers again. */
const cause = (name: string, image = name) => ({
  name,
  image,
  restartPolicy: "Never" as const,
  restartPolicyRules: rules,
})
const c = (name: string) => ({ name, image: name })
const sidecar = (name: string) => ({ ...c(name), restartPolicy: "Always" as const })

const pod = podOf({
  restartPolicy: "Never",
  initContainers: [c("init"), sidecar("side")],
  containers: [cause("source"), c("app")],
})
const condition = (of: Pod["status"]) => of.conditions?.find(({ type }) => type === "AllContainersRestarting")
const counts = ({ initContainerStatuses = [], containerStatuses = [] }: Pod["status"]) =>
  Object.fromEntries([...initContainerStatuses, ...containerStatuses].map((each) => [each.name, each.restartCount]))

async function untilStopped(of: ContainerHandle): Promise<void> {
  while (!of.stopping.aborted) await of.sleep(1000)
}

/** Ends with the rule's code after five seconds, and not again. */
async function endsOnce(of: ContainerHandle): Promise<number | void> {
  if (of.attempt > 0) return untilStopped(of)
  await of.sleep(5000)
  return 42
}

describe("the restart rule RestartAllContainers", () => {
  test("removes containers before init containers, and the one that caused the restart last", () => {
    // given a pod in which a container ended with the exit code of its rule, after another run
    const runtime = runtimeOf([
      runOf(pod, "source", { id: "source1", exitCode: 42 }),
      runOf(pod, "app"),
      runOf(pod, "side"),
      runOf(pod, "source", { exitCode: 1 }),
      runOf(pod, "init", { exitCode: 0 }),
    ])
    // then
    expect(restartsAllNow(pod, runtime, pod.status)).toBe(true)
    expect(resetsOf(pod, runtime).map(({ run }) => run.id)).toEqual(["source0", "app0", "init0", "side0", "source1"])
  })

  test.each([
    ["another exit code", [runOf(pod, "source", { exitCode: 1 })], {}, false],
    ["a container that has started again since", [runOf(pod, "source")], { source: 42 }, false],
    ["a reported end of a container that has been removed", [], { source: 42 }, true],
  ])("applies to the last end of each container: %s", (_title, runs, reported, expected) => {
    const containerStatuses = Object.entries(reported).map(([name, exitCode]) => ({
      name,
      state: { terminated: { exitCode } },
    }))
    const before = { ...pod.status, containerStatuses } as unknown as Pod["status"]
    expect(restartsAllNow(pod, runtimeOf(runs), before)).toBe(expected)
  })

  test("restarts a pod in its sandbox: init containers run again, and every restart is counted", async () => {
    // given a pod that must not restart, but for the rule of a container, which ends once with that code
    const order: string[] = []
    const image = (program: (of: ContainerHandle) => Promise<number | void>) => ({
      run: (of: ContainerHandle) => {
        order.push(`${of.name} ${of.attempt}`)
        return program(of)
      },
    })
    await using node = await simulatedKubelet({
      init: image(async () => 0),
      side: image(untilStopped),
      app: image(untilStopped),
      source: image(endsOnce),
    })
    await node.create("web", {
      restartPolicy: "Never",
      initContainers: [c("init"), sidecar("side")],
      containers: [cause("source"), c("app")],
    })
    const { podIP } = node.status("web")
    expect(condition(node.status("web"))).toMatchObject({ status: "False" })
    // when it ends
    await node.cluster.advance(20_000)
    // then all containers have begun again in their order, in the same sandbox
    expect(order).toEqual(["init 0", "side 0", "source 0", "app 0", "init 1", "side 1", "source 1", "app 1"])
    const status = node.status("web")
    expect(status).toMatchObject({ phase: "Running", podIP })
    expect(counts(status)).toEqual({ init: 1, side: 1, source: 1, app: 1 })
    for (const { lastState } of status.containerStatuses!)
      expect(lastState.terminated).toMatchObject({
        reason: "RestartingAllContainers",
        message: "The container is removed because RestartAllContainers in place",
        exitCode: 137,
      })
    expect(condition(status)).toMatchObject({ status: "False" })
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: "Initialized", status: "True" }))
    expect(node.events("web").filter((text) => text.startsWith("Killing"))).toEqual([
      "Killing: killing",
      "Killing: killing",
    ])
    expect(node.events("web").some((text) => text.startsWith("SandboxChanged"))).toBe(false)
    // and what was reported on the way had the condition, and no end of the pod
    const seen = node.cluster.history({ kind: "Pod" }).map(({ object }) => (object as Pod).status)
    expect(seen.some((each) => condition(each)?.reason === "RestartAllContainersStarted")).toBe(true)
    expect(seen.map(({ phase }) => phase)).not.toContain("Failed")
  })

  test("of an init container applies before any container has started", async () => {
    // given an init container that ends with the exit code of its rule at first
    await using node = await simulatedKubelet({
      flaky: { run: async ({ attempt }) => (attempt === 0 ? 42 : 0) },
    })
    // when
    await node.create("web", {
      restartPolicy: "Never",
      initContainers: [cause("second", "flaky")],
      containers: [c("app")],
    })
    await node.cluster.advance(1000)
    // then it ran twice, and the container that had not begun counts no restart
    expect(node.status("web").phase).toBe("Running")
    expect(counts(node.status("web"))).toEqual({ second: 1, app: 0 })
  })

  test("delays the restarts of a container that causes them repeatedly, and of no other", async () => {
    // given a container that always ends at once with the exit code of its rule
    await using node = await simulatedKubelet({ source: { runsMs: 1000, exitCode: 42 } })
    await node.create("web", { restartPolicy: "Never", containers: [cause("source"), c("app")] })
    // when time passes
    await node.cluster.advance(74_500)
    // then it began again at once, after 10, 20 and 40 seconds
    expect(counts(node.status("web"))).toEqual({ source: 4, app: 4 })
    await node.cluster.advance(3000)
    const [source, app] = node.status("web").containerStatuses!
    expect(source!.state.waiting?.reason).toBe("CrashLoopBackOff")
    expect(app!.state.running).toBeDefined()
    expect(node.status("web").phase).toBe("Running")
  })

  test("continues after the kubelet was stopped while it removed containers", async () => {
    // given a kubelet that cannot remove the last container
    await using node = await simulatedKubelet({ source: { run: endsOnce } })
    const { removeContainer } = node.runtime.containers
    let removals = 0
    node.runtime.containers.removeContainer = (id) =>
      ++removals > 1 ? Promise.reject(new Error("busy")) : removeContainer.call(node.runtime.containers, id)
    await node.create("web", { restartPolicy: "Never", containers: [cause("source"), c("app")] })
    await node.cluster.advance(8000)
    expect(condition(node.status("web"))).toMatchObject({ status: "True", reason: "RestartAllContainersStarted" })
    expect(node.status("web").phase).toBe("Running")
    // when it can, after a restart of the kubelet
    node.runtime.containers.removeContainer = removeContainer
    await node.restart()
    await node.cluster.advance(15_000)
    // then all run again
    expect(counts(node.status("web"))).toEqual({ source: 1, app: 1 })
    expect(node.status("web").containerStatuses!.every(({ state }) => state.running !== undefined)).toBe(true)
    expect(condition(node.status("web"))).toMatchObject({ status: "False" })
  })

  test("is a declared feature of nodes", async () => {
    await using node = await simulatedKubelet({})
    const { status } = await node.cluster.get(Node, "node-0")
    expect(status.declaredFeatures).toContain("RestartAllContainersOnContainerExits")
  })
})
