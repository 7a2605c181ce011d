import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { CriClient } from "../../../../pkg/cri/client.ts"
import type { CgroupDriver } from "../../../../pkg/cri/cgroup-driver.ts"
import type { ContainerRuntime } from "../runtime.ts"
import { hostCgroups } from "./cgroups.ts"
import { hostFiles } from "./files/files.ts"
import { hostMachine } from "./machine.ts"
import { hostNetwork } from "./network.ts"
import { criStreams } from "./streams/cri-streams.ts"
import { hostPluginSockets } from "./plugin-sockets.ts"
import { hostUsage } from "./usage/host-usage.ts"
import { hostVolumes } from "./volumes/host-volumes.ts"

/** Returns the interface to this host, with the container runtime that `cri` reaches. */
export const criRuntime = (
  cri: Pick<CriClient, "runtime" | "images" | "processExits">,
  cgroupDriver: CgroupDriver,
  clock: Clock,
  moreImages: () => Promise<void> | undefined = () => undefined,
): ContainerRuntime => ({
  containers: cri.runtime,
  images: cri.images,
  moreImages,
  files: hostFiles(clock),
  cgroups: hostCgroups(cgroupDriver, clock),
  network: hostNetwork(clock),
  machine: hostMachine(),
  usage: hostUsage(cgroupDriver),
  volumes: hostVolumes(),
  plugins: hostPluginSockets(clock),
  streams: criStreams(cri, clock),
})
