/** Devices of claims: a driver on the node offers them, and CDI puts them into a container of containerd. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { Server } from "@grpc/grpc-js"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DRA_SERVICES } from "../../../components/kubelet/dra/dra-service.ts"
import { FakePlugin } from "../../../components/kubelet/dra/plugin.fixtures.ts"
import { registryFolder } from "../../../components/kubelet/plugins/plugin-registry.ts"
import { GetInfo, NotifyRegistrationStatus } from "../../../components/kubelet/plugins/registration-service.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { DeviceClass } from "../../../pkg/api/resource/v1/deviceclass.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { ResourceSlice } from "../../../pkg/api/resource/v1/resourceslice.ts"
import { serveRpcs } from "../../../pkg/grpc/serve-rpcs.fixtures.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, type Cluster } from "../../harness/cluster.ts"

const DRIVER = "k3ts-e2e.example.com"
/** The extended resource that the class stands for. */
const RESOURCE = "example.com/k3ts-e2e"
const namespace = "default"
/** One of containerd's default folders for CDI specifications, which k3ts leaves as they are. */
const CDI = "/var/run/cdi"
const SPECIFICATION = join(CDI, `${DRIVER}.json`)

/** Whether the containerd of this machine knows CDI, which came with 1.7. */
const knowsCdi = !/ v?1\.[0-6]\./.test(spawnSync("containerd", ["--version"], { encoding: "utf8" }).stdout ?? "")
if (!knowsCdi) console.warn("!!! SKIPPED: devices in a container: needs containerd 1.7 or later")

describeOnNode("devices of claims", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-devices-"))
  const plugin = new FakePlugin({
    driver: DRIVER,
    // Claims that the scheduler makes have names of their own, but there is one device in the specification.
    prepare: ({ name }) => ({
      devices: [
        {
          requestNames: [name === "claimed" ? "gpu" : "container-0-request-0"],
          poolName: "pool",
          deviceName: "gpu-0",
          cdiDeviceIds: [`${DRIVER}/gpu=claimed`],
        },
      ],
    }),
  })
  let cluster: Cluster
  let server: Server
  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    mkdirSync(CDI, { recursive: true })
    const edits = { env: ["DEVICE=gpu-0"], mounts: [{ hostPath: "/proc/version", containerPath: "/device" }] }
    const devices = [{ name: "claimed", containerEdits: { ...edits, mounts: edits.mounts.map(bound) } }]
    writeFileSync(SPECIFICATION, JSON.stringify({ cdiVersion: "0.5.0", kind: `${DRIVER}/gpu`, devices }))
    const socket = join(registryFolder(join(dataDir, "agent/kubelet")), "driver.sock")
    const rpcs = [GetInfo, NotifyRegistrationStatus, ...Object.values(DRA_SERVICES["v1.DRAPlugin"])]
    server = await serveRpcs(socket, rpcs, (_rpc, method, request) => plugin.answer(method, request))
    await plugin.registered
    const [node] = (await cluster.client.list(Node)).items
    await cluster.create(DeviceClass, { metadata: { name: "e2e" }, spec: { extendedResourceName: RESOURCE } })
    await cluster.create(ResourceSlice, {
      metadata: { name: "e2e" },
      spec: {
        driver: DRIVER,
        nodeName: node!.metadata.name!,
        pool: { name: "pool", generation: 1, resourceSliceCount: 1 },
        devices: [{ name: "gpu-0" }],
      },
    })
    await cluster.create(ResourceClaim, {
      metadata: { name: "claimed", namespace },
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "e2e" } }] } },
    })
  }, 60_000)
  afterAll(async () => {
    server?.forceShutdown()
    rmSync(SPECIFICATION, { force: true })
    await cluster?.[Symbol.asyncDispose]()
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)

  const spec = (command: readonly string[]) => ({
    restartPolicy: "Never" as const,
    resourceClaims: [{ name: "gpu", resourceClaimName: "claimed" }],
    containers: [{ name: "c", image: BUSYBOX, command: [...command], resources: { claims: [{ name: "gpu" }] } }],
  })

  test.skipIf(!knowsCdi)(
    "are in the container with all that their CDI specification adds",
    async () => {
      // when
      await cluster.create(Pod, { metadata: { name: "user", namespace }, spec: spec(sh("echo $DEVICE; cat /device")) })
      // then
      await cluster.pod("user", ({ status }) => status.phase === "Succeeded")
      const lines = (await cluster.log("user")).trim().split("\n")
      expect(lines[0]).toBe("gpu-0")
      expect(lines[1]).toStartWith("Linux version")
      expect(plugin.calls).toContain(`prepare ${namespace}/claimed`)
    },
    60_000,
  )

  test.skipIf(knowsCdi)(
    "make the container wait, with a message, if containerd is too old for them",
    async () => {
      // when
      await cluster.create(Pod, { metadata: { name: "user", namespace }, spec: spec(sh("echo $DEVICE")) })
      // then
      const { status } = await cluster.pod("user", ({ status }) =>
        (status.containerStatuses ?? []).some(({ state }) => state?.waiting?.reason === "CreateContainerConfigError"),
      )
      expect(status.containerStatuses![0]!.state!.waiting!.message).toContain("install 1.7 or later")
    },
    60_000,
  )

  test.skipIf(!knowsCdi)(
    "are in a container that requests them as an extended resource, and are released",
    async () => {
      // when
      const resources = { requests: { [RESOURCE]: "1" }, limits: { [RESOURCE]: "1" } }
      await cluster.create(Pod, {
        metadata: { name: "asker", namespace },
        spec: {
          restartPolicy: "Never",
          containers: [{ name: "c", image: BUSYBOX, command: [...sh("echo $DEVICE")], resources }],
        },
      })
      // then
      const { status } = await cluster.pod("asker", (pod) => pod.status.phase === "Succeeded")
      const { resourceClaimName } = status.extendedResourceClaimStatus!
      expect((await cluster.log("asker")).trim()).toBe("gpu-0")
      expect(plugin.calls).toContain(`prepare ${namespace}/${resourceClaimName}`)
      // and its claim goes
      await cluster.gone(ResourceClaim, resourceClaimName)
      expect(plugin.calls).toContain(`unprepare ${namespace}/${resourceClaimName}`)
    },
    60_000,
  )
})

const bound = (mount: object) => ({ ...mount, options: ["ro", "bind"] })
