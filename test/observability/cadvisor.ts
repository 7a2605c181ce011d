import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { exposition } from "../../pkg/metrics/exposition.ts"
import { cadvisorMetrics } from "../../components/kubelet/stats/cadvisor-metrics.ts"
import type { RuntimeContainer, RuntimeSandbox } from "../../components/kubelet/model/runtime-pod.ts"
import type { Machine } from "../../components/kubelet/runtime/runtime.ts"
import type { MachineUsage } from "../../components/kubelet/runtime/usage.ts"
import type { Disks, Sample } from "../../components/kubelet/stats/sample.ts"

const traffic = { bytes: 1, packets: 1, errors: 0, dropped: 0 }
/** All that a kernel with cgroup v2 counts. */
const usage: MachineUsage = {
  cpu: {
    nanoseconds: 3,
    userNanoseconds: 2,
    systemNanoseconds: 1,
    throttling: { periods: 1, throttledPeriods: 1, throttledNanoseconds: 1 },
  },
  memory: { usage: 1, workingSet: 1, rss: 1, cache: 1, mappedFiles: 1, swap: 0, pageFaults: 1, majorPageFaults: 1 },
  processes: 1,
  io: [{ device: "/dev/vda", major: "252", minor: "0", readBytes: 1, writtenBytes: 1, reads: 1, writes: 1 }],
  interfaces: [{ name: "eth0", received: traffic, transmitted: traffic }],
  swapCapacityBytes: 0,
  bootedAt: 0,
}

const pod = {
  metadata: { name: "web", namespace: "default" },
  spec: { containers: [{ name: "web", resources: { limits: { cpu: "100m", memory: "64Mi" } } }] },
  status: {},
} as unknown as Pod

const sample: Sample = {
  at: 0,
  machine: usage,
  pods: usage,
  each: [
    {
      pod,
      sandbox: { id: "s", createdAt: 0 } as RuntimeSandbox,
      cgroup: ["kubepods", "podweb"],
      usage,
      interfaces: usage.interfaces,
      containers: [
        {
          usage,
          run: { id: "c", name: "web", image: "nginx", startedAt: 0 } as RuntimeContainer,
          writableLayer: undefined,
          logBytes: undefined,
        },
      ],
    },
  ],
}

const space = { capacityBytes: 1, usedBytes: 1, availableBytes: 1, inodes: 1, inodesFree: 1 }

/** Returns /metrics/cadvisor of a node whose kernel counts everything; a simulated one counts little. */
export const cadvisorText = (): string =>
  exposition(
    cadvisorMetrics({
      sample,
      disks: { root: space, logs: space, images: { space, usedBytes: 1, inodesUsed: 1 } } satisfies Disks,
      machine: {
        cpus: 1,
        memoryBytes: 1,
        info: { machineID: "m", systemUUID: "s", bootID: "b", kernelVersion: "6.1", osImage: "Debian" },
      } as Machine,
      folderOf: (cgroup) => cgroup.join("/"),
    }),
  )
