import type { Server } from "@grpc/grpc-js"
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../../pkg/clock/real.ts"
import { openChannel } from "../../../pkg/cri/channel.ts"
import { serveRpcs } from "../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { silent } from "../../../pkg/log/log.ts"
import { hostFiles } from "../runtime/cri/files/files.ts"
import { hostPluginSockets } from "../runtime/cri/plugin-sockets.ts"
import { podOf } from "../testing/pod.ts"
import { DeviceManager } from "./device-manager.ts"
import { Allocate, GetDevicePluginOptions, ListAndWatch, Register } from "./device-plugin-service.ts"

const RESOURCE = "example.com/gpu"

/** A device manager with real sockets and files in a folder of its own. */
function managerIn(root: string) {
  const changes: (() => void)[] = []
  const folder = join(root, "device-plugins")
  const manager = new DeviceManager({
    sockets: hostPluginSockets(realClock),
    files: hostFiles(realClock),
    clock: realClock,
    log: silent,
    spawn: (_name, run) => void run(),
    root,
    folder,
    isActive: () => true,
    changed: () => changes.splice(0).forEach((told) => told()),
    healthChanged: () => {},
  })
  return {
    manager,
    folder,
    socket: join(folder, "kubelet.sock"),
    /** Resolves when the node has so many devices, of which so many can be given to containers. */
    async has(capacity: string, allocatable: string): Promise<void> {
      for (;;) {
        const changed = new Promise<void>((resolve) => changes.push(resolve))
        const { capacity: all, allocatable: free } = manager.amounts({})
        if (all[RESOURCE] === capacity && free[RESOURCE] === allocatable) return
        await changed
      }
    },
  }
}

/** Serves a plugin with two devices in the folder. */
const servePlugin = (folder: string): Promise<Server> =>
  serveRpcs(
    join(folder, "gpu.sock"),
    [GetDevicePluginOptions, Allocate],
    (_rpc, method, request) => {
      const { containers = [] } = request as { containers?: { deviceIds: string[] }[] }
      return method === "Allocate" ? { containers: [{ envs: { IDS: containers[0]!.deviceIds.join(",") } }] } : {}
    },
    [
      {
        rpc: ListAndWatch,
        first: {
          devices: [
            { id: "gpu-0", health: "Healthy" },
            { id: "gpu-1", health: "Unhealthy" },
          ],
        },
      },
    ],
  )

async function register(socket: string, resourceName: string): Promise<void> {
  const channel = openChannel(socket, realClock)
  try {
    await channel.call(Register, { version: "v1beta1", endpoint: "gpu.sock", resourceName })
  } finally {
    channel.close()
  }
}

test("device plugins register by gRPC at a socket for root alone, and a pod's devices outlive the kubelet", async () => {
  const root = mkdtempSync(join(tmpdir(), "k3ts-devices-"))
  // given a folder that others can read, with the socket of a kubelet that was killed
  const first = managerIn(root)
  mkdirSync(first.folder, { mode: 0o777 })
  const dead = await serveRpcs(first.socket, [GetDevicePluginOptions], () => ({}))
  rmSync(first.socket)
  dead.forceShutdown()
  await first.manager.start()
  expect([first.folder, first.socket].map((path) => statSync(path).mode & 0o777)).toEqual([0o750, 0o600])
  // when a plugin registers
  const plugin = await servePlugin(first.folder)
  expect(register(first.socket, "cpu")).rejects.toThrow('the ResourceName "cpu" is invalid')
  await register(first.socket, RESOURCE)
  await first.has("2", "1")
  // then a pod gets a device of it
  const limits = { [RESOURCE]: "1" }
  const pod = podOf({ containers: [{ name: "c", image: "i", resources: { limits } }] })
  expect(await first.manager.admit(pod)).toBeUndefined()
  const [container] = pod.spec.containers
  expect((await first.manager.prepare(pod, container!)).envs).toEqual({ IDS: "gpu-0" })
  // and another kubelet of this machine leaves the socket alone
  const other = managerIn(root)
  await other.manager.start()
  await register(first.socket, RESOURCE)
  await other.manager.stop()
  // when the kubelet ends, and another one begins
  await first.manager.stop()
  expect(existsSync(first.socket)).toBe(false)
  const next = managerIn(root)
  await next.manager.start()
  // then the plugin's socket is gone, so that it registers again, and the pod has its device
  expect(existsSync(join(next.folder, "gpu.sock"))).toBe(false)
  expect(next.manager.amounts({})).toEqual({ capacity: { [RESOURCE]: "0" }, allocatable: { [RESOURCE]: "0" } })
  expect((await next.manager.prepare(pod, container!)).envs).toEqual({ IDS: "gpu-0" })
  plugin.forceShutdown()
  // and when a plugin ends, its devices are given to nobody
  const again = await servePlugin(next.folder)
  await register(next.socket, RESOURCE)
  await next.has("2", "1")
  again.forceShutdown()
  await next.has("2", "0")
  await next.manager.stop()
  rmSync(root, { recursive: true, force: true })
}, 60_000)
