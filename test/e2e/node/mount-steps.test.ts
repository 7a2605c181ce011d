/**
 * The server is killed at each step in which the kubelet mounts the volumes of a pod and takes them down: before the
 * step, and after it. The next server brings the pod up, and takes down all of it.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { mountPoints } from "../../../pkg/process/mount-points.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

const namespace = "default"
const hasLoop = existsSync("/dev/loop-control")
if (!hasLoop) console.warn("!!! SKIPPED: kills at each step of mounting: the kernel has no loop devices")

/** The steps at which a server is killed, each of which costs a start: K3TS_MOUNT_STEPS=all for as many as there are. */
const STEPS: Readonly<Record<string, readonly number[]>> =
  process.env["K3TS_MOUNT_STEPS"] === "all"
    ? { before: Array.from({ length: 100 }, (_, i) => i + 1), after: Array.from({ length: 100 }, (_, i) => i + 1) }
    : { before: [3, 7], after: [6] }

/**
 * Stands before a program of the machine. The call by the server whose number is in the file `at` kills the server, and
 * runs the program before that if `when` says `after`.
 */
const wrapper = (folder: string, program: string): string => `#!/bin/sh
[ "$PPID" = "$(cat ${folder}/pid)" ] || exec ${program} "$@"
exec 9>${folder}/lock
flock 9
step=$(($(cat ${folder}/steps) + 1))
echo $step >${folder}/steps
exec 9>&-
[ $step = "$(cat ${folder}/at)" ] || exec ${program} "$@"
[ "$(cat ${folder}/when)" = before ] || ${program} "$@"
echo "${program} $*" >${folder}/killed
kill -9 $PPID
exit 1
`

describeOnNode("a server that is killed while it mounts the volumes of a pod", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-mount-steps-"))
  const dataDir = join(folder, "data")
  const set = (name: string, value: string | number) => writeFileSync(join(folder, name), String(value))
  const program = ["env", `PATH=${folder}/bin:${process.env["PATH"]}`, EXECUTABLE]
  let cluster: Cluster
  let server: TestServer
  const devices: string[] = []

  /** Makes a volume of a new device of the machine, and a claim that takes it. */
  async function claimDevice(name: string, volumeMode: "Block" | "Filesystem"): Promise<void> {
    const file = join(folder, name)
    writeFileSync(file, Buffer.alloc(8 * 2 ** 20))
    const path = (await run("losetup", ["--find", "--show", file])).out.trim()
    devices.push(path)
    const common = { accessModes: ["ReadWriteOnce" as const], volumeMode, storageClassName: "" }
    const required = {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/os", operator: "Exists" as const }] }],
    }
    await cluster.create(PersistentVolume, {
      metadata: { name },
      spec: { ...common, capacity: { storage: "1Mi" }, local: { path }, nodeAffinity: { required } },
    })
    await cluster.create(PersistentVolumeClaim, {
      metadata: { name, namespace },
      spec: { ...common, volumeName: name, resources: { requests: { storage: "1Mi" } } },
    })
  }

  beforeAll(async () => {
    if (!hasLoop) return
    mkdirSync(join(folder, "bin"))
    mkdirSync(dataDir)
    for (const name of ["mount", "umount", "losetup", "mkfs.ext4", "blkid"]) {
      const real = Bun.which(name)
      if (real === null) continue
      writeFileSync(join(folder, "bin", name), wrapper(folder, real))
      chmodSync(join(folder, "bin", name), 0o755)
    }
    for (const [name, value] of Object.entries({ pid: 0, steps: 0, at: 0, when: "before" })) set(name, value)
    cluster = await startCluster({ dataDir, program })
    server = cluster.server
    await cluster.create(ConfigMap, { metadata: { name: "settings", namespace }, data: { a: "kept" } })
    await claimDevice("raw", "Block")
    await claimDevice("files", "Filesystem")
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    for (const device of devices) await run("losetup", ["--detach", device])
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)

  const start = () =>
    cluster.createPod("volumes", {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: "c",
          image: BUSYBOX,
          command: stay("echo $(cat /settings/a) $(cat /one) > /files/note"),
          volumeMounts: [
            { name: "settings", mountPath: "/settings" },
            { name: "settings", mountPath: "/one", subPath: "a" },
            { name: "memory", mountPath: "/memory" },
            { name: "files", mountPath: "/files" },
          ],
          volumeDevices: [{ name: "raw", devicePath: "/dev/raw" }],
          readinessProbe: { exec: { command: ["grep", "kept kept", "/files/note"] }, periodSeconds: 1 },
        },
      ],
      volumes: [
        { name: "settings", configMap: { name: "settings" } },
        { name: "memory", emptyDir: { medium: "Memory" } },
        { name: "files", persistentVolumeClaim: { claimName: "files" } },
        { name: "raw", persistentVolumeClaim: { claimName: "raw" } },
      ],
    })

  /** Waits for something, with another server if this one is killed meanwhile. Returns whether it was. */
  async function inSpiteOfDeath(wanted: () => Promise<unknown>): Promise<boolean> {
    const dead = server.ended.then(() => "dead" as const)
    const outcome = await Promise.race([wanted().then(() => "done" as const), dead]).catch(async (err: unknown) => {
      // The end of its watch is seen before the end of the server.
      if (!existsSync(join(folder, "killed"))) throw err
      return dead
    })
    if (outcome === "done") return false
    set("pid", 0)
    server = await startServer({ agent: true, dataDir, port: cluster.server.port, program })
    await wanted()
    return true
  }

  const isLeft = async () =>
    readdirSync(join(dataDir, "agent/kubelet/pods")).length > 0 ||
    (await mountPoints()).some(
      ({ path, device }) => path.startsWith(`${dataDir}/agent/kubelet/pods/`) || devices.includes(device),
    )

  /** The object of a pod is deleted before the kubelet has taken down its volumes. */
  async function takenDown(): Promise<void> {
    await cluster.gone(Pod, "volumes")
    while (await isLeft()) await Bun.sleep(20)
  }

  test.skipIf(!hasLoop).each(["before", "after"])(
    "%s a step of the mounting leaves nothing that the next server does not finish",
    async (when) => {
      set("when", when)
      for (const at of STEPS[when]!) {
        // given a server that will be killed
        rmSync(join(folder, "killed"), { force: true })
        set("steps", 0)
        set("at", at)
        set("pid", server.pid)

        // when a pod is started and deleted, then it becomes ready, and all of it is taken down
        await start()
        const inStart = await inSpiteOfDeath(() => cluster.pod("volumes"))
        await cluster.client.delete(Pod, { name: "volumes", namespace })
        const inEnd = await inSpiteOfDeath(takenDown)

        // and the server was killed in the meantime, unless all steps were tried
        const seen = Number(readFileSync(join(folder, "steps"), "utf8"))
        expect([at, inStart || inEnd]).toEqual([at, seen >= at])
        if (seen < at) break
      }
    },
    600_000,
  )
})
