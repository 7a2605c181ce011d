import { field, map, message, repeated, type InitOf } from "../protobuf/message.ts"
import { configuredCgroupDriver, type CgroupDriver } from "./cgroup-driver.ts"
import type { CallOptions, Channel } from "./channel.ts"
import { Empty, service } from "../grpc/rpc.ts"
import { Container, ContainerConfig, ContainerFilter, ContainerStatus } from "./container.ts"
import type { ContainerEvent } from "./container-event.ts"
import { CriError, orUndefined } from "./errors.ts"
import { LinuxContainerResources } from "./resources.ts"
import { RuntimeConfigResponse, StatusResponse, VersionResponse } from "./runtime.ts"
import { PodSandbox, PodSandboxConfig, PodSandboxFilter, PodSandboxStatus } from "./sandbox.ts"
import type { RuntimeService } from "./service.ts"
import { ContainerStats, ContainerStatsFilter, PodSandboxStats, PodSandboxStatsFilter } from "./stats.ts"

const SandboxId = message({ podSandboxId: field(1, "string") })
const ContainerId = message({ containerId: field(1, "string") })
const Url = message({ url: field(1, "string") })
const Command = message({
  containerId: field(1, "string"),
  cmd: repeated(2, "string"),
  tty: field(3, "bool"),
  stdin: field(4, "bool"),
  stdout: field(5, "bool"),
  stderr: field(6, "bool"),
})

const rpc = service("runtime.v1.RuntimeService")

/** The procedures with their messages. Source: kubernetes/cri-api pkg/apis/runtime/v1/api.proto. */
const RPC = {
  version: rpc("Version", message({ version: field(1, "string") }), VersionResponse),
  status: rpc("Status", message({ verbose: field(1, "bool") }), StatusResponse),
  runtimeConfig: rpc("RuntimeConfig", Empty, RuntimeConfigResponse),
  updateRuntimeConfig: rpc(
    "UpdateRuntimeConfig",
    message({
      runtimeConfig: field(1, message({ networkConfig: field(1, message({ podCidr: field(1, "string") })) })),
    }),
    Empty,
  ),
  runPodSandbox: rpc(
    "RunPodSandbox",
    message({ config: field(1, PodSandboxConfig), runtimeHandler: field(2, "string") }),
    SandboxId,
  ),
  stopPodSandbox: rpc("StopPodSandbox", SandboxId, Empty),
  removePodSandbox: rpc("RemovePodSandbox", SandboxId, Empty),
  podSandboxStatus: rpc("PodSandboxStatus", SandboxId, message({ status: field(1, PodSandboxStatus) })),
  listPodSandbox: rpc(
    "ListPodSandbox",
    message({ filter: field(1, PodSandboxFilter) }),
    message({ items: repeated(1, PodSandbox) }),
  ),
  createContainer: rpc(
    "CreateContainer",
    message({
      podSandboxId: field(1, "string"),
      config: field(2, ContainerConfig),
      sandboxConfig: field(3, PodSandboxConfig),
    }),
    ContainerId,
  ),
  startContainer: rpc("StartContainer", ContainerId, Empty),
  stopContainer: rpc("StopContainer", message({ containerId: field(1, "string"), timeout: field(2, "int64") }), Empty),
  removeContainer: rpc("RemoveContainer", ContainerId, Empty),
  listContainers: rpc(
    "ListContainers",
    message({ filter: field(1, ContainerFilter) }),
    message({ containers: repeated(1, Container) }),
  ),
  containerStatus: rpc("ContainerStatus", ContainerId, message({ status: field(1, ContainerStatus) })),
  updateContainerResources: rpc(
    "UpdateContainerResources",
    message({
      containerId: field(1, "string"),
      linux: field(2, LinuxContainerResources),
      annotations: map(4, "string"),
    }),
    Empty,
  ),
  reopenContainerLog: rpc("ReopenContainerLog", ContainerId, Empty),
  execSync: rpc(
    "ExecSync",
    message({ containerId: field(1, "string"), cmd: repeated(2, "string"), timeout: field(3, "int64") }),
    message({ stdout: field(1, "bytes"), stderr: field(2, "bytes"), exitCode: field(3, "int32") }),
  ),
  exec: rpc("Exec", Command, Url),
  attach: rpc(
    "Attach",
    message({
      containerId: field(1, "string"),
      stdin: field(2, "bool"),
      tty: field(3, "bool"),
      stdout: field(4, "bool"),
      stderr: field(5, "bool"),
    }),
    Url,
  ),
  portForward: rpc("PortForward", message({ podSandboxId: field(1, "string"), port: repeated(2, "int32") }), Url),
  containerStats: rpc("ContainerStats", ContainerId, message({ stats: field(1, ContainerStats) })),
  listContainerStats: rpc(
    "ListContainerStats",
    message({ filter: field(1, ContainerStatsFilter) }),
    message({ stats: repeated(1, ContainerStats) }),
  ),
  podSandboxStats: rpc("PodSandboxStats", SandboxId, message({ stats: field(1, PodSandboxStats) })),
  listPodSandboxStats: rpc(
    "ListPodSandboxStats",
    message({ filter: field(1, PodSandboxStatsFilter) }),
    message({ stats: repeated(1, PodSandboxStats) }),
  ),
}

/**
 * A sandbox sets up a network through CNI plugins, which may be slow: twice the ordinary time, as the kubelet's client
 * allows.
 */
const RUN_SANDBOX_TIMEOUT_MS = 240_000
/** Time that a stop or an exec may take in addition to its own timeout, in milliseconds. */
const MARGIN_MS = 120_000

/** Returns the runtime service that is reached over `channel`. */
export function runtimeService(
  channel: Channel,
  subscribeContainerEvents: (signal: AbortSignal) => AsyncIterable<ContainerEvent>,
): RuntimeService {
  const done = async (call: Promise<unknown>) => void (await call)
  return {
    version: (options) => channel.call(RPC.version, { version: "v1" }, options),
    status: (verbose = false, options) => channel.call(RPC.status, { verbose }, options),
    cgroupDriver: (options) => askCgroupDriver(channel, options),
    updateRuntimeConfig: (podCidr, options) =>
      done(channel.call(RPC.updateRuntimeConfig, { runtimeConfig: { networkConfig: { podCidr } } }, options)),

    runPodSandbox: async (config, runtimeHandler = "", options) =>
      (
        await channel.call(
          RPC.runPodSandbox,
          { config, runtimeHandler },
          { timeoutMs: RUN_SANDBOX_TIMEOUT_MS, ...options },
        )
      ).podSandboxId,
    stopPodSandbox: (podSandboxId, options) =>
      done(orUndefined(channel.call(RPC.stopPodSandbox, { podSandboxId }, options))),
    removePodSandbox: (podSandboxId, options) =>
      done(orUndefined(channel.call(RPC.removePodSandbox, { podSandboxId }, options))),
    podSandboxStatus: async (podSandboxId, options) =>
      (await orUndefined(channel.call(RPC.podSandboxStatus, { podSandboxId }, options)))?.status,
    listPodSandboxes: async (filter, options) => (await channel.call(RPC.listPodSandbox, { filter }, options)).items,

    createContainer: async (podSandboxId, config, sandboxConfig, options) =>
      (await channel.call(RPC.createContainer, { podSandboxId, config, sandboxConfig }, options)).containerId,
    startContainer: (containerId, options) => done(channel.call(RPC.startContainer, { containerId }, options)),
    stopContainer: (containerId, graceSeconds, options) =>
      done(
        orUndefined(
          channel.call(
            RPC.stopContainer,
            { containerId, timeout: graceSeconds },
            { timeoutMs: graceSeconds * 1000 + MARGIN_MS, ...options },
          ),
        ),
      ),
    removeContainer: (containerId, options) =>
      done(orUndefined(channel.call(RPC.removeContainer, { containerId }, options))),
    listContainers: async (filter, options) => (await channel.call(RPC.listContainers, { filter }, options)).containers,
    containerStatus: async (containerId, options) =>
      (await orUndefined(channel.call(RPC.containerStatus, { containerId }, options)))?.status,
    updateContainerResources: (containerId, linux, options) =>
      done(channel.call(RPC.updateContainerResources, { containerId, linux }, options)),
    reopenContainerLog: (containerId, options) => done(channel.call(RPC.reopenContainerLog, { containerId }, options)),

    execSync: (containerId, cmd, timeout, options) =>
      channel.call(
        RPC.execSync,
        { containerId, cmd, timeout },
        { timeoutMs: timeout === 0 ? Infinity : timeout * 1000 + MARGIN_MS, ...options },
      ),
    exec: async (request, options) =>
      (await channel.call(RPC.exec, request satisfies InitOf<typeof Command>, options)).url,
    attach: async (request, options) => (await channel.call(RPC.attach, request, options)).url,
    portForward: async (podSandboxId, port, options) =>
      (await channel.call(RPC.portForward, { podSandboxId, port }, options)).url,

    containerStats: async (containerId, options) =>
      (await orUndefined(channel.call(RPC.containerStats, { containerId }, options)))?.stats,
    listContainerStats: async (filter, options) =>
      (await channel.call(RPC.listContainerStats, { filter }, options)).stats,
    podSandboxStats: async (podSandboxId, options) =>
      (await orUndefined(channel.call(RPC.podSandboxStats, { podSandboxId }, options)))?.stats,
    listPodSandboxStats: async (filter, options) =>
      (await channel.call(RPC.listPodSandboxStats, { filter }, options)).stats,

    subscribeContainerEvents,
  }
}

/** Asks containerd for its cgroup driver: by RuntimeConfig since 2.0; an older one shows it in its verbose status. */
async function askCgroupDriver(channel: Channel, options?: CallOptions): Promise<CgroupDriver | undefined> {
  try {
    const { linux } = await channel.call(RPC.runtimeConfig, {}, options)
    return linux === undefined ? undefined : linux.cgroupDriver === CGROUPFS ? "cgroupfs" : "systemd"
  } catch (err) {
    if (!(err instanceof CriError && err.code === "Unimplemented")) throw err
    const { info } = await channel.call(RPC.status, { verbose: true }, options)
    return configuredCgroupDriver(info["config"])
  }
}

/** CgroupDriver of the CRI. */
const CGROUPFS = 1
