/** Pods and images that fill the disk of a real node, on which its store and its containerd are too. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { busyboxImage } from "../../../hack/images/images.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { hasRegistry, push, startRegistry } from "../../harness/registry.ts"
import { until } from "../../harness/until.ts"

const MEBIBYTE = 2 ** 20
const SIZE = 256 * MEBIBYTE

describeOnNode("a node whose disk is filled", () => {
  const disk = mkdtempSync(join(tmpdir(), "k3ts-full-disk-"))
  const dataDir = join(disk, "k3ts")
  let cluster: Cluster

  beforeAll(async () => {
    resize("", SIZE)
    mkdirSync(dataDir)
    const args = ["node-status-update-frequency=2s", "eviction-pressure-transition-period=0s"]
    cluster = await startCluster({ dataDir, flags: args.map((arg) => `--kubelet-arg=${arg}`) })
    await Promise.all(["a", "b"].map((name) => run(`steady-${name}`)))
    await holds(() => existsSync(join(dataDir, "agent/kubelet/reserve/3")))
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    spawnSync("umount", ["-l", disk])
    rmSync(disk, { recursive: true, force: true })
  })

  function resize(options: string, bytes: number): void {
    const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `${options}size=${bytes}`, "tmpfs", disk])
    if (status !== 0) throw new Error(`mount: ${stderr.toString()}`)
  }
  const run = (name: string): Promise<Pod> =>
    cluster.runPod(name, { containers: [{ name: "c", image: BUSYBOX, command: stay("echo kept > /file") }] })
  const free = (): number => statfsSync(disk).bavail * statfsSync(disk).bsize
  /** Waits for a state of the disk, of which nobody tells. */
  const holds = async (is: () => boolean): Promise<void> => {
    while (!is()) await Bun.sleep(50)
  }
  /** Waits until the scheduler and the kubelet take pods again. */
  const takesPods = (): Promise<unknown> =>
    cluster.client
      .list(Node)
      .then(({ items: [node] }) =>
        cluster.until(
          Node,
          node!.metadata.name!,
          ({ spec, status }) =>
            !spec.taints?.some(({ key }) => key.endsWith("disk-pressure")) &&
            status.conditions?.some(({ type, status: is }) => type === "DiskPressure" && is === "False") === true,
        ),
      )

  test.each([
    { what: "its own layer", name: "layer", file: "/f", volume: {} },
    { what: "an emptyDir far beyond its limit", name: "limited", file: "/v/f", volume: { sizeLimit: "16Mi" } },
  ])(
    "by a pod that writes to $what evicts that pod alone, and has the room again",
    async ({ name, file, volume }) => {
      // when a pod writes as fast as it can, until the disk is full and containerd and the store cannot write
      await cluster.createPod(name, {
        volumes: [{ name: "v", emptyDir: volume }],
        containers: [
          {
            name: "c",
            image: BUSYBOX,
            command: sh(`dd if=/dev/zero of=${file} bs=1M; sleep 3600`),
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
        ],
      })
      const { status } = await cluster.pod(name, ({ status: { phase } }) => phase === "Failed")
      // then
      expect(status.reason).toBe("Evicted")
      await holds(() => free() > SIZE * 0.8)
      // and others run on, and new ones start
      const pods = await cluster.client.list(Pod, { namespace: "default" })
      const steady = pods.items.filter(({ metadata }) => metadata.name!.startsWith("steady"))
      expect(steady.map((pod) => pod.status.phase)).toEqual(["Running", "Running"])
      expect(await cluster.kubectl.sh("steady-a", "cat /file")).toBe("kept\n")
      await takesPods()
      await run(`after-${name}`)
    },
    90_000,
  )

  test.skipIf(!hasRegistry)(
    "by an image that is too large says so, leaves nothing of it, and pulls it when there is room",
    async () => {
      // given
      const folder = mkdtempSync(join(tmpdir(), "k3ts-full-registry-"))
      await using registry = await startRegistry({ folder })
      const image = `127.0.0.1:${registry.port}/large:1`
      const base = busyboxImage("x/y:1")
      const data = Buffer.alloc(SIZE / 2)
      const layers = [...base.layers, { files: [{ type: "file" as const, path: "large", data }] }]
      await push(`127.0.0.1:${registry.port}`, "large", "1", undefined, { ...base, layers })
      const before = free()
      // when its layer has room, but not once more unpacked
      await cluster.createPod("large", { containers: [{ name: "c", image, command: stay() }] })
      // then the Event is written, although the store's disk was full at that moment
      const wanted = ({ involvedObject: { name }, reason, message = "" }: Event) =>
        name === "large" && reason === "Failed" && message.includes("no space left on device")
      await until(cluster.client, Event, { namespace: "default" }, wanted, 60_000)
      await holds(() => free() > before - 8 * MEBIBYTE)
      const ingests = join(dataDir, "agent/containerd/io.containerd.content.v1.content/ingest")
      expect(readdirSync(ingests)).toEqual([])
      expect(await cluster.kubectl.sh("steady-a", "cat /file")).toBe("kept\n")
      // and with room, another pod has it
      resize("remount,", 2 * SIZE)
      await takesPods()
      await cluster.runPod("large-later", { containers: [{ name: "c", image, command: stay() }] })
      rmSync(folder, { recursive: true })
    },
    120_000,
  )
})
