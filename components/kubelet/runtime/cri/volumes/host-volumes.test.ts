import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hostVolumes } from "./host-volumes.ts"
import { mountPoints } from "../../../../../pkg/process/mount-points.ts"
import { bindMount } from "./mounts.ts"

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("SKIPPED: mounts and owners of volumes: need root")

/** Replaces each new folder of a volume, as soon as it is there, by a link. */
const EXCHANGE = `
const fs = require("node:fs")
const [volume, victim] = process.argv.slice(-2)
process.stdout.write("ready")
for (let i = 0; ; )
  try {
    fs.renameSync(volume + "/new" + i, volume + "/aside" + i)
    fs.symlinkSync(victim, volume + "/new" + i)
    i++
  } catch {
    if (fs.existsSync(volume + "/new" + (i + 1))) i++
  }
`

describe("volumes on this host", () => {
  let root: string
  const volumes = hostVolumes()
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "k3ts-volumes-"))
  })
  afterEach(async () => {
    if (isRoot) await volumes.discard([root])
    await rm(root, { recursive: true, force: true })
  })
  const mountsBelow = async (folder: string) =>
    (await mountPoints()).filter(({ path }) => path.startsWith(`${folder}/`))

  describe("hostPath", () => {
    test.each([
      ["Directory", "directory"],
      ["File", "file"],
      ["Socket", "socket file"],
      ["CharDevice", "character device"],
      ["BlockDevice", "block device"],
    ] as const)("of type %s must exist", async (type, word) => {
      await expect(volumes.checkHostPath(join(root, "none"), type)).rejects.toThrow(
        `hostPath type check failed: ${root}/none is not a ${word}, it does not exist`,
      )
    })

    test("of a type must be of that type", async () => {
      // given a folder, a file and a socket
      await writeFile(join(root, "file"), "")
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(join(root, "socket"), resolve))
      // then each is taken for what it is
      await volumes.checkHostPath(root, "Directory")
      await volumes.checkHostPath(root, "DirectoryOrCreate")
      await volumes.checkHostPath(join(root, "file"), "File")
      await volumes.checkHostPath(join(root, "file"), "FileOrCreate")
      await volumes.checkHostPath(join(root, "socket"), "Socket")
      await volumes.checkHostPath("/dev/null", "CharDevice")
      // and for nothing else
      await expect(volumes.checkHostPath(join(root, "file"), "Directory")).rejects.toThrow(
        `hostPath type check failed: ${root}/file is not a directory, it's a File`,
      )
      await expect(volumes.checkHostPath(root, "File")).rejects.toThrow("is not a file, it's a Directory")
      await expect(volumes.checkHostPath(root, "Socket")).rejects.toThrow("is not a socket file, it's a Directory")
      await expect(volumes.checkHostPath("/dev/null", "BlockDevice")).rejects.toThrow(
        "is not a block device, it's a CharDevice",
      )
      await expect(volumes.checkHostPath(root, "CharDevice")).rejects.toThrow(
        "is not a character device, it's a Directory",
      )
      server.close()
    })

    test("can be created when it does not exist", async () => {
      await volumes.checkHostPath(join(root, "a/b"), "DirectoryOrCreate")
      await volumes.checkHostPath(join(root, "a/file"), "FileOrCreate")
      expect((await stat(join(root, "a/b"))).mode & 0o777).toBe(0o755)
      expect((await stat(join(root, "a/file"))).isFile()).toBe(true)
    })

    test("is created where nothing is, and nowhere else", async () => {
      // given what another pod may put there: a dangling link, or a named pipe, on which an open waits for ever
      await symlink(join(root, "elsewhere"), join(root, "link"))
      execFileSync("mkfifo", [join(root, "pipe")])
      // then
      await expect(volumes.checkHostPath(join(root, "link"), "FileOrCreate")).rejects.toThrow("it does not exist")
      await expect(volumes.checkHostPath(join(root, "pipe"), "FileOrCreate")).rejects.toThrow("it's a pipe")
      await expect(stat(join(root, "elsewhere"))).rejects.toThrow("ENOENT")
      // and many at once have one file
      const file = join(root, "file")
      await Promise.all(Array.from({ length: 20 }, () => volumes.checkHostPath(file, "FileOrCreate")))
      expect((await stat(file)).isFile()).toBe(true)
    })

    test("without a type can be anything, or missing", () => volumes.checkHostPath(join(root, "none"), ""))
  })

  test("an emptyDir on the disk is writable for all users, and keeps its content", async () => {
    // given
    await volumes.makeEmptyDir(join(root, "v"), {})
    expect((await stat(join(root, "v"))).mode & 0o777).toBe(0o777)
    await writeFile(join(root, "v/kept"), "x")
    // when it is made again, after a restart
    await volumes.makeEmptyDir(join(root, "v"), {})
    // then
    expect(await readFile(join(root, "v/kept"), "utf8")).toBe("x")
  })

  test.skipIf(!isRoot)("an emptyDir in memory is a tmpfs of its size, mounted once", async () => {
    // given
    const folder = join(root, "v")
    const size = 4 * 1024 * 1024
    await volumes.makeEmptyDir(folder, { memoryBytes: size })
    await writeFile(join(folder, "kept"), "x")
    // when it is made again, after a restart
    await volumes.makeEmptyDir(folder, { memoryBytes: size })
    // then it is the same, and holds no more than it may
    expect(await readFile(join(folder, "kept"), "utf8")).toBe("x")
    expect((await mountsBelow(root)).map(({ path, type }) => ({ path, type }))).toEqual([
      { path: folder, type: "tmpfs" },
    ])
    await expect(writeFile(join(folder, "big"), new Uint8Array(size + 1))).rejects.toThrow("ENOSPC")
    expect((await stat(folder)).mode & 0o7777).toBe(0o1777)
  })

  test.skipIf(!isRoot)("an emptyDir of a pod with fsGroup belongs to that group, and so do new files", async () => {
    await volumes.makeEmptyDir(join(root, "v"), { ownership: { group: 4321, readOnly: false, policy: "Always" } })
    await writeFile(join(root, "v/new"), "")
    expect([(await stat(join(root, "v"))).mode & 0o7777, (await stat(join(root, "v/new"))).gid]).toEqual([0o2777, 4321])
  })

  test.skipIf(!isRoot)(
    "the owner of a volume is changed for all files, or only if its root has another one",
    async () => {
      // given a volume whose root is right and whose file is not
      const ownership = { group: 4321, readOnly: false, policy: "OnRootMismatch" } as const
      await mkdir(join(root, "v"))
      await volumes.setOwnership(join(root, "v"), ownership)
      await writeFile(join(root, "v/file"), "", { mode: 0o600 })
      await chmod(join(root, "v/file"), 0o600)
      // when, then
      await volumes.setOwnership(join(root, "v"), ownership)
      expect((await stat(join(root, "v/file"))).mode & 0o777).toBe(0o600)
      await volumes.setOwnership(join(root, "v"), { ...ownership, policy: "Always" })
      expect((await stat(join(root, "v/file"))).mode & 0o777).toBe(0o660)
    },
  )

  test.skipIf(!isRoot)("a volume whose path is a link is given to the group, and not the link", async () => {
    // given
    await mkdir(join(root, "real"))
    await writeFile(join(root, "real/file"), "")
    await symlink(join(root, "real"), join(root, "link"))
    // when
    await volumes.setOwnership(join(root, "link"), { group: 4321, readOnly: false, policy: "Always" })
    // then
    expect([(await stat(join(root, "real"))).gid, (await stat(join(root, "real/file"))).gid]).toEqual([4321, 4321])
    expect((await lstat(join(root, "link"))).gid).toBe(0)
  })

  test.skipIf(!isRoot)("secrets are on one tmpfs that only root can read; a restarted kubelet finds it", async () => {
    // given
    const folder = await volumes.memoryFolder(root)
    await writeFile(join(folder, "kept"), "x")
    // when another kubelet of the same folder asks, twice at once
    const later = hostVolumes()
    await Promise.all([later.memoryFolder(root), later.memoryFolder(root)])
    // then
    expect(await readFile(join(folder, "kept"), "utf8")).toBe("x")
    expect(await mountsBelow(root)).toHaveLength(1)
    expect((await stat(folder)).mode & 0o777).toBe(0o750)
  })

  describe.skipIf(!isRoot)("subPath", () => {
    let volume: string
    const target = (i = 0) => join(root, `pod/volume-subpaths/v/main/${i}`)
    beforeEach(async () => {
      volume = join(root, "volume")
      await mkdir(volume)
    })

    test("has the file of the time when it is mounted, and a changed file at the next mount", async () => {
      // given a volume of a ConfigMap
      await volumes.writePayload({
        folder: volume,
        payload: new Map([["key", { data: "old", mode: 0o644 }]]),
        ownership: undefined,
        stamp: "2026_01_01_00_00_00",
      })
      const path = await volumes.bindSubPath({ volume, subPath: "key", target: target() })
      // when it changes
      await volumes.writePayload({
        folder: volume,
        payload: new Map([["key", { data: "new", mode: 0o644 }]]),
        ownership: undefined,
        stamp: "2026_01_01_00_00_01",
      })
      // then the container goes on with the old file
      expect(await readFile(path, "utf8")).toBe("old")
      // and its next run sees the new one
      await volumes.bindSubPath({ volume, subPath: "key", target: target() })
      expect(await readFile(path, "utf8")).toBe("new")
      expect(await mountsBelow(root)).toHaveLength(1)
    })

    test("is bound once, however often it is requested", async () => {
      await mkdir(join(volume, "dir"))
      for (let i = 0; i < 3; i++) await volumes.bindSubPath({ volume, subPath: "dir", target: target() })
      expect(await mountsBelow(root)).toHaveLength(1)
    })

    test("keeps the files of its volume at the end of a pod, also where the kubelet's folder is a link", async () => {
      // given
      await writeFile(join(volume, "file"), "kept")
      await symlink(root, join(root, "link"))
      const linked = join(root, "link/pod/volume-subpaths")
      await volumes.bindSubPath({ volume, subPath: ".", target: join(linked, "v/main/0") })
      // when
      await volumes.discard([linked])
      // then
      expect(await readFile(join(volume, "file"), "utf8")).toBe("kept")
      expect(await mountsBelow(root)).toEqual([])
    })

    test("is created as folders with the mode of the volume", async () => {
      await chmod(volume, 0o2770)
      const path = await volumes.bindSubPath({ volume, subPath: "a/b", target: target() })
      await writeFile(join(path, "x"), "1")
      expect(await readFile(join(volume, "a/b/x"), "utf8")).toBe("1")
      expect((await stat(join(volume, "a"))).mode & 0o7777).toBe(0o2770)
    })

    test("follows a link inside the volume, but no link out of the volume", async () => {
      // given
      await mkdir(join(volume, "real"))
      await writeFile(join(volume, "real/x"), "inside")
      await symlink("real", join(volume, "inside"))
      await symlink("/etc", join(volume, "outside"))
      await symlink("../../etc/passwd", join(volume, "up"))
      await symlink("/nowhere/at/all", join(volume, "dangling"))
      // then
      expect(
        await readFile(join(await volumes.bindSubPath({ volume, subPath: "inside", target: target() }), "x"), "utf8"),
      ).toBe("inside")
      for (const subPath of ["outside", "outside/passwd", "outside/new", "up", "dangling", "dangling/new"]) {
        await expect(volumes.bindSubPath({ volume, subPath, target: target() })).rejects.toThrow()
      }
      await expect(volumes.openInside(volume, "outside/passwd")).rejects.toThrow("not within volume path")
      const file = (await volumes.openInside(volume, "real/x"))!
      expect(Buffer.from(await file.read(0, 100)).toString()).toBe("inside")
      await file.close()
      expect(await volumes.openInside(volume, "real/none")).toBeUndefined()
      execFileSync("mkfifo", [join(volume, "pipe")])
      for (const path of ["pipe", "real"])
        await expect(volumes.openInside(volume, path)).rejects.toThrow("is not a file")
    })

    test("changes nothing outside of the volume while a pod exchanges each new folder for a link", async () => {
      // given a file of the host, and a pod that replaces each new folder of its volume by a link to it
      const victim = join(root, "victim")
      await writeFile(victim, "", { mode: 0o600 })
      await chmod(volume, 0o777)
      const attacker = spawn(process.execPath, ["-e", EXCHANGE, volume, victim], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      await once(attacker.stdout, "data")
      try {
        // when folders are made for subPaths
        for (let i = 0; i < 300; i++)
          await volumes.bindSubPath({ volume, subPath: `new${i}/deeper`, target: target(i) }).catch(() => undefined)
      } finally {
        attacker.kill("SIGKILL")
      }
      // then
      expect((await stat(victim)).mode & 0o777).toBe(0o600)
    }, 60_000)

    test("binds a device without opening it", async () => {
      const path = await volumes.bindSubPath({ volume: "/dev", subPath: "null", target: target() })
      expect((await stat(path)).isCharacterDevice()).toBe(true)
    })
  })

  test.skipIf(!isRoot)(
    "discarding a folder unmounts everything below it, even when in use, and never removes files of a mount",
    async () => {
      // given a pod's folder with a tmpfs in use, a mount inside it, and a folder of the host bound in
      const pod = join(root, "pod")
      const host = join(root, "host")
      await mkdir(host)
      await writeFile(join(host, "precious"), "x")
      await volumes.makeEmptyDir(join(pod, "cache"), { memoryBytes: 1024 * 1024 })
      await volumes.makeEmptyDir(join(pod, "cache/inner"), { memoryBytes: 1024 * 1024 })
      await mkdir(join(pod, "bound here"))
      await bindMount(host, join(pod, "bound here"))
      const user = Bun.spawn(["sleep", "60"], { cwd: join(pod, "cache") })
      // when
      await volumes.discard([pod, join(root, "never made")])
      // then
      expect(await mountsBelow(root)).toEqual([])
      await expect(lstat(pod)).rejects.toThrow("ENOENT")
      expect(await readFile(join(host, "precious"), "utf8")).toBe("x")
      user.kill()
      await user.exited
    },
  )
})
