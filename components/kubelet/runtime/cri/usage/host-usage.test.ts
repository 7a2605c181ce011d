import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { hostUsage } from "./host-usage.ts"

const POD = ["kubepods", "burstable", "podab-c"]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-usage-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A tree of files as the kernel has them. */
function kernel(name: string, files: Readonly<Record<string, string>>) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name, path)), { recursive: true })
    writeFileSync(join(folder, name, path), text)
  }
  return { cgroups: join(folder, name, "cgroup"), proc: join(folder, name, "proc") }
}

const NET_DEV = [
  "Inter-|   Receive                                                |  Transmit",
  " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls " +
    "carrier compressed",
  "    lo:       5       1    0    0    0     0          0         0        5       1    0    0    0     0    " +
    "   0          0",
  "  eth0: 1000      10    1    2    0     0          0         0     2000      20    3    4    0     0       " +
    "0          0",
  "veth12:       7       1    0    0    0     0          0         0        7       1    0    0    0     0    " +
    "   0          0",
  "",
].join("\n")
const eth0 = {
  name: "eth0",
  received: { bytes: 1000, packets: 10, errors: 1, dropped: 2 },
  transmitted: { bytes: 2000, packets: 20, errors: 3, dropped: 4 },
}

test("a container's cgroup is read from the v1 hierarchies", async () => {
  // given a cgroup as the kernel shows it, without a limit of memory
  const at = "kubepods/burstable/podab-c/c1"
  const meter = hostUsage(
    "cgroupfs",
    kernel("v1", {
      [`cgroup/cpu,cpuacct/${at}/cpuacct.usage`]: "5000000\n",
      [`cgroup/cpu,cpuacct/${at}/cpuacct.stat`]: "user 3\nsystem 1\n",
      [`cgroup/cpu,cpuacct/${at}/cpu.stat`]: "nr_periods 9\nnr_throttled 2\nthrottled_time 700\n",
      [`cgroup/memory/${at}/memory.usage_in_bytes`]: "4096\n",
      [`cgroup/memory/${at}/memory.limit_in_bytes`]: "9223372036854771712\n",
      [`cgroup/memory/${at}/memory.max_usage_in_bytes`]: "8192\n",
      [`cgroup/memory/${at}/memory.failcnt`]: "1\n",
      [`cgroup/memory/${at}/memory.stat`]:
        "cache 1\ninactive_file 1\ntotal_cache 2000\ntotal_rss 1500\ntotal_mapped_file 300\n" +
        "total_inactive_file 1096\ntotal_pgfault 12\ntotal_pgmajfault 1\ntotal_swap 0\n",
      [`cgroup/memory/${at}/cgroup.procs`]: "42\n43\n",
      [`cgroup/pids/${at}/pids.current`]: "2\n",
      "proc/42/net/dev": NET_DEV,
      "proc/partitions": "major minor  #blocks  name\n\n 254        0  268435456 vda\n",
      [`cgroup/blkio/${at}/blkio.throttle.io_service_bytes_recursive`]:
        "254:0 Read 100\n254:0 Write 200\n254:0 Total 300\nTotal 300\n",
      [`cgroup/blkio/${at}/blkio.throttle.io_serviced_recursive`]: "254:0 Read 1\n254:0 Write 2\n",
    }),
  )

  // then
  expect(await meter.container(POD, "c1")).toEqual({
    cpu: {
      nanoseconds: 5_000_000,
      userNanoseconds: 30_000_000,
      systemNanoseconds: 10_000_000,
      throttling: { periods: 9, throttledPeriods: 2, throttledNanoseconds: 700 },
    },
    memory: {
      usage: 4096,
      workingSet: 3000,
      rss: 1500,
      cache: 2000,
      mappedFiles: 300,
      swap: 0,
      peak: 8192,
      limit: undefined,
      pageFaults: 12,
      majorPageFaults: 1,
      failures: 1,
    },
    processes: 2,
    io: [{ device: "/dev/vda", major: "254", minor: "0", readBytes: 100, writtenBytes: 200, reads: 1, writes: 2 }],
  })
  // and its network is that of its first process, without loopback
  expect((await meter.interfaces(POD, "c1"))[0]).toEqual(eth0)
  // and where only cpu time and memory are wanted, no more is read
  expect(await meter.container(POD, "c1", "cpu and memory")).toMatchObject({
    cpu: { nanoseconds: 5_000_000 },
    memory: { usage: 4096, workingSet: 3000, rss: 1500, pageFaults: 12, peak: undefined },
  })
  expect(await meter.container(POD, "c1", "cpu and memory")).not.toHaveProperty("io")
  expect(await meter.container(POD, "gone")).toBeUndefined()
  expect(await meter.container(POD, "gone", "cpu and memory")).toBeUndefined()
  expect(await meter.interfaces(POD, "gone")).toEqual([])
  expect(await meter.group(["kubepods", "podnone"])).toBeUndefined()
})

test("a container's cgroup is read from v2, also under systemd's names", async () => {
  // given what systemd and containerd make of the same path
  const at = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab_c.slice/cri-containerd-c1.scope"
  const meter = hostUsage(
    "systemd",
    kernel("v2", {
      "cgroup/cgroup.controllers": "cpu memory\n",
      [`cgroup/${at}/cpu.stat`]:
        "usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_periods 9\nnr_throttled 2\nthrottled_usec 7\n",
      [`cgroup/${at}/memory.current`]: "4096\n",
      [`cgroup/${at}/memory.max`]: "65536\n",
      [`cgroup/${at}/memory.stat`]:
        "anon 1500\nfile 2000\nfile_mapped 300\ninactive_file 1096\npgfault 12\npgmajfault 1\n",
      [`cgroup/${at}/memory.events`]: "low 0\nhigh 0\nmax 4\noom 0\n",
      [`cgroup/${at}/memory.swap.current`]: "512\n",
      [`cgroup/${at}/pids.current`]: "2\n",
      [`cgroup/${at}/io.stat`]: "254:0 rbytes=100 wbytes=200 rios=1 wios=2 dbytes=0 dios=0\n",
      [`cgroup/${at}/cpu.pressure`]:
        "some avg10=1.50 avg60=0.75 avg300=0.25 total=2000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1000\n",
      [`cgroup/${at}/memory.pressure`]: "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    }),
  )

  // then
  expect(await meter.container(POD, "c1")).toEqual({
    cpu: {
      nanoseconds: 5_000_000,
      userNanoseconds: 3_000_000,
      systemNanoseconds: 2_000_000,
      throttling: { periods: 9, throttledPeriods: 2, throttledNanoseconds: 7000 },
    },
    memory: {
      usage: 4096,
      workingSet: 3000,
      rss: 1500,
      cache: 2000,
      mappedFiles: 300,
      swap: 512,
      peak: undefined,
      limit: 65536,
      pageFaults: 12,
      majorPageFaults: 1,
      failures: 4,
    },
    processes: 2,
    io: [{ device: "", major: "254", minor: "0", readBytes: 100, writtenBytes: 200, reads: 1, writes: 2 }],
    pressure: {
      cpu: {
        some: { avg10: 1.5, avg60: 0.75, avg300: 0.25, totalMicroseconds: 2000 },
        full: { avg10: 0.5, avg60: 0, avg300: 0, totalMicroseconds: 1000 },
      },
      memory: {
        some: { avg10: 0, avg60: 0, avg300: 0, totalMicroseconds: 7 },
        full: { avg10: 0, avg60: 0, avg300: 0, totalMicroseconds: 0 },
      },
      io: undefined,
    },
  })
})

test("the machine's usage is read from /proc, without the interfaces of pods", async () => {
  const meter = hostUsage(
    "cgroupfs",
    kernel("machine", {
      "proc/stat": "cpu  100 10 50 1000 5 2 3 0 0 0\ncpu0 1 1 1\nbtime 1700000000\n",
      "proc/net/dev": NET_DEV,
      "proc/net/route": "Iface\tDestination\tGateway\neth0\t00000000\t0100007F\n",
      "proc/vmstat": "pgfault 7\npgmajfault 2\n",
      "proc/meminfo":
        "MemTotal:       1000 kB\nMemFree:         400 kB\nMemAvailable:    700 kB\nBuffers:          10 kB\n" +
        "Cached:           90 kB\nAnonPages:       200 kB\nMapped:           20 kB\nSwapTotal:       100 kB\n" +
        "SwapFree:         75 kB\n",
    }),
  )
  expect(await meter.machine()).toMatchObject({
    cpu: { nanoseconds: 165e7, userNanoseconds: 110e7, systemNanoseconds: 55e7 },
    memory: {
      usage: 600 * 1024,
      workingSet: 300 * 1024,
      rss: 200 * 1024,
      cache: 100 * 1024,
      mappedFiles: 20 * 1024,
      swap: 25 * 1024,
      pageFaults: 7,
      majorPageFaults: 2,
    },
    interfaces: [eth0],
    mainInterface: "eth0",
    swapCapacityBytes: 100 * 1024,
    bootedAt: 1_700_000_000_000,
  })
})
