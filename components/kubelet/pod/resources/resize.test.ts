import { describe, expect, test } from "bun:test"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { LinuxContainerResources } from "../../../../pkg/cri/resources.ts"
import { podOf } from "../../testing/pod.ts"
import { simulatedKubelet, type PodSpecInput } from "../../testing/simulated-kubelet.fixtures.ts"
import { podAmounts } from "../../model/pod-amounts.ts"

const MIB = 2 ** 20
const whole = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } })

/** A node, the limits that its cgroups and containers are given, and resizes of the pod `web`. */
async function nodeWith(memoryBytes = 0) {
  const node = await simulatedKubelet({ web: { memoryBytes } })
  const { cgroups, containers } = node.runtime
  /** In order: memory in MiB and hundredths of cores of the pod, or of a container. */
  const given: string[] = []
  const write = (what: string, { memoryLimitInBytes, cpuQuota = -1 }: LinuxContainerResources) =>
    given.push(`${what} ${memoryLimitInBytes === undefined ? "-" : memoryLimitInBytes / MIB}Mi ${cpuQuota / 1000}`)
  const ensure = cgroups.ensure.bind(cgroups)
  cgroups.ensure = (path, resources) => {
    if (path.at(-1)!.startsWith("pod")) write("pod", resources)
    return ensure(path, resources)
  }
  const update = containers.updateContainerResources.bind(containers)
  containers.updateContainerResources = async (id, resources) => {
    const status = await containers.containerStatus(id)
    write(status!.metadata!.name!, resources)
    return update(id, resources)
  }
  return {
    ...node,
    given,
    async resize(spec: Partial<PodSpecInput>): Promise<Pod["status"]> {
      given.length = 0
      await node.cluster.client.patch(
        Pod,
        { name: "web", namespace: "default" },
        { type: "strategic", body: { spec } },
        { subresource: "resize" },
      )
      await node.cluster.advance(1000)
      return node.status("web")
    },
    condition: (type: string) => node.status("web").conditions!.find((condition) => condition.type === type),
    reasons: () => node.events("web").flatMap((text) => (text.startsWith("Resize") ? [text.split(":")[0]!] : [])),
  }
}

const c = (name: string, more: object = {}) => ({ name, image: "web", ...more })

describe("a resize of a pod as a whole", () => {
  test("changes the pod's cgroup, and containers without limits of their own, in place", async () => {
    // given a pod with resources of its own, and a container with limits of its own
    await using node = await nodeWith()
    const own = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } }
    await node.create("web", { resources: whole("1", "256Mi"), containers: [c("a"), c("b", { resources: own })] })
    expect(node.status("web")).toMatchObject({
      allocatedResources: { cpu: "1", memory: "256Mi" },
      resources: whole("1", "256Mi"),
    })
    const ids = node.status("web").containerStatuses!.map(({ containerID }) => containerID)
    // when it grows
    const grown = await node.resize({ resources: whole("2", "512Mi") })
    // then the pod's limits come before those of the container
    expect(node.given).toEqual(["pod 512Mi 200", "a 512Mi 200", "pod 512Mi 200"])
    expect(grown).toMatchObject({
      allocatedResources: { cpu: "2", memory: "512Mi" },
      resources: whole("2", "512Mi"),
    })
    expect(grown.containerStatuses!.map(({ containerID, restartCount }) => [containerID, restartCount])).toEqual(
      ids.map((id) => [id, 0]),
    )
    expect(node.reasons()).toEqual(["ResizeStarted", "ResizeCompleted"])
    expect(node.condition("PodResizeInProgress")).toBeUndefined()
    // and when it shrinks, after them
    await node.resize({ resources: whole("1", "256Mi") })
    expect(node.given).toEqual(["pod 512Mi 200", "a 256Mi 100", "pod 256Mi 100"])
  })

  test("goes together with resizes of containers", async () => {
    await using node = await nodeWith()
    const own = (memory: string) => ({ requests: { memory }, limits: { memory } })
    await node.create("web", {
      resources: whole("1", "300Mi"),
      containers: [c("a", { resources: own("100Mi") }), c("b", { resources: own("100Mi") })],
    })
    await node.resize({
      resources: whole("1", "400Mi"),
      containers: [c("a", { resources: own("250Mi") }), c("b", { resources: own("50Mi") })],
    })
    expect(node.given).toEqual(["pod 400Mi 100", "b 50Mi 100", "a 250Mi 100", "pod 400Mi 100"])
  })

  test("starts containers again whose policy asks for it, when the limit that they have of the pod changes", async () => {
    await using node = await nodeWith()
    const resizePolicy = [{ resourceName: "memory" as const, restartPolicy: "RestartContainer" as const }]
    await node.create("web", { resources: whole("1", "256Mi"), containers: [c("a", { resizePolicy }), c("b")] })
    const status = await node.resize({ resources: whole("1", "512Mi") })
    expect(status.containerStatuses!.map(({ restartCount }) => restartCount)).toEqual([1, 0])
  })

  test("waits while the node lacks the resources, and is done when it has them", async () => {
    // given a node with 4 cores, of which another pod has 2
    await using node = await nodeWith()
    await node.create("web", { resources: whole("1", "256Mi"), containers: [c("a")] })
    await node.create("other", { containers: [c("o", { resources: { requests: { cpu: "2" } } })] })
    // when
    const status = await node.resize({ resources: whole("3", "256Mi") })
    // then
    expect(status.allocatedResources).toEqual({ cpu: "1", memory: "256Mi" })
    expect(node.condition("PodResizePending")).toMatchObject({ status: "True", reason: "Deferred" })
    expect(node.given).toEqual([])
    expect(node.reasons()).toEqual(["ResizeDeferred"])
    // and when the kubelet begins anew meanwhile, it still knows what the pod has
    await node.restart()
    expect(node.status("web").allocatedResources).toEqual({ cpu: "1", memory: "256Mi" })
    expect(node.condition("PodResizePending")).toMatchObject({ status: "True", reason: "Deferred" })
    // and when there is room
    await node.delete("other", 0)
    const done = await node.resize({ resources: whole("3", "255Mi") })
    expect(done.allocatedResources).toEqual({ cpu: "3", memory: "255Mi" })
    expect(node.condition("PodResizePending")).toBeUndefined()
  })

  test("takes no memory away that is in use, and tells so until it can", async () => {
    // given a container that uses 100 MiB
    await using node = await nodeWith(100 * MIB)
    await node.create("web", { resources: whole("1", "256Mi"), containers: [c("a")] })
    // when the pod is to have less
    const status = await node.resize({ resources: whole("1", "64Mi") })
    // then nothing has changed
    expect(node.given).toEqual([])
    expect(status.resources).toEqual(whole("1", "256Mi"))
    expect(status.allocatedResources).toEqual({ cpu: "1", memory: "64Mi" })
    expect(node.condition("PodResizeInProgress")).toMatchObject({
      status: "True",
      reason: "Error",
      message:
        `cannot decrease memory limits: [attempting to set pod memory limit (${64 * MIB}) below current usage ` +
        `(${100 * MIB}), attempting to set container "a" memory limit (${64 * MIB}) below current usage (${100 * MIB})]`,
    })
    // and no other pod gets the memory that is in use
    const rest = { requests: { cpu: "100m", memory: "8000Mi" } }
    await node.create("other", { containers: [c("o", { resources: rest })] })
    expect(node.status("other")).toMatchObject({ phase: "Failed", reason: "OutOfmemory" })
    // and it is tried again without another event, until another resize is possible
    await node.cluster.advance("1m")
    expect(node.reasons()).toEqual(["ResizeStarted", "ResizeError"])
    await node.resize({ resources: whole("1", "128Mi") })
    expect(node.condition("PodResizeInProgress")).toBeUndefined()
    expect(node.status("web").resources).toEqual(whole("1", "128Mi"))
    expect(node.reasons().slice(2)).toEqual(["ResizeStarted", "ResizeCompleted"])
  })

  test("of a container shows the limits in force while less memory is refused, also after a restart", async () => {
    // given a container that uses 100 MiB
    await using node = await nodeWith(100 * MIB)
    await node.create("web", { containers: [c("a", { resources: whole("1", "256Mi") })] })
    // when it is to have less
    const status = await node.resize({ containers: [c("a", { resources: whole("1", "64Mi") })] })
    // then its status shows what it has, and what is set aside for it
    const shown = { resources: whole("1", "256Mi"), allocatedResources: { cpu: "1", memory: "64Mi" } }
    expect(status.containerStatuses![0]).toMatchObject(shown)
    // and when the kubelet begins anew, it takes nothing away either
    node.given.length = 0
    await node.restart()
    await node.cluster.advance("1m")
    expect(node.given.filter((text) => text.startsWith("a "))).toEqual([])
    expect(node.status("web").containerStatuses![0]).toMatchObject(shown)
    expect(node.condition("PodResizeInProgress")).toMatchObject({ reason: "Error" })
    // and when the resize is taken back, all is well
    await node.resize({ containers: [c("a", { resources: whole("1", "256Mi") })] })
    expect(node.status("web").containerStatuses![0]).toMatchObject({
      resources: whole("1", "256Mi"),
      allocatedResources: { cpu: "1", memory: "256Mi" },
    })
    expect(node.condition("PodResizeInProgress")).toBeUndefined()
  })

  test("is refused where it would take resources away as a whole", async () => {
    await using node = await nodeWith()
    await node.create("web", { resources: whole("1", "256Mi"), containers: [c("a")] })
    expect(node.resize({ resources: { limits: { cpu: null } } } as unknown as PodSpecInput)).rejects.toThrow(
      "pod-level resource limits cannot be removed",
    )
  })
})

describe("the resources of a pod as a whole, in its status", () => {
  const amounts = (spec: PodSpecInput) => {
    const pod = podOf(spec)
    return podAmounts(pod.spec, pod.spec)
  }

  test("are none where nothing asks for any", () => {
    expect(amounts({ containers: [c("a")] })).toEqual({})
  })

  test("are the sums of its containers, or the largest init container where that is more", () => {
    const of = (cpu: string, limit?: string) => ({
      resources: { requests: { cpu }, ...(limit === undefined ? {} : { limits: { cpu: limit } }) },
    })
    expect(
      amounts({
        initContainers: [c("i", of("2", "3")), c("s", { ...of("100m", "1"), restartPolicy: "Always" })],
        containers: [c("a", of("500m", "1")), c("b", of("250m", "1"))],
      }),
    ).toEqual({ allocatedResources: { cpu: "2" }, resources: { requests: { cpu: "2" }, limits: { cpu: "3" } } })
    expect(amounts({ containers: [c("a", of("500m", "1")), c("b", of("250m"))] })).toEqual({
      allocatedResources: { cpu: "750m" },
      resources: { requests: { cpu: "750m" } },
    })
  })
})
