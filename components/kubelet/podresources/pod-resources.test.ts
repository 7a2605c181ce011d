import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import type { Server } from "@grpc/grpc-js"
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { openChannel, type Channel } from "../../../pkg/cri/channel.ts"
import type { Fields, Init } from "../../../pkg/protobuf/message.ts"
import { serveRpcs } from "../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { silent } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { DeviceManager } from "../devicemanager/device-manager.ts"
import { Allocate, GetDevicePluginOptions, ListAndWatch, Register } from "../devicemanager/device-plugin-service.ts"
import { DeviceMetrics } from "../metrics/device-metrics.ts"
import { hostFiles } from "../runtime/cri/files/files.ts"
import { hostPluginSockets } from "../runtime/cri/plugin-sockets.ts"
import { podOf } from "../testing/pod.ts"
import { PodResourcesServer, type PodResourcesOptions } from "./pod-resources.ts"
import { Get, GetAllocatableResources, List, ListAlpha } from "./pod-resources-service.ts"

const GPU = "example.com/gpu"
const DEVICES = {
  devices: [
    { id: "gpu-0", health: "Healthy", topology: { nodes: [{ id: 0 }, { id: 1 }] } },
    { id: "gpu-1", health: "Unhealthy" },
    { id: "gpu-2", health: "Healthy" },
  ],
}
const limits = { [GPU]: "1" }

/** What the claim of the pod `claims` has been prepared with. */
const claim = {
  uid: "claim-uid",
  name: "claim",
  namespace: "default",
  pods: new Set<string>(),
  isPrepared: true,
  drivers: new Map([
    [
      "driver.example.com",
      [{ requestNames: [], poolName: "p", deviceName: "d", shareId: "s", cdiDeviceIds: ["vendor.com/class=d"] }],
    ],
  ]),
}

let root: string
let folder: string
let registry: Registry
let clock: VirtualClock
let devices: DeviceManager
let server: PodResourcesServer
let plugin: Server
let channel: Channel
let pods: readonly Pod[]

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "k3ts-pod-resources-"))
  folder = join(root, "pod-resources")
  registry = new Registry()
  clock = new VirtualClock(0)
  pods = []
  const [sockets, files, metrics] = [hostPluginSockets(realClock), hostFiles(realClock), new DeviceMetrics([registry])]
  let told = (): void => undefined
  const changed = () => new Promise<void>((resolve) => (told = resolve))
  devices = new DeviceManager({
    sockets,
    files,
    metrics,
    clock: realClock,
    log: silent,
    spawn: (_name, run) => void run(),
    root,
    folder: join(root, "device-plugins"),
    isActive: () => true,
    changed: () => told(),
    healthChanged: () => {},
  })
  await devices.start()
  plugin = await serveRpcs(
    join(root, "device-plugins/gpu.sock"),
    [GetDevicePluginOptions, Allocate],
    (_rpc, method) => (method === "Allocate" ? { containers: [{}] } : {}),
    [{ rpc: ListAndWatch, first: DEVICES }],
  )
  const registering = openChannel(join(root, "device-plugins/kubelet.sock"), realClock)
  await registering.call(Register, { version: "v1beta1", endpoint: "gpu.sock", resourceName: GPU })
  registering.close()
  while (devices.amounts({}).allocatable[GPU] !== "2") await changed()
  const dra: PodResourcesOptions["dra"] = {
    claimsOf: ({ metadata }) => (metadata.name === "claims" ? [claim] : []),
  }
  server = new PodResourcesServer({
    sockets,
    files,
    folder,
    clock,
    log: silent,
    devices,
    dra,
    metrics,
    pods: () => pods,
  })
  await server.start()
  channel = openChannel(join(folder, "kubelet.sock"), realClock)
})
afterEach(async () => {
  channel.close()
  plugin.forceShutdown()
  await Promise.all([server.stop(), devices.stop()])
  rmSync(root, { recursive: true, force: true })
})

/** A pod with a sidecar, an init container and a container, each of which wants a device. */
const withDevices = (): Pod =>
  podOf({
    initContainers: [{ name: "init", image: "i", resources: { limits } }],
    containers: [
      { name: "c", image: "i", resources: { limits } },
      { name: "none", image: "i" },
    ],
  })
const NOTHING = { devices: [], cpuIds: [], memory: [], dynamicResources: [] }
const metric = (name: string) => Number(new RegExp(`^${name}\\S* (\\d+)$`, "m").exec(registry.text())?.[1])

describe("the API for the resources of pods", () => {
  test("lists devices by container and NUMA node, and dynamic resources by claim", async () => {
    // given a pod that has a device, and one with a claim
    const pod = withDevices()
    expect(await devices.admit(pod)).toBeUndefined()
    const claims = podOf({ containers: [{ name: "d", image: "i" }] })
    pods = [pod, { ...claims, metadata: { ...claims.metadata, name: "claims" } }]
    // when
    const { podResources } = await channel.call(List, {})
    // then the init container, whose device the next container has, is left out
    const [device] = podResources[0]!.containers[0]!.devices[0]!.deviceIds
    expect(device).toBe("gpu-0")
    const onNode = (id: number) => ({ resourceName: GPU, deviceIds: ["gpu-0"], topology: { nodes: [{ id }] } })
    expect(podResources).toEqual([
      {
        name: pod.metadata.name!,
        namespace: "default",
        containers: [
          { ...NOTHING, name: "c", devices: [onNode(0), onNode(1)] },
          { ...NOTHING, name: "none" },
        ],
      },
      {
        name: "claims",
        namespace: "default",
        containers: [
          {
            ...NOTHING,
            name: "d",
            dynamicResources: [
              {
                claimName: "claim",
                claimNamespace: "default",
                claimResources: [
                  {
                    cdiDevices: [{ name: "vendor.com/class=d" }],
                    driverName: "driver.example.com",
                    poolName: "p",
                    deviceName: "d",
                    shareId: "s",
                  },
                ],
              },
            ],
          },
        ],
      },
    ])
    // and the first version of the API knows the devices
    const alpha = await channel.call(ListAlpha, {})
    expect(alpha.podResources[0]?.containers[0]?.devices[0]).toEqual({ resourceName: GPU, deviceIds: ["gpu-0"] })
  })

  test("returns one pod by its name, and says which one it does not find", async () => {
    const pod = withDevices()
    await devices.admit(pod)
    pods = [pod]
    const ask = (podName: string) => channel.call(Get, { podName, podNamespace: "default" })
    expect((await ask(pod.metadata.name!)).podResources?.containers.map(({ name }) => name)).toEqual(["c", "none"])
    const refused: unknown = await ask("missing").catch((err: unknown) => err)
    expect(refused).toMatchObject({ code: "Unknown", message: "pod missing in namespace default not found" })
  })

  test("lists the healthy devices of the node, whether they are in use or not", async () => {
    await devices.admit(withDevices())
    const { devices: all, cpuIds, memory } = await channel.call(GetAllocatableResources, {})
    expect([...new Set(all.flatMap(({ deviceIds }) => deviceIds))]).toEqual(["gpu-0", "gpu-2"])
    expect([cpuIds, memory]).toEqual([[], []])
  })

  test("refuses more than ten requests at once, and allows a hundred in a second", async () => {
    const ask = () =>
      channel.call(List, {}).then(
        () => "ok",
        (err: unknown) => String((err as Error).message),
      )
    const answers = await Promise.all(Array.from({ length: 12 }, ask))
    expect(answers.filter((answer) => answer === "ok")).toHaveLength(10)
    expect(answers).toContain("rejected by rate limit")
    await clock.advance(10)
    expect([await ask(), await ask()]).toEqual(["ok", "rejected by rate limit"])
  })

  test("is served at a socket that only root can reach, and not in place of another kubelet", async () => {
    const socket = join(folder, "kubelet.sock")
    expect([folder, socket].map((path) => statSync(path).mode & 0o777)).toEqual([0o750, 0o600])
    const other = new PodResourcesServer({
      sockets: hostPluginSockets(realClock),
      files: hostFiles(realClock),
      folder,
      clock,
      log: silent,
      devices,
      dra: { claimsOf: () => [] },
      metrics: new DeviceMetrics([]),
      pods: () => withTen,
    })
    await other.start()
    expect((await channel.call(List, {})).podResources).toEqual([])
    await other.stop()
    expect(existsSync(socket)).toBe(true)
    await server.stop()
    expect(existsSync(socket)).toBe(false)
  })

  test("and device plugins are counted under upstream's names", async () => {
    await devices.admit(withDevices())
    await channel.call(List, {})
    await channel.call(GetAllocatableResources, {})
    await channel.call(Get, { podName: "x", podNamespace: "y" } satisfies Init<Fields>).catch(() => undefined)
    expect(metric("kubelet_device_plugin_registration_total")).toBe(1)
    expect(metric("kubelet_device_plugin_alloc_duration_seconds_count")).toBe(2)
    expect(metric("kubelet_pod_resources_endpoint_requests_total")).toBe(3)
    for (const endpoint of ["list", "get_allocatable", "get"])
      expect(metric(`kubelet_pod_resources_endpoint_requests_${endpoint}\\{`)).toBe(1)
    expect(metric("kubelet_pod_resources_endpoint_errors_get")).toBe(1)
  })
})

const withTen = Array.from({ length: 10 }, withDevices)
