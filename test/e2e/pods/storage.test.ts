/**
 * Volumes of the class local-path: they are made when a pod needs them, survive pods and k3ts, and are removed with
 * their claim.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { whyWithout } from "../../../components/local-storage/project-quota.ts"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { mountOf, mountPoints } from "../../../pkg/process/mount-points.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

const asked = { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "10Mi" } } }
const namespace = "default"

describeOnNode("local storage", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-storage-"))
  let cluster: Cluster
  let server: TestServer
  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    server = cluster.server
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  }, 60_000)
  const folderOf = async (claim: string) => {
    const { spec } = await cluster.until(PersistentVolumeClaim, claim, ({ status }) => status.phase === "Bound")
    const { hostPath, local } = (await cluster.client.get(PersistentVolume, { name: spec.volumeName! })).spec
    return (hostPath ?? local)!.path
  }

  test("a claim waits for its pod, gets a folder, and keeps its data for the next pod", async () => {
    // given
    const claim = await cluster.create(PersistentVolumeClaim, { metadata: { name: "notes", namespace }, spec: asked })
    expect(claim).toMatchObject({ spec: { storageClassName: "local-path" }, status: { phase: "Pending" } })
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "notes" } }]
    const volumeMounts = [{ name: "data", mountPath: "/data" }]
    // when a user without rights writes, and another pod reads
    const write = sh("echo kept > /data/note")
    await cluster.output("writer", { command: write, volumeMounts }, { volumes, securityContext: { runAsUser: 1000 } })
    const read = await cluster.output("reader", { command: sh("cat /data/note"), volumeMounts }, { volumes })
    // then
    expect(read.trim()).toBe("kept")
    const folder = await folderOf("notes")
    expect(folder).toStartWith(join(dataDir, "storage/pvc-"))
    expect(folder).toEndWith("_default_notes")
    expect(readFileSync(join(folder, "note"), "utf8")).toBe("kept\n")
    // and when the claim is deleted while a pod uses it, it stays until the pod is gone
    await cluster.runPod("user", {
      containers: [{ name: "c", image: BUSYBOX, command: stay(), volumeMounts }],
      volumes,
    })
    await cluster.client.delete(PersistentVolumeClaim, { name: "notes", namespace })
    expect(existsSync(join(folder, "note"))).toBe(true)
    for (const name of ["user", "reader", "writer"])
      await cluster.client.delete(Pod, { name, namespace }, { gracePeriodSeconds: 0 })
    await cluster.gone(PersistentVolumeClaim, "notes")
    await cluster.gone(PersistentVolume, claimVolume(claim), "")
    expect(existsSync(folder)).toBe(false)
  }, 60_000)

  test("a mount that a pod makes in its volume appears in another pod, and disappears with the first pod", async () => {
    // given
    await cluster.create(PersistentVolumeClaim, { metadata: { name: "shared", namespace }, spec: asked })
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "shared" } }]
    const container = (mountPropagation: "Bidirectional" | "HostToContainer", script: string) => ({
      name: "c",
      image: BUSYBOX,
      command: stay(script),
      securityContext: { privileged: true },
      volumeMounts: [{ name: "data", mountPath: "/data", mountPropagation }],
    })
    const mount = "mkdir -p /data/m && mount -t tmpfs none /data/m && echo seen > /data/m/note"
    await cluster.runPod("sees", { containers: [container("HostToContainer", "true")], volumes })
    // when
    await cluster.runPod("mounts", { containers: [container("Bidirectional", mount)], volumes })
    // then it appears, even if the machine's root is mounted private
    while ((await cluster.kubectl.sh("sees", "cat /data/m/note || true")) !== "seen\n") await Bun.sleep(20)
    await cluster.kubectl.sh("mounts", "umount /data/m")
    expect(await cluster.kubectl.sh("sees", "ls /data/m")).toBe("")
    for (const name of ["sees", "mounts"])
      await cluster.client.delete(Pod, { name, namespace }, { gracePeriodSeconds: 0 })
    const { spec } = await cluster.client.get(PersistentVolumeClaim, { name: "shared", namespace })
    await cluster.client.delete(PersistentVolumeClaim, { name: "shared", namespace })
    await cluster.gone(PersistentVolume, spec.volumeName!, "")
  }, 60_000)

  test("the size of a volume is enforced, or an annotation says why not", async () => {
    // given
    const root = mountOf(join(dataDir, "storage"), await mountPoints())
    await cluster.create(PersistentVolumeClaim, { metadata: { name: "sized", namespace }, spec: asked })
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "sized" } }]
    const volumeMounts = [{ name: "data", mountPath: "/data" }]
    // when
    const fill = sh("dd if=/dev/zero of=/data/large bs=1M count=20 >/dev/null 2>&1 && echo filled || echo full")
    const output = await cluster.output("fills", { command: fill, volumeMounts }, { volumes })
    // then
    const claim = await cluster.client.get(PersistentVolumeClaim, { name: "sized", namespace })
    const { annotations } = (await cluster.client.get(PersistentVolume, { name: claim.spec.volumeName! })).metadata
    if (whyWithout(root) === undefined) expect(output).toBe("full\n")
    else {
      expect(output).toBe("filled\n")
      expect(annotations).toHaveProperty(["k3ts.dev/size-not-enforced"])
      const events = await cluster.client.list(Event, { namespace, fieldSelector: "involvedObject.name=sized" })
      expect(events.items.map(({ message }) => message).join("\n")).toContain("The size 10Mi is not enforced: ")
    }
    await cluster.client.delete(Pod, { name: "fills", namespace })
    await cluster.client.delete(PersistentVolumeClaim, { name: "sized", namespace })
    await cluster.gone(PersistentVolume, claim.spec.volumeName!, "")
  }, 60_000)

  const hasLoop = existsSync("/dev/loop-control")
  if (!hasLoop) console.warn("!!! SKIPPED: block devices: the kernel has no loop devices")

  test.skipIf(!hasLoop)(
    "a claim for a block device gets one of its size, whose data the next pod finds",
    async () => {
      // given
      await cluster.create(PersistentVolumeClaim, {
        metadata: { name: "block", namespace },
        spec: { ...asked, volumeMode: "Block" },
      })
      const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "block" } }]
      const volumeDevices = [{ name: "data", devicePath: "/dev/xvda" }]
      const use = (name: string, script: string) =>
        cluster.output(name, { command: sh(script), volumeDevices }, { volumes })
      // when
      const size = await use("block-writer", "echo kept > /dev/xvda && cat /dev/xvda | wc -c")
      const data = await use("block-reader", "head -n 1 /dev/xvda")
      // then
      expect([size, data]).toEqual([`${10 * 2 ** 20}\n`, "kept\n"])
      // and when the claim is enlarged, the size follows with the next pod
      const claim = { name: "block", namespace }
      const storage = "20Mi"
      await cluster.client.patch(PersistentVolumeClaim, claim, {
        type: "merge",
        body: { spec: { resources: { requests: { storage } } } },
      })
      await cluster.until(
        PersistentVolumeClaim,
        "block",
        ({ status }) => status.allocatedResourceStatuses?.["storage"] === "NodeResizePending",
      )
      expect(await use("block-grown", "cat /dev/xvda | wc -c")).toBe(`${20 * 2 ** 20}\n`)
      const { spec, status } = await cluster.client.get(PersistentVolumeClaim, claim)
      expect([status.capacity, status.conditions ?? []]).toEqual([{ storage }, []])
      for (const name of ["block-writer", "block-reader", "block-grown"])
        await cluster.client.delete(Pod, { name, namespace })
      await cluster.client.delete(PersistentVolumeClaim, { name: "block", namespace })
      await cluster.gone(PersistentVolume, spec.volumeName!, "")
      // The object of an ended pod is deleted before the kubelet has unmounted its volumes.
      while ((await run("losetup", ["--all"])).out.includes(dataDir)) await Bun.sleep(20)
      expect(readdirSync(join(dataDir, "storage"))).toEqual([])
    },
    60_000,
  )

  /** Makes a volume of a device of the machine, and a claim that takes it, both of this name. */
  async function claimDevice(name: string, volumeMode: "Block" | "Filesystem", device: string): Promise<void> {
    const common = { accessModes: ["ReadWriteOnce" as const], volumeMode, storageClassName: "" }
    await cluster.create(PersistentVolume, {
      metadata: { name },
      spec: {
        ...common,
        capacity: { storage: "1Mi" },
        local: { path: device },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/os", operator: "Exists" }] }] },
        },
      },
    })
    await cluster.create(PersistentVolumeClaim, {
      metadata: { name, namespace },
      spec: { ...common, volumeName: name, resources: { requests: { storage: "1Mi" } } },
    })
  }

  test.skipIf(!hasLoop)(
    "a device of the machine is a local volume",
    async () => {
      // given
      const file = join(dataDir, "device")
      writeFileSync(file, Buffer.alloc(2 ** 20, "d"))
      const device = (await run("losetup", ["--find", "--show", file])).out.trim()
      try {
        await claimDevice("device", "Block", device)
        // when
        const output = await cluster.output(
          "device",
          { command: sh("head -c 3 /dev/mine"), volumeDevices: [{ name: "data", devicePath: "/dev/mine" }] },
          { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "device" } }] },
        )
        // then
        expect(output).toBe("ddd")
        await cluster.client.delete(Pod, { name: "device", namespace })
        await cluster.gone(Pod, "device")
      } finally {
        await run("losetup", ["--detach", device])
      }
    },
    60_000,
  )

  test.skipIf(!hasLoop)(
    "an empty device of the machine gets a file system as a local volume for files, whose next pod finds them",
    async () => {
      // given
      const file = join(dataDir, "empty-device")
      writeFileSync(file, Buffer.alloc(8 * 2 ** 20))
      const device = (await run("losetup", ["--find", "--show", file])).out.trim()
      const isMounted = async () => (await mountPoints()).some((mount) => mount.device === device)
      try {
        await claimDevice("files", "Filesystem", device)
        const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "files" } }]
        const volumeMounts = [{ name: "data", mountPath: "/data" }]
        const use = async (name: string, script: string) => {
          const output = await cluster.output(name, { command: sh(script), volumeMounts }, { volumes })
          await cluster.client.delete(Pod, { name, namespace })
          await cluster.gone(Pod, name)
          return output
        }
        // when
        await use("files-writer", "echo kept > /data/note")
        const output = await use("files-reader", "cat /data/note && grep -c ' /data ext4 ' /proc/mounts")
        // then
        expect(output).toBe("kept\n1\n")
        while (await isMounted()) await Bun.sleep(20)
      } finally {
        await run("losetup", ["--detach", device])
      }
    },
    60_000,
  )

  test("each pod of a StatefulSet finds its own data again, even after kill -9 of k3ts", async () => {
    // given
    const labels = { app: "db" }
    await cluster.create(StatefulSet, {
      metadata: { name: "db", namespace },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        volumeClaimTemplates: [{ metadata: { name: "data" }, spec: asked }],
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [
              {
                name: "c",
                image: BUSYBOX,
                command: sh("hostname >> /data/who; exec sleep 3600"),
                volumeMounts: [{ name: "data", mountPath: "/data" }],
                readinessProbe: { exec: { command: ["cat", "/data/who"] }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
    })
    await cluster.pod("db-1", isPodReady)
    const folders = [await folderOf("data-db-0"), await folderOf("data-db-1")]
    const lines = () => folders.map((folder) => readFileSync(join(folder, "who"), "utf8").trim().split("\n"))
    expect(lines()).toEqual([["db-0"], ["db-1"]])
    // when a pod is deleted, and k3ts is killed
    const { uid } = (await cluster.client.get(Pod, { name: "db-0", namespace })).metadata
    await cluster.client.delete(Pod, { name: "db-0", namespace })
    await cluster.pod("db-0", (pod) => pod.metadata.uid !== uid && isPodReady(pod))
    expect(lines()).toEqual([["db-0", "db-0"], ["db-1"]])
    await server.kill("SIGKILL")
    server = await startServer({ agent: true, dataDir, port: server.port })
    // then the new pod, which needs a working kubelet, writes to the same folder
    await cluster.client.delete(Pod, { name: "db-1", namespace })
    await cluster.pod("db-1", (pod) => isPodReady(pod) && lines()[1]!.length === 2)
    expect(lines()).toEqual([
      ["db-0", "db-0"],
      ["db-1", "db-1"],
    ])
    // and when the set is deleted, its claims and their folders are removed, as its retention policy says
    const volumes = await Promise.all(
      ["data-db-0", "data-db-1"].map((name) => cluster.client.get(PersistentVolumeClaim, { name, namespace })),
    )
    await cluster.client.delete(StatefulSet, { name: "db", namespace })
    for (const { spec } of volumes) await cluster.gone(PersistentVolume, spec.volumeName!, "")
    expect(readdirSync(join(dataDir, "storage"))).toEqual([])
  }, 90_000)
})

const claimVolume = ({ metadata }: PersistentVolumeClaim): string => `pvc-${metadata.uid}`
