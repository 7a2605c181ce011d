/** Device plugins: a real one, by gRPC, gives containers of containerd a device, a variable and a mount. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Server } from "@grpc/grpc-js"
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  Allocate,
  GetDevicePluginOptions,
  ListAndWatch,
  PreStartContainer,
  Register,
} from "../../../components/kubelet/devicemanager/device-plugin-service.ts"
import { List } from "../../../components/kubelet/podresources/pod-resources-service.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { openChannel } from "../../../pkg/cri/channel.ts"
import { serveRpcs } from "../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { IMAGE, kubeletOnContainerd, MISSING, sh, type KubeletOnContainerd } from "./kubelet-on-containerd.ts"

const RESOURCE = "k3ts-e2e.example.com/null"

describe.skipIf(MISSING.length > 0)("device plugins on containerd", () => {
  let node: KubeletOnContainerd
  let plugin: Server | undefined
  let folder: string
  const calls: string[] = []

  /** Starts the plugin, which offers two devices, and registers it. */
  async function startPlugin(): Promise<void> {
    const devices = ["null-0", "null-1"].map((id) => ({ id, health: "Healthy" }))
    plugin = await serveRpcs(
      join(folder, "null.sock"),
      [GetDevicePluginOptions, Allocate, PreStartContainer],
      (_rpc, method, request) => {
        const { containers = [], deviceIds = [] } = request as {
          containers?: { deviceIds: readonly string[] }[]
          deviceIds?: readonly string[]
        }
        if (method === "GetDevicePluginOptions") return { preStartRequired: true }
        const ids = containers[0]?.deviceIds ?? deviceIds
        calls.push(`${method} ${ids.join(",")}`)
        if (method === "PreStartContainer") return {}
        return {
          containers: [
            {
              envs: { NULLS: ids.join(",") },
              devices: [{ hostPath: "/dev/null", containerPath: "/dev/k3ts-null", permissions: "rw" }],
              mounts: [{ hostPath: join(node.folder, "given"), containerPath: "/given", readOnly: true }],
            },
          ],
        }
      },
      [{ rpc: ListAndWatch, first: { devices } }],
    )
    const channel = openChannel(join(folder, "kubelet.sock"), realClock)
    await channel.call(Register, { version: "v1beta1", endpoint: "null.sock", resourceName: RESOURCE })
    channel.close()
  }
  const amounts = (capacity: string, allocatable: string) =>
    node.cluster.eventually(async () => {
      const { status } = await node.cluster.get(Node, "node-0")
      return status.capacity?.[RESOURCE] === capacity && status.allocatable?.[RESOURCE] === allocatable
    })

  beforeAll(async () => {
    node = await kubeletOnContainerd()
    folder = join(node.folder, "device-plugins")
    mkdirSync(join(node.folder, "given"))
    writeFileSync(join(node.folder, "given/text"), "given by a plugin\n")
  }, 60_000)
  afterAll(async () => {
    plugin?.forceShutdown()
    expect(await node.stop()).toEqual({ mounts: [], failures: [] })
  }, 60_000)

  test("register at a socket that only root can reach, and show their devices in the Node", async () => {
    expect(statSync(folder).mode & 0o777).toBe(0o750)
    expect(statSync(join(folder, "kubelet.sock")).mode & 0o777).toBe(0o600)
    await startPlugin()
    await amounts("2", "2")
  }, 30_000)

  test("give a container its device, and what belongs to it", async () => {
    await node.create("user", {
      restartPolicy: "Never",
      containers: [
        {
          name: "c",
          image: IMAGE,
          resources: { limits: { [RESOURCE]: "1" } },
          command: sh(
            'test -c /dev/k3ts-null && echo x > /dev/k3ts-null && echo "$NULLS: $(cat /given/text)" > /dev/termination-log',
          ),
        },
      ],
    })
    const ended = await node.pod("user", ({ status }) => status.phase === "Succeeded" || status.phase === "Failed")
    const [{ state, allocatedResourcesStatus } = {}] = ended.status.containerStatuses ?? []
    expect(state?.terminated).toMatchObject({ exitCode: 0, message: "null-0: given by a plugin\n" })
    expect(allocatedResourcesStatus).toEqual([
      { name: RESOURCE, resources: [{ resourceID: "null-0", health: "Healthy" }] },
    ])
    expect(calls).toEqual(["Allocate null-0", "PreStartContainer null-0"])
  }, 30_000)

  test("keep devices of running pods while the kubelet begins anew, and see by its socket that they must register", async () => {
    // given a pod that runs with a device
    const runs = sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done")
    const pod = (name: string) =>
      node.create(name, {
        containers: [{ name: "c", image: IMAGE, command: runs, resources: { limits: { [RESOURCE]: "1" } } }],
      })
    await pod("first")
    await node.pod("first", ({ status }) => status.phase === "Running")
    calls.length = 0
    // when the kubelet begins anew
    await node.stopKubelet()
    expect(existsSync(join(folder, "kubelet.sock"))).toBe(false)
    await node.startKubelet()
    // then the socket of the plugin is gone, so that it registers again
    expect(existsSync(join(folder, "null.sock"))).toBe(false)
    await amounts("0", "0")
    plugin!.forceShutdown()
    await startPlugin()
    await amounts("2", "2")
    // and another pod gets the other device
    await pod("second")
    await node.pod("second", ({ status }) => status.phase === "Running")
    // and programs of the node are told which pod has which
    const asking = openChannel(join(node.folder, "pod-resources/kubelet.sock"), realClock)
    const { podResources } = await asking.call(List, {})
    asking.close()
    const listed = podResources.map(({ name, containers }) => [name, containers[0]?.devices])
    expect(Object.fromEntries(listed)).toEqual({
      first: [{ resourceName: RESOURCE, deviceIds: ["null-0"] }],
      second: [{ resourceName: RESOURCE, deviceIds: ["null-1"] }],
    })
    expect(calls).toEqual(["Allocate null-1", "PreStartContainer null-1"])
    const first = await node.pod("first", () => true)
    expect(first.status.containerStatuses![0]).toMatchObject({
      restartCount: 0,
      allocatedResourcesStatus: [{ name: RESOURCE, resources: [{ resourceID: "null-0", health: "Healthy" }] }],
    })
    for (const name of ["first", "second"]) {
      await node.cluster.client.delete(Pod, { name, namespace: "default" })
      await node.gone(name)
    }
  }, 60_000)

  test("are given to no more containers once they have gone", async () => {
    plugin!.forceShutdown()
    await amounts("2", "0")
  }, 30_000)
})
