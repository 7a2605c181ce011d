/** Resizes of running pods. After test/e2e/common/node/pod_resize.go. */
import { expect } from "bun:test"
import { unitsOf, milliOf } from "../../../pkg/apimachinery/scalars/quantity.ts"
import type { Loose } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"
import { containerStatuses, isCgroup2, isReady, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

type Amounts = Readonly<Record<string, string>>
interface Resources {
  readonly requests?: Amounts
  readonly limits?: Amounts
}

const milli = (cpu: number) => `${cpu}m`
const mega = (memory: number) => `${memory}Mi`
/** As in upstream's tests, each container `i` has other amounts, so that a test notices when two are confused. */
const guaranteed = (i: number, cpu: number, memory: number): Resources => {
  const amounts = { cpu: milli(cpu + 2 * i), memory: mega(memory + i) }
  return { requests: amounts, limits: amounts }
}
const [LESS_CPU, CPU, MORE_CPU, MORE_CPU_LIMIT] = [15, 20, 25, 35]
const [LESS_MEMORY, MEMORY, MORE_MEMORY, MORE_MEMORY_LIMIT] = [20, 30, 40, 50]
const original = [0, 1, 2].map((i) => guaranteed(i, CPU, MEMORY))
const requests = (amounts: Amounts, limits?: Amounts): Resources => ({
  requests: amounts,
  ...(limits === undefined ? {} : { limits }),
})

const rows = [
  {
    title:
      "Pod InPlace Resize Container guaranteed pods with multiple containers 3 containers - increase cpu & mem on c1, c2, decrease cpu & mem on c3 - net increase",
    before: original,
    after: [
      guaranteed(0, MORE_CPU, MORE_MEMORY),
      guaranteed(1, MORE_CPU, MORE_MEMORY),
      guaranteed(2, LESS_CPU, LESS_MEMORY),
    ],
    rollback: true,
  },
  {
    title:
      "Pod InPlace Resize Container guaranteed pods with multiple containers 3 containers - increase cpu & mem on c1, decrease cpu & mem on c2, c3 - net decrease",
    before: original,
    after: [
      guaranteed(0, MORE_CPU, MORE_MEMORY),
      guaranteed(1, LESS_CPU, LESS_MEMORY),
      guaranteed(2, LESS_CPU, LESS_MEMORY),
    ],
    rollback: true,
  },
  {
    title:
      "Pod InPlace Resize Container guaranteed pods with multiple containers 3 containers - increase: CPU (c1,c3), memory (c2, c3) ; decrease: CPU (c2)",
    before: original,
    after: [
      guaranteed(0, MORE_CPU, MEMORY),
      guaranteed(1, LESS_CPU, MORE_MEMORY),
      guaranteed(2, MORE_CPU, MORE_MEMORY),
    ],
    rollback: true,
  },
  {
    title:
      "Pod InPlace Resize Container burstable pods - extended 6 containers - various operations performed (including adding limits and requests)",
    before: [
      requests({ cpu: milli(CPU) }),
      requests({ memory: mega(MEMORY) }),
      requests({ cpu: milli(CPU), memory: mega(MEMORY) }),
      requests({ cpu: milli(CPU) }),
      requests({ memory: mega(MEMORY) }),
    ],
    after: [
      requests({ cpu: milli(MORE_CPU) }, { cpu: milli(MORE_CPU_LIMIT) }),
      requests({ memory: mega(LESS_MEMORY) }, { memory: mega(MORE_MEMORY_LIMIT) }),
      requests({ cpu: milli(CPU), memory: mega(LESS_MEMORY) }),
      requests({ cpu: milli(LESS_CPU), memory: mega(MEMORY) }),
      requests({ cpu: milli(CPU), memory: mega(MORE_MEMORY) }),
    ],
    rollback: false,
  },
  {
    title: "Pod InPlace Resize Container burstable pods - extended resize with equivalents",
    before: [requests({ cpu: "2m" }, { cpu: "10m" })],
    after: [requests({ cpu: "1m" }, { cpu: "5m" })],
    rollback: true,
  },
]

/** The limits that the kernel enforces for a container; undefined for none. */
async function cgroupOf(ns: TestNamespace, container: string) {
  const read = async (file: string) => (await ns.sh("pod", `cat /sys/fs/cgroup/${file}`, container)).trim()
  if (isCgroup2()) {
    const [quota = "", period = ""] = (await read("cpu.max")).split(" ")
    const memory = await read("memory.max")
    return {
      shares: Number(await read("cpu.weight")),
      milliCpu: quota === "max" ? undefined : (Number(quota) / Number(period)) * 1000,
      memory: memory === "max" ? undefined : Number(memory),
    }
  }
  const quota = Number(await read("cpu/cpu.cfs_quota_us"))
  const memory = Number(await read("memory/memory.limit_in_bytes"))
  return {
    shares: Number(await read("cpu/cpu.shares")),
    milliCpu: quota < 0 ? undefined : (quota / Number(await read("cpu/cpu.cfs_period_us"))) * 1000,
    memory: memory > 2 ** 60 ? undefined : memory,
  }
}

async function expectResources(ns: TestNamespace, pod: Loose, wanted: readonly Resources[]): Promise<void> {
  expect((pod.spec["containers"] as { resources: Resources }[]).map(({ resources }) => resources)).toEqual([...wanted])
  const statuses = containerStatuses(pod)
  expect(statuses.map(({ resources }) => resources as Resources)).toEqual([...wanted])
  expect(statuses.map((status) => (status as unknown as { allocatedResources: Amounts }).allocatedResources)).toEqual(
    wanted.map((resources) => resources.requests ?? {}),
  )
  expect(statuses.map(({ restartCount }) => restartCount)).toEqual(wanted.map(() => 0))
  for (const [i, resources] of wanted.entries()) {
    const { cpu: request } = resources.requests ?? {}
    const { cpu, memory } = resources.limits ?? {}
    const found = await cgroupOf(ns, `c${i === 0 ? "" : i}`)
    const shares = Math.max(2, Math.floor(((request === undefined ? 0 : Number(milliOf(request))) * 1024) / 1000))
    expect(found).toEqual({
      shares: isCgroup2() ? found.shares : shares,
      // the kernel accepts no quota below one millisecond per period, which is 10m
      milliCpu: cpu === undefined ? undefined : Math.max(10, Number(milliOf(cpu))),
      memory: memory === undefined ? undefined : Number(unitsOf(memory)),
    })
    if (isCgroup2()) expect(found.shares).toBeGreaterThan(0)
  }
}

const actuated = (pod: Loose | undefined) =>
  isReady(pod) &&
  (pod?.status.observedGeneration ?? 0) >= (pod?.metadata.generation ?? 0) &&
  condition(pod, "PodResizePending") === undefined &&
  condition(pod, "PodResizeInProgress") === undefined

describeStandIns("resizes", (standIn) => {
  for (const { title, before, after, rollback } of rows)
    standIn(title, async (ns) => {
      const pod = await ns.runPod("pod", {
        restartPolicy: "OnFailure",
        containers: before.map((resources) => ({ resources })),
      })
      await expectResources(ns, pod, before)
      const resizeTo = async (wanted: readonly Resources[]) => {
        const patched = await ns.cluster.patch(`${ns.path}/pods/pod/resize`, "strategic", {
          spec: { containers: wanted.map((resources, i) => ({ name: `c${i === 0 ? "" : i}`, resources })) },
        })
        const resized = await ns.untilPod(
          "pod",
          (found) =>
            actuated(found) && Number(found!.metadata.resourceVersion) > Number(patched.metadata.resourceVersion),
        )
        await expectResources(ns, resized, wanted)
      }
      await resizeTo(after)
      if (rollback) await resizeTo(before)
    })

  standIn("Pod InPlace Resize Container resize pod via the replace endpoint", async (ns) => {
    const before = requests({ cpu: milli(CPU), memory: mega(MEMORY) })
    const after = requests({ cpu: milli(MORE_CPU), memory: mega(MORE_MEMORY) })
    const made = await ns.runPod("pod", { containers: [{ resources: before }] })
    expect(made.metadata.generation).toBe(1)
    const [container] = made.spec["containers"] as object[]
    const body = { ...made, spec: { ...made.spec, containers: [{ ...container, resources: after }] } }
    const { code } = await ns.cluster.send("PUT", `${ns.path}/pods/pod/resize`, { body })
    expect(code).toBe(200)
    expect((await ns.cluster.get(`${ns.path}/pods/pod`)).metadata.generation).toBe(2)
    const resized = await ns.untilPod("pod", actuated)
    await expectResources(ns, resized, [after])
    expect(await ns.cluster.get(`${ns.path}/pods/pod/resize`)).toEqual(await ns.cluster.get(`${ns.path}/pods/pod`))
  })
})
