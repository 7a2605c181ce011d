import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, statfsSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, startServer, type Answer } from "../harness/server.ts"

const PATH = "/api/v1/namespaces/default/configmaps"
const configMap = (name: string, bytes: number) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { text: "x".repeat(bytes) },
})

const canMount = process.getuid?.() === 0
if (!canMount) console.warn("!!! SKIPPED: full and read-only disks need root, to mount file systems of their own")

/** A small file system, which is removed at the end. */
function smallDisk(megabytes: number) {
  const path = mkdtempSync(join(tmpdir(), "k3ts-disk-"))
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path])
  if (status !== 0) throw new Error(`mount: ${stderr.toString()}`)
  const filler = join(path, "filler")
  return {
    path,
    /** Fills the file system until only this much space is free. */
    fill(kilobytesLeft: number) {
      const { bavail, bsize } = statfsSync(path)
      const fd = openSync(filler, "w")
      writeSync(fd, new Uint8Array(Math.max(0, bavail * bsize - kilobytesLeft * 1024)))
      closeSync(fd)
    },
    makeRoom: () => rmSync(filler),
    [Symbol.dispose]() {
      spawnSync("umount", ["-l", path])
      rmSync(path, { recursive: true, force: true })
    },
  }
}

const messageOf = ({ body }: Answer) => (JSON.parse(body.toString()) as { message: string }).message

describe.skipIf(!canMount)("a disk that fills up", () => {
  test("keeps no part of a snapshot that does not fit, and the server continues", async () => {
    // given a server with more content than the disk of snapshots has room for, in objects that do not compress
    using disk = smallDisk(32)
    await using server = await startServer()
    for (let i = 0; i < 8; i++) {
      const text = randomBytes(500_000).toString("base64")
      const object = { ...configMap(`large-${i}`, 0), data: { text } }
      expect((await server.send("POST", PATH, object)).status).toBe(201)
    }
    const folder = join(disk.path, "snapshots")
    const save = () =>
      spawnSync(EXECUTABLE, [
        ...["snapshot", "save", "--config", "/dev/null", "--data-dir", server.dataDir, "--snapshot-dir", folder],
      ])

    // when the disk has less room than a snapshot needs, and less than it leaves to others
    disk.fill(3000)
    const full = save()
    disk.makeRoom()
    disk.fill(1000)
    const nearlyFull = save()

    // then both fail with the reason and leave nothing
    expect(full).toMatchObject({ status: 1 })
    expect(full.stderr.toString()).toMatch(/Cannot save .*: no space left on the disk \(ENOSPC\); make room/)
    expect(nearlyFull.stderr.toString()).toMatch(
      /Cannot save .*: the disk has 0 MiB free, of which a snapshot must leave 2/,
    )
    expect(readdirSync(folder)).toEqual([])

    // and with room one is saved
    disk.makeRoom()
    expect(save().status).toBe(0)
    expect((await server.send("POST", PATH, configMap("later", 10))).status).toBe(201)
  })

  test(
    "refuses writes and says why, continues reads and watches, accepts writes again when there is space, and " +
      "loses nothing that it took",
    async () => {
      using disk = smallDisk(32)
      const dataDir = join(disk.path, "k3ts")
      mkdirSync(dataDir)
      const taken = new Map<string, number>()
      {
        await using server = await startServer({ dataDir })
        const create = async (name: string, bytes: number): Promise<Answer> => {
          const answer = await server.send("POST", PATH, configMap(name, bytes))
          if (answer.status === 201) taken.set(name, bytes)
          return answer
        }
        expect((await create("first", 10)).status).toBe(201)

        // given a disk without room for what comes
        disk.fill(600)
        let refused: Answer | undefined
        const refusedNames: string[] = []
        for (let i = 0; i < 30; i++) {
          const answer = await create(`big-${i}`, 100_000)
          if (answer.status === 201) continue
          refused = answer
          refusedNames.push(`big-${i}`)
        }
        // then writes are refused with the reason
        expect(refused?.status).toBe(500)
        expect(messageOf(refused!)).toContain("disk is full")
        // and reads show all that was taken and nothing that was not
        const names = async () =>
          (
            JSON.parse((await server.get(PATH)).body.toString()) as { items: { metadata: { name: string } }[] }
          ).items.map(({ metadata }) => metadata.name)
        expect(await names()).toEqual(expect.arrayContaining([...taken.keys()]))
        expect((await names()).filter((name) => refusedNames.includes(name))).toEqual([])
        // and the server is alive, but not ready, which the check of the store says and can be told to leave out
        expect((await server.get("/livez")).status).toBe(200)
        const ready = await server.get("/readyz")
        expect([ready.status, ready.body.toString()]).toEqual([
          500,
          expect.stringMatching(/^\[-\]etcd-readiness failed: .*disk is full/m),
        ])
        expect((await server.get("/readyz?exclude=etcd-readiness")).status).toBe(200)
        // and a watch begun now tells what is there
        const watched = await server.get(`${PATH}?watch=true&timeoutSeconds=1`)
        expect(watched.body.toString()).toContain('"name":"first"')

        // and when there is room, writes go on
        disk.makeRoom()
        expect((await create("after", 100_000)).status).toBe(201)
        expect((await server.get("/readyz")).status).toBe(200)
        expect((await server.send("DELETE", `${PATH}/first`, undefined)).status).toBe(200)
        taken.delete("first")
        expect(server.output()).not.toContain("Contained a failure")
        // and the log has a line for the beginning and one for the end, and none for each refusal
        expect(
          server
            .output()
            .split("\n")
            .filter((line) => /The store (refuses|takes) writes|Contained a failure/.test(line))
            .map((line) => line.match(/The store \w+ writes|Contained a failure/)![0]),
        ).toEqual(["The store refuses writes", "The store takes writes"])
        await server.kill("SIGKILL")
      }
      // and after a kill everything taken is there
      await using again = await startServer({ dataDir })
      const { items } = JSON.parse((await again.get(PATH)).body.toString()) as {
        items: { metadata: { name: string }; data: { text?: string } }[]
      }
      const found = new Map(
        items
          .filter(({ data }) => data.text !== undefined)
          .map(({ metadata, data }) => [metadata.name, data.text!.length]),
      )
      expect(found).toEqual(taken)
    },
    60_000,
  )

  test("a server without disk space at its start says so and exits, and starts when there is space", async () => {
    using disk = smallDisk(16)
    const dataDir = join(disk.path, "k3ts")
    {
      await using server = await startServer({ dataDir })
      expect((await server.send("POST", PATH, configMap("kept", 10))).status).toBe(201)
      await server.kill("SIGKILL")
    }
    disk.fill(0)
    const refused: unknown = await startServer({ dataDir }).catch((err: unknown) => err)
    expect(String(refused)).toMatch(/ended with code 1:[^]*(disk is full|no space left)/)
    expect(String(refused)).toContain(`${dataDir}/`)
    disk.makeRoom()
    await using again = await startServer({ dataDir })
    expect((await again.get(`${PATH}/kept`)).status).toBe(200)
  }, 60_000)
})

describe.skipIf(!canMount)("a read-only file system", () => {
  test("is reported in one line, and nothing starts", () => {
    using disk = smallDisk(8)
    expect(spawnSync("mount", ["-o", "remount,ro", disk.path]).status).toBe(0)
    const { status, stderr } = spawnSync(
      EXECUTABLE,
      [
        "server",
        "--disable-agent",
        "--data-dir",
        join(disk.path, "k3ts"),
        "--https-listen-port",
        "16599",
        "--write-kubeconfig",
        join(disk.path, "config"),
      ],
      { timeout: 20_000 },
    )
    expect(status).toBe(1)
    expect(stderr.toString()).toContain(disk.path)
    expect(stderr.toString()).toContain("data directory")
    expect(stderr.toString()).not.toContain("    at ")
    expect(readdirSync(disk.path)).toEqual([])
  }, 30_000)
})
