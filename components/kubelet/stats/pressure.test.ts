import { expect, test } from "bun:test"
import { cadvisorMetrics } from "./cadvisor-metrics.ts"
import type { Machine } from "../runtime/runtime.ts"
import type { ResourcePressure } from "../runtime/usage.ts"
import type { Disks, Sample } from "./sample.ts"
import { summaryOf } from "./summary.ts"

const stall = (totalMicroseconds: number) => ({ avg10: 1.5, avg60: 0.75, avg300: 0.25, totalMicroseconds })
const pressure: ResourcePressure = { some: stall(3_000_000), full: stall(1_000_000) }
const machine = {
  interfaces: [],
  swapCapacityBytes: 0,
  bootedAt: 0,
  cpu: { nanoseconds: 1 },
  memory: { usage: 1, workingSet: 1, rss: 1, pageFaults: 0, majorPageFaults: 0 },
}
const sampleOf = (more: Partial<Sample["machine"]>): Sample => ({
  at: 0,
  machine: { ...machine, ...more },
  pods: undefined,
  each: [],
})
const figuresOf = (sample: Sample) =>
  cadvisorMetrics({
    sample,
    disks: {} as Disks,
    machine: { cpus: 1, memoryBytes: 1, info: {} } as Machine,
    folderOf: () => "kubepods",
  }).flatMap(({ name, series }) => {
    const root = series.find(({ labels }) => labels["id"] === "/")
    return name.startsWith("container_pressure") && root !== undefined ? [`${name} ${root.value}`] : []
  })
const nodeOf = (sample: Sample) => summaryOf({ nodeName: "n", memoryBytes: 1, sample, rate: () => undefined }).node

test("the time that tasks waited (PSI) is in the summary and in the metrics, by resource", () => {
  const sample = sampleOf({ pressure: { cpu: pressure, memory: undefined, io: pressure } })
  const data = (total: number) => ({ total, avg10: 1.5, avg60: 0.75, avg300: 0.25 })
  const psi = { full: data(1_000_000), some: data(3_000_000) }
  const { cpu, memory, io } = nodeOf(sample)
  expect([cpu?.psi, memory?.psi, io?.psi]).toEqual([psi, undefined, psi])
  expect(figuresOf(sample)).toEqual([
    "container_pressure_cpu_stalled_seconds_total 1",
    "container_pressure_cpu_waiting_seconds_total 3",
    "container_pressure_io_stalled_seconds_total 1",
    "container_pressure_io_waiting_seconds_total 3",
  ])
})

test("PSI is left out if the kernel does not report it", () => {
  const { cpu, memory, io } = nodeOf(sampleOf({}))
  expect([cpu, memory, io].map((one) => one !== undefined && "psi" in one)).toEqual([false, false, false])
  expect(figuresOf(sampleOf({}))).toEqual([])
})
