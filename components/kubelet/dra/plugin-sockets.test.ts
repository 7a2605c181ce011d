import type { Server } from "@grpc/grpc-js"
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Client } from "../../../pkg/client/client.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { serveRpcs } from "../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { silent } from "../../../pkg/log/log.ts"
import { GetInfo, NotifyRegistrationStatus } from "../plugins/registration-service.ts"
import { registryFolder } from "../plugins/plugin-registry.ts"
import { hostFiles } from "../runtime/cri/files/files.ts"
import { hostPluginSockets } from "../runtime/cri/plugin-sockets.ts"
import { NodeWatchResources } from "./dra-health-service.ts"
import { DRA_SERVICES, type DraServiceName } from "./dra-service.ts"
import { nodeDrivers } from "./node-drivers.ts"
import { FakePlugin } from "./plugin.fixtures.ts"

const DRIVER = "gpu.example.com"

/** Serves the plugin by gRPC on a socket. Each stream of health begins with `health`, if that is given. */
const serve = (plugin: FakePlugin, socket: string, service: DraServiceName, health?: "Unhealthy"): Promise<Server> =>
  serveRpcs(
    socket,
    [GetInfo, NotifyRegistrationStatus, ...Object.values(DRA_SERVICES[service])],
    (_rpc, method, request) => plugin.answer(method, request),
    health === undefined
      ? []
      : [
          {
            rpc: NodeWatchResources,
            first: { devices: [{ device: { poolName: "pool", deviceName: "gpu-0" }, health }] },
          },
        ],
  )

/** The drivers of a node with real sockets in a folder of its own. */
async function realNode() {
  const root = mkdtempSync(join(tmpdir(), "k3ts-dra-"))
  const deleted: (string | undefined)[] = []
  const wiped = Promise.withResolvers<void>()
  const client = {
    deleteCollection: (_resource: unknown, { fieldSelector }: { fieldSelector?: string }) => {
      deleted.push(fieldSelector)
      wiped.resolve()
      return Promise.resolve()
    },
  } as unknown as Client
  const node = nodeDrivers({
    client,
    clock: realClock,
    log: silent,
    spawn: (_name, run) => void run(),
    runtime: { plugins: hostPluginSockets(realClock), files: hostFiles(realClock) },
    config: { nodeName: "n1", root },
  })
  await node.start()
  return {
    drivers: node.drivers,
    healths: node.healths,
    deleted,
    wiped: wiped.promise,
    socket: join(registryFolder(root), "gpu-reg.sock"),
    [Symbol.dispose]() {
      node.stop()
      rmSync(root, { recursive: true })
    },
  }
}

const CLAIM = { namespace: "default", name: "gpu", uid: "u1" }

test.each(["v1.DRAPlugin", "v1beta1.DRAPlugin"] as const)(
  "a plugin that serves %s on a unix socket registers and prepares devices",
  async (service) => {
    // given a node without plugins
    using node = await realNode()
    await node.wiped
    expect(node.deleted).toEqual(["spec.nodeName=n1"])
    expect(() => node.drivers.get(DRIVER)).toThrow(`DRA driver ${DRIVER} is not registered`)
    // when a plugin opens its socket
    const plugin = new FakePlugin({ driver: DRIVER, versions: [service] })
    const server = await serve(plugin, node.socket, service)
    await plugin.registered
    // then its devices are known by the claim they were prepared for
    const driver = node.drivers.get(DRIVER)
    const prepared = await driver.prepare([CLAIM])
    expect(prepared.get("u1")).toMatchObject([
      { requestNames: ["gpu"], poolName: "pool", deviceName: "gpu-0", cdiDeviceIds: [`${DRIVER}/gpu=gpu`] },
    ])
    await driver.unprepare([CLAIM])
    expect(plugin.calls).toEqual(["registered", "prepare default/gpu", "unprepare default/gpu"])
    server.forceShutdown()
  },
)

test("a plugin that restarts on the same socket is registered again, and gets the calls", async () => {
  // given a registered plugin
  using node = await realNode()
  const first = new FakePlugin({ driver: DRIVER })
  const server = await serve(first, node.socket, "v1.DRAPlugin")
  await first.registered
  // when it ends, and its successor takes its place
  server.forceShutdown()
  rmSync(node.socket, { force: true })
  const second = new FakePlugin({ driver: DRIVER })
  const next = await serve(second, node.socket, "v1.DRAPlugin")
  await second.registered
  // then
  await node.drivers.get(DRIVER).prepare([CLAIM])
  expect(first.calls).toEqual(["registered"])
  expect(second.calls).toEqual(["registered", "prepare default/gpu"])
  next.forceShutdown()
})

test("a plugin's stream of health reports is read from its socket", async () => {
  // given a node
  using node = await realNode()
  const changed = Promise.withResolvers<string>()
  node.healths.onChanged(changed.resolve)
  // when a plugin comes that tells the health of its device
  const plugin = new FakePlugin({ driver: DRIVER })
  const server = await serve(plugin, node.socket, "v1.DRAPlugin", "Unhealthy")
  // then it is known
  expect(await changed.promise).toBe(DRIVER)
  expect(node.healths.of(DRIVER, { poolName: "pool", deviceName: "gpu-0" }).health).toBe("Unhealthy")
  server.forceShutdown()
})

test.each([
  {
    title: "leaves out a claim",
    answer: { claims: {} },
    wants: "NodePrepareResources skipped 1 ResourceClaims",
  },
  {
    title: "responds for a claim that was not in the request",
    answer: { claims: { u1: {}, u2: {} } },
    wants: "NodePrepareResources returned result for unknown claim UID u2",
  },
  {
    title: "fails",
    answer: new Error("no memory"),
    wants: "NodePrepareResources: rpc error: code = Unknown desc = no memory",
  },
])("a plugin that $title makes the claim fail", async ({ answer, wants }) => {
  using node = await realNode()
  class Broken extends FakePlugin {
    override answer(method: string, request: object): object {
      if (method !== "NodePrepareResources") return super.answer(method, request)
      if (answer instanceof Error) throw answer
      return answer
    }
  }
  const plugin = new Broken({ driver: DRIVER })
  const server = await serve(plugin, node.socket, "v1.DRAPlugin")
  await plugin.registered
  expect(await node.drivers.get(DRIVER).prepare([CLAIM]).catch(String)).toBe(`Error: ${wants}`)
  server.forceShutdown()
})
