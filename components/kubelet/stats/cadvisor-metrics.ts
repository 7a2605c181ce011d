import type { LinuxContainerResources } from "../../../pkg/cri/resources.ts"
import type { MetricFamily, Series } from "../../../pkg/metrics/exposition.ts"
import { containerNamed } from "../model/containers.ts"
import { containerResources } from "../container/container-config.ts"
import type { Machine } from "../runtime/runtime.ts"
import type { DeviceUsage, InterfaceUsage, PressureStall, Usage } from "../runtime/usage.ts"
import type { ContainerSample, Disks, PodSample, Sample } from "./sample.ts"

/** A measured thing: the machine, a cgroup of the kubelet, or a container. */
interface Thing {
  readonly labels: Labels
  readonly usage: Usage | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly interfaces?: readonly InterfaceUsage[] | undefined
  readonly limits?: LinuxContainerResources | undefined
  readonly writable?: { readonly usedBytes: number; readonly capacityBytes: number } | undefined
}

/** The labels that cAdvisor adds to everything; empty where they have no meaning. */
interface Labels {
  readonly container: string
  readonly id: string
  readonly image: string
  readonly name: string
  readonly namespace: string
  readonly pod: string
}
const NOBODY: Labels = { container: "", id: "", image: "", name: "", namespace: "", pod: "" }

export interface CadvisorOptions {
  readonly sample: Sample
  readonly disks: Disks
  readonly machine: Machine
  /** Returns the path of a cgroup as the kernel shows it. */
  readonly folderOf: (cgroup: readonly string[]) => string
}

/**
 * Formats /metrics/cadvisor: the metrics of most dashboards, with the names and labels of cAdvisor. Source:
 * google/cadvisor metrics/prometheus.go.
 */
export function cadvisorMetrics({ sample, disks, machine, folderOf }: CadvisorOptions): readonly MetricFamily[] {
  const { at } = sample
  const root: Thing = {
    labels: { ...NOBODY, id: "/" },
    usage: sample.machine,
    startedAt: sample.machine.bootedAt,
    interfaces: sample.machine.interfaces,
    limits: { memoryLimitInBytes: machine.memoryBytes },
  }
  const kubepods: Thing = {
    labels: { ...NOBODY, id: `/${folderOf(["kubepods"])}` },
    usage: sample.pods,
    startedAt: sample.machine.bootedAt,
  }
  const things = [
    root,
    kubepods,
    ...sample.each.flatMap((pod) => thingsOf(pod, disks, machine.memoryBytes, `/${folderOf(pod.cgroup)}`)),
  ]
  const families = METRICS.map(({ name, kind, help, read }): MetricFamily => ({
    name,
    kind,
    help,
    series: things.flatMap((thing) => seriesOf(thing, read, at)),
  }))
  return [
    ...families,
    ...machineMetrics(machine),
    {
      name: "container_last_seen",
      kind: "gauge",
      help: "Last time a container was seen by the exporter",
      series: things.map(({ labels }) => ({ labels: { ...labels }, value: Math.floor(at / 1000), at })),
    },
  ]
}

function thingsOf(
  { pod, sandbox, usage, interfaces, containers }: PodSample,
  disks: Disks,
  memoryBytes: number,
  folder: string,
): readonly Thing[] {
  const { name = "", namespace = "" } = pod.metadata
  const own = { ...NOBODY, namespace, pod: name }
  const containerThing = ({ run, usage: used, writableLayer }: ContainerSample): Thing => {
    const spec = containerNamed(pod, run.name)?.container
    return {
      labels: { ...own, container: run.name, id: `${folder}/${run.id}`, image: run.image, name: run.id },
      usage: used,
      startedAt: run.startedAt,
      limits: spec === undefined ? undefined : containerResources(pod, spec, memoryBytes),
      writable:
        disks.images === undefined
          ? undefined
          : { usedBytes: writableLayer?.usedBytes?.value ?? 0, capacityBytes: disks.images.space.capacityBytes },
    }
  }
  return [
    { labels: { ...own, id: folder }, usage, startedAt: sandbox.createdAt },
    // The network of a pod is measured at its sandbox.
    {
      labels: { ...own, id: `${folder}/${sandbox.id}`, name: sandbox.id },
      usage: undefined,
      startedAt: sandbox.createdAt,
      interfaces,
    },
    ...containers.map(containerThing),
  ]
}

/** One value, or several values with labels. */
type Figures = number | undefined | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

function seriesOf(thing: Thing, read: (thing: Thing) => Figures, at: number): readonly Series[] {
  const figures = read(thing)
  if (figures === undefined) return []
  return (typeof figures === "number" ? [[{}, figures] as const] : figures).map(([labels, value]) => ({
    labels: { ...thing.labels, ...labels },
    value,
    at,
  }))
}

interface Metric {
  readonly name: string
  readonly kind: MetricFamily["kind"]
  readonly help: string
  read(thing: Thing): Figures
}

const counter = (name: string, help: string, read: Metric["read"]): Metric => ({ name, kind: "counter", help, read })
const gauge = (name: string, help: string, read: Metric["read"]): Metric => ({ name, kind: "gauge", help, read })
const seconds = (nanoseconds: number | undefined): number | undefined =>
  nanoseconds === undefined ? undefined : nanoseconds / 1e9
/** Resources for which tasks wait, with what cadvisor calls them. */
const RESOURCES = [
  ["cpu", "CPU"],
  ["memory", "memory"],
  ["io", "IO"],
] as const
const stalledSeconds = (stall: PressureStall | undefined): number | undefined =>
  stall === undefined ? undefined : stall.totalMicroseconds / 1e6
const perDevice =
  (read: (device: DeviceUsage) => number) =>
  ({ usage }: Thing): Figures =>
    usage?.io?.map((device) => [{ device: device.device }, read(device)])
const perInterface =
  (read: (one: InterfaceUsage) => number) =>
  ({ interfaces }: Thing): Figures =>
    interfaces?.map((one) => [{ interface: one.name }, read(one)])

const METRICS: readonly Metric[] = [
  counter("container_cpu_usage_seconds_total", "Cumulative cpu time consumed in seconds.", ({ usage }) =>
    usage?.cpu === undefined ? undefined : [[{ cpu: "total" }, usage.cpu.nanoseconds / 1e9]],
  ),
  counter("container_cpu_user_seconds_total", "Cumulative user cpu time consumed in seconds.", ({ usage }) =>
    seconds(usage?.cpu?.userNanoseconds),
  ),
  counter("container_cpu_system_seconds_total", "Cumulative system cpu time consumed in seconds.", ({ usage }) =>
    seconds(usage?.cpu?.systemNanoseconds),
  ),
  counter("container_cpu_cfs_periods_total", "Number of elapsed enforcement period intervals.", ({ usage, limits }) =>
    hasQuota(limits) ? usage?.cpu?.throttling?.periods : undefined,
  ),
  counter("container_cpu_cfs_throttled_periods_total", "Number of throttled period intervals.", ({ usage, limits }) =>
    hasQuota(limits) ? usage?.cpu?.throttling?.throttledPeriods : undefined,
  ),
  counter(
    "container_cpu_cfs_throttled_seconds_total",
    "Total time duration the container has been throttled.",
    ({ usage, limits }) => (hasQuota(limits) ? seconds(usage?.cpu?.throttling?.throttledNanoseconds) : undefined),
  ),
  gauge(
    "container_memory_usage_bytes",
    "Current memory usage in bytes, including all memory regardless of when it was accessed",
    ({ usage }) => usage?.memory?.usage,
  ),
  gauge(
    "container_memory_working_set_bytes",
    "Current working set in bytes.",
    ({ usage }) => usage?.memory?.workingSet,
  ),
  gauge("container_memory_rss", "Size of RSS in bytes.", ({ usage }) => usage?.memory?.rss),
  gauge("container_memory_cache", "Number of bytes of page cache memory.", ({ usage }) => usage?.memory?.cache),
  gauge(
    "container_memory_mapped_file",
    "Size of memory mapped files in bytes.",
    ({ usage }) => usage?.memory?.mappedFiles,
  ),
  gauge("container_memory_swap", "Container swap usage in bytes.", ({ usage }) => usage?.memory?.swap),
  gauge(
    "container_memory_max_usage_bytes",
    "Maximum memory usage recorded in bytes",
    ({ usage }) => usage?.memory?.peak,
  ),
  counter("container_memory_failcnt", "Number of memory usage hits limits", ({ usage }) => usage?.memory?.failures),
  counter("container_memory_failures_total", "Cumulative count of memory allocation failures.", ({ usage }) => {
    if (usage?.memory === undefined) return undefined
    const { pageFaults, majorPageFaults } = usage.memory
    return [
      [{ failure_type: "pgfault", scope: "hierarchy" }, pageFaults],
      [{ failure_type: "pgmajfault", scope: "hierarchy" }, majorPageFaults],
    ]
  }),
  gauge(
    "container_fs_usage_bytes",
    "Number of bytes that are consumed by the container on this filesystem.",
    ({ writable }) => (writable === undefined ? undefined : [[{ device: "" }, writable.usedBytes]]),
  ),
  gauge(
    "container_fs_limit_bytes",
    "Number of bytes that can be consumed by the container on this filesystem.",
    ({ writable }) => (writable === undefined ? undefined : [[{ device: "" }, writable.capacityBytes]]),
  ),
  counter(
    "container_fs_reads_total",
    "Cumulative count of reads completed",
    perDevice(({ reads }) => reads),
  ),
  counter(
    "container_fs_writes_total",
    "Cumulative count of writes completed",
    perDevice(({ writes }) => writes),
  ),
  counter(
    "container_fs_reads_bytes_total",
    "Cumulative count of bytes read",
    perDevice(({ readBytes }) => readBytes),
  ),
  counter(
    "container_fs_writes_bytes_total",
    "Cumulative count of bytes written",
    perDevice(({ writtenBytes }) => writtenBytes),
  ),
  counter("container_blkio_device_usage_total", "Blkio Device bytes usage", ({ usage }) =>
    usage?.io?.flatMap(
      ({ device, major, minor, readBytes, writtenBytes }) =>
        [
          [{ device, major, minor, operation: "Read" }, readBytes],
          [{ device, major, minor, operation: "Write" }, writtenBytes],
        ] as const,
    ),
  ),
  counter(
    "container_network_receive_bytes_total",
    "Cumulative count of bytes received",
    perInterface(({ received }) => received.bytes),
  ),
  counter(
    "container_network_receive_packets_total",
    "Cumulative count of packets received",
    perInterface(({ received }) => received.packets),
  ),
  counter(
    "container_network_receive_packets_dropped_total",
    "Cumulative count of packets dropped while receiving",
    perInterface(({ received }) => received.dropped),
  ),
  counter(
    "container_network_receive_errors_total",
    "Cumulative count of errors encountered while receiving",
    perInterface(({ received }) => received.errors),
  ),
  counter(
    "container_network_transmit_bytes_total",
    "Cumulative count of bytes transmitted",
    perInterface(({ transmitted }) => transmitted.bytes),
  ),
  counter(
    "container_network_transmit_packets_total",
    "Cumulative count of packets transmitted",
    perInterface(({ transmitted }) => transmitted.packets),
  ),
  counter(
    "container_network_transmit_packets_dropped_total",
    "Cumulative count of packets dropped while transmitting",
    perInterface(({ transmitted }) => transmitted.dropped),
  ),
  counter(
    "container_network_transmit_errors_total",
    "Cumulative count of errors encountered while transmitting",
    perInterface(({ transmitted }) => transmitted.errors),
  ),
  gauge("container_processes", "Number of processes running inside the container.", ({ usage }) => usage?.processes),
  ...RESOURCES.flatMap(([resource, shown]) => [
    counter(
      `container_pressure_${resource}_stalled_seconds_total`,
      `Total time duration no tasks in the container could make progress due to ${shown} congestion.`,
      ({ usage }) => stalledSeconds(usage?.pressure?.[resource]?.full),
    ),
    counter(
      `container_pressure_${resource}_waiting_seconds_total`,
      `Total time duration tasks in the container have waited due to ${shown} congestion.`,
      ({ usage }) => stalledSeconds(usage?.pressure?.[resource]?.some),
    ),
  ]),
  gauge("container_start_time_seconds", "Start time of the container since unix epoch in seconds.", ({ startedAt }) =>
    Math.floor(startedAt / 1000),
  ),
  gauge("container_spec_cpu_shares", "CPU share of the container.", ({ limits }) => limits?.cpuShares),
  gauge("container_spec_cpu_period", "CPU period of the container.", ({ limits }) => limits?.cpuPeriod),
  gauge("container_spec_cpu_quota", "CPU quota of the container.", ({ limits }) =>
    hasQuota(limits) ? limits?.cpuQuota : undefined,
  ),
  gauge("container_spec_memory_limit_bytes", "Memory limit for the container.", ({ limits }) =>
    limits === undefined ? undefined : (limits.memoryLimitInBytes ?? 0),
  ),
]

const hasQuota = (limits: LinuxContainerResources | undefined): boolean => (limits?.cpuQuota ?? 0) > 0

function machineMetrics({ cpus, memoryBytes, info }: Machine): readonly MetricFamily[] {
  const labels = { boot_id: info.bootID, machine_id: info.machineID, system_uuid: info.systemUUID }
  return [
    {
      name: "machine_cpu_cores",
      kind: "gauge",
      help: "Number of logical CPU cores.",
      series: [{ labels, value: cpus }],
    },
    {
      name: "machine_memory_bytes",
      kind: "gauge",
      help: "Amount of memory installed on the machine.",
      series: [{ labels, value: memoryBytes }],
    },
    {
      name: "cadvisor_version_info",
      kind: "gauge",
      help:
        "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor " +
        "version & cadvisor revision.",
      series: [
        {
          labels: {
            cadvisorRevision: "",
            cadvisorVersion: "",
            dockerVersion: "",
            kernelVersion: info.kernelVersion,
            osVersion: info.osImage,
          },
          value: 1,
        },
      ],
    },
    {
      name: "container_scrape_error",
      kind: "gauge",
      help: "1 if there was an error while getting container metrics, 0 otherwise",
      series: [{ labels: {}, value: 0 }],
    },
  ]
}
