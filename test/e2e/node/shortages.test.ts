/** A node that lacks something for a while: file descriptors, or room on the disk. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { EXECUTABLE } from "../../harness/server.ts"

const MEGABYTES = 512

describeOnNode("a node on a small disk", () => {
  const disk = mkdtempSync(join(tmpdir(), "k3ts-shortages-"))
  const filler = join(disk, "filler")
  let cluster: Cluster

  beforeAll(async () => {
    const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${MEGABYTES}m`, "tmpfs", disk])
    if (status !== 0) throw new Error(`mount: ${stderr.toString()}`)
    const dataDir = join(disk, "k3ts")
    mkdirSync(dataDir)
    cluster = await startCluster({
      dataDir,
      flags: ["--kubelet-arg=eviction-hard=nodefs.available<0%,imagefs.available<0%"],
    })
    await cluster.runPod("steady", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
  })
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]()
    spawnSync("umount", ["-l", disk])
    rmSync(disk, { recursive: true, force: true })
  })

  /** Sets how many files the server may have open, and returns how many it might have had. */
  const limitFiles = (soft: number): number => {
    const { pid } = cluster.server
    const before = spawnSync("prlimit", ["--pid", String(pid), "--nofile", "--output=SOFT", "--noheadings"])
    const { status } = spawnSync("prlimit", ["--pid", String(pid), `--nofile=${soft}:`])
    expect(status).toBe(0)
    return Number(before.stdout.toString())
  }
  const fill = (): void => {
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(filler, Buffer.alloc(bavail * bsize - 64 * 1024))
  }
  const works = async (name: string): Promise<void> => {
    await cluster.runPod(name, { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    expect(await cluster.kubectl.sh(name, "echo works")).toBe("works\n")
  }
  test("without file descriptors serves open connections, and recovers by itself when there are some", async () => {
    // given a server that can open no file, accept no connection and start no program
    const before = limitFiles(3)
    // when a client connects, and a pod is to start
    const waiting = connect(cluster.server.port, "127.0.0.1")
    const isCut = new Promise<boolean>((resolve) => {
      waiting.once("close", () => resolve(true)).on("error", () => resolve(true))
      setTimeout(() => resolve(false), 3000)
    })
    await cluster.createPod("meanwhile", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    await cluster.create(ConfigMap, { metadata: { name: "meanwhile", namespace: "default" } })
    // then open connections are served, and the new one waits
    expect((await cluster.client.list(ConfigMap, { namespace: "default" })).items.length).toBeGreaterThan(0)
    expect(await isCut).toBe(false)
    expect(cluster.server.alive).toBe(true)
    // and when there are descriptors again, everything goes on
    limitFiles(before)
    waiting.destroy()
    expect((await cluster.server.raw("GET", "/readyz", {})).status).toBe(200)
    await cluster.pod("meanwhile")
    await works("after-files")
    expect(await cluster.kubectl.sh("steady", "echo works")).toBe("works\n")
  })

  test("without room on its disk says so for each step, and carries each out when there is room", async () => {
    // given a pod that writes to its log and to an emptyDir, both on the full disk, all the time
    await cluster.runPod("writer", {
      volumes: [{ name: "data", emptyDir: {} }],
      containers: [
        {
          name: "c",
          image: BUSYBOX,
          command: sh("while :; do date; date >/data/now 2>/dev/null || echo none; sleep 0.2; done"),
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
    })
    fill()
    // when a pod is to start (its folders), an object is written (a commit) and a snapshot is taken
    const refused = await cluster.server.send("POST", "/api/v1/namespaces/default/configmaps", {
      metadata: { name: "large" },
      data: { text: "x".repeat(500_000) },
    })
    const saved = spawnSync(EXECUTABLE, [
      ...["snapshot", "save", "--config", "/dev/null", "--data-dir", cluster.server.dataDir],
    ])
    // then each is refused with the reason, and the server is alive
    expect([refused.status, refused.body.toString()]).toEqual([500, expect.stringContaining("disk is full")])
    expect(saved.status).toBe(1)
    expect(saved.stderr.toString()).toMatch(/no space left on the disk|has 0 MiB free/)
    expect((await cluster.server.get("/livez")).status).toBe(200)
    // and running pods run, and can be entered
    expect(await cluster.kubectl.sh("steady", "echo works")).toBe("works\n")
    // and when there is room, all of it is done
    rmSync(filler)
    expect(
      (await cluster.server.send("POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "small" } }))
        .status,
    ).toBe(201)
    await works("after-disk")
    expect(await cluster.kubectl.sh("writer", "cat /data/now | wc -l")).toBe("1\n")
    expect(await cluster.log("writer", "?tailLines=1")).not.toBe("")
  })
})
