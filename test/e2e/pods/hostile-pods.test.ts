/** Pods that try to take what is not theirs from a real node: memory, disk, files of the host, time of the kubelet. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"

describeOnNode("a node under attack", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({})
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  const ended = (name: string) => cluster.pod(name, ({ status }) => /Succeeded|Failed/.test(status.phase ?? ""))
  const terminated = async (name: string) => (await ended(name)).status.containerStatuses![0]!.state.terminated!

  test("counts what a pod writes to /dev/shm and to volumes in memory towards its limit of memory", async () => {
    // given pods of 40 MiB: one fills /dev/shm, one a volume without a limit, one a volume with a limit below the pod's
    const limits = { memory: "40Mi" }
    const fill = (file: string) =>
      sh(`dd if=/dev/zero of=${file} bs=1M count=200; wc -c < ${file} > /dev/termination-log`)
    const volume = (sizeLimit?: string) => ({
      volumes: [{ name: "v", emptyDir: { medium: "Memory", ...(sizeLimit === undefined ? {} : { sizeLimit }) } }],
    })
    const mounts = { volumeMounts: [{ name: "v", mountPath: "/v" }] }
    const create = (name: string, file: string, container: object = {}, spec: object = {}) =>
      cluster.createPod(name, {
        restartPolicy: "Never",
        ...spec,
        containers: [{ name: "c", image: BUSYBOX, command: fill(file), resources: { limits }, ...container }],
      })
    await Promise.all([
      create("shm", "/dev/shm/f"),
      create("unlimited", "/v/f", mounts, volume()),
      create("limited", "/v/f", mounts, volume("8Mi")),
      create("shm-free", "/dev/shm/f", { resources: {} }),
    ])
    // then the first two are killed by the kernel, and the third finds its volume full
    expect((await terminated("shm")).reason).toBe("OOMKilled")
    expect((await terminated("unlimited")).reason).toBe("OOMKilled")
    expect((await terminated("limited")).message).toBe(`${8 * 1024 * 1024}\n`)
    // and a pod without any limit has 64 MiB of /dev/shm
    expect((await terminated("shm-free")).message).toBe(`${64 * 1024 * 1024}\n`)
  }, 120_000)

  test("reads a termination message of a gigabyte up to its limit, and none from outside of its file", async () => {
    // given containers that make their message large, replace it by a link, or by a pipe
    const end = (name: string, script: string) =>
      cluster.createPod(name, {
        restartPolicy: "Never",
        containers: [{ name: "c", image: BUSYBOX, command: sh(`${script}; exit 1`), terminationMessagePolicy: "File" }],
      })
    await Promise.all([
      end(
        "large",
        "dd if=/dev/zero of=/dev/termination-log bs=1 count=1 seek=1073741823; echo end >> /dev/termination-log",
      ),
      end("link", "rm -f /dev/termination-log; ln -sf /etc/shadow /dev/termination-log; mv /dev/termination-log /x"),
      end("pipe", "rm -f /dev/termination-log; mkfifo /dev/termination-log; echo kept > /dev/termination-log"),
    ])
    // then
    expect((await terminated("large")).message!.length).toBeLessThanOrEqual(4096)
    expect((await terminated("link")).message ?? "").not.toContain("root:")
    expect((await terminated("pipe")).message).toBe("kept\n")
  }, 120_000)

  test("shows no file of the node as a log, whatever a pod puts into the folder of logs", async () => {
    // given a file of the node, and a pod with the node's folder of logs that links to it from its own log
    const secret = join(cluster.server.dataDir, "secret")
    writeFileSync(secret, "the node's secret\n")
    const pod = await cluster.runPod("liar", {
      volumes: [{ name: "logs", hostPath: { path: "/var/log/pods" } }],
      containers: [
        { name: "c", image: BUSYBOX, command: stay(), volumeMounts: [{ name: "logs", mountPath: "/logs" }] },
      ],
    })
    const own = `/logs/default_liar_${pod.metadata.uid}/c/0.log`
    for (const replace of [`ln -sf ${secret} ${own}`, `rm ${own}; mkfifo ${own}`]) {
      // when
      expect(await cluster.kubectl.sh("liar", `${replace}; echo done`)).toBe("done\n")
      const { body } = await cluster.server.get("/api/v1/namespaces/default/pods/liar/log")
      // then
      expect(body.toString()).not.toContain("secret\n")
    }
    expect((await cluster.server.get("/readyz")).status).toBe(200)
  })

  test("serves many commands at once, and has nothing of them afterwards", async () => {
    // given
    await cluster.runPod("busy", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    const open = () => readdirSync(`/proc/${cluster.server.pid}/fd`).length
    expect(await cluster.kubectl.sh("busy", "echo works")).toBe("works\n")
    const before = open()
    // when
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => cluster.kubectl.sh("busy", `echo ${i}`)))
    // then
    expect(answers).toEqual(Array.from({ length: 30 }, (_, i) => `${i}\n`))
    expect(await cluster.kubectl.sh("busy", "echo works")).toBe("works\n")
    expect(open()).toBeLessThan(before + 30)
  }, 120_000)

  test("removes a pod whose volume has folders nested thousands deep", async () => {
    // given
    const pod = await cluster.runPod("deep", {
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        {
          name: "c",
          image: BUSYBOX,
          command: stay(
            "cd /v; mkdir inner; i=0; while [ $i -lt 1500 ]; do mkdir outer; mv inner outer/d; mv outer inner; i=$((i+1)); done; touch /v/done",
          ),
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
    })
    const volumes = join(cluster.server.dataDir, "agent/kubelet/pods", pod.metadata.uid!)
    expect(await cluster.kubectl.sh("deep", "until [ -e /v/done ]; do sleep 0.2; done; echo deep")).toBe("deep\n")
    // when
    await cluster.client.delete(Pod, { name: "deep", namespace: "default" })
    await cluster.gone(Pod, "deep")
    // then nothing is left, and the node goes on
    while (existsSync(volumes)) await Bun.sleep(50)
    expect(await cluster.kubectl.sh("busy", "echo works")).toBe("works\n")
  }, 120_000)
})

describeOnNode("a node whose disk of images and containers is full", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-full-"))
  const disk = join(dataDir, "agent/containerd")
  const filler = join(disk, "filler")
  let cluster: Cluster
  beforeAll(async () => {
    mkdirSync(disk, { recursive: true })
    const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=256m", "tmpfs", disk])
    if (status !== 0) throw new Error(`mount: ${stderr.toString()}`)
    const off = ["eviction-hard=nodefs.available<0%,imagefs.available<0%", "image-gc-high-threshold=100"]
    cluster = await startCluster({ dataDir, flags: off.map((arg) => `--kubelet-arg=${arg}`) })
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    spawnSync("umount", ["-l", disk])
    rmSync(dataDir, { recursive: true, force: true })
  })

  test("says why a container does not start, and starts it when there is room", async () => {
    // given
    await cluster.runPod("steady", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(filler, Buffer.alloc(bavail * bsize))
    const told = new Promise<Event>((resolve) => {
      const watch = cluster.client.watch(
        Event,
        { namespace: "default" },
        {
          onEvent(event) {
            if (event.type !== "ADDED" || !/no space left on device/.test(event.object.message ?? "")) return
            watch.close()
            resolve(event.object)
          },
          onEnd: () => undefined,
        },
      )
    })
    // when
    await cluster.createPod("waiting", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    // then
    expect((await told).type).toBe("Warning")
    expect(await cluster.kubectl.sh("steady", "echo works")).toBe("works\n")
    // and when there is room
    rmSync(filler)
    await cluster.pod("waiting")
  }, 120_000)
})
