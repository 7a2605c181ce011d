import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { mkdir, readFile, statfs, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mountPoints } from "../../../../../pkg/process/mount-points.ts"
import { run } from "../../../../../pkg/process/run.ts"
import { BlockDevices } from "./block-devices.ts"
import { mountDevice } from "./device-file-system.ts"

const MIB = 2 ** 20
const HAS_ALL =
  process.getuid?.() === 0 && existsSync("/dev/loop-control") && Bun.which("mkfs.ext4") !== null && Bun.which("blkid")
if (!HAS_ALL) console.warn("!!! SKIPPED: file systems on devices: need root, loop devices, mkfs.ext4 and blkid")
/** The kernel lets only CAP_SYS_RESOURCE (bit 24) enlarge a mounted ext4. */
const MAY_RESIZE =
  (BigInt(`0x${/CapEff:\s*(\w+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]}`) >> 24n) % 2n === 1n
if (!MAY_RESIZE) console.warn("!!! SKIPPED: growth of mounted file systems: needs CAP_SYS_RESOURCE")

describe.skipIf(!HAS_ALL)("a local volume whose path is a block device", () => {
  let base: string
  let file: string
  let pods: string
  let folder: string
  let path: string
  let devices: BlockDevices
  beforeEach(async () => {
    base = mkdtempSync(join(tmpdir(), "k3ts-file-system-"))
    file = join(base, "disk")
    pods = join(base, "pods")
    folder = join(base, "mounts/pv")
    devices = new BlockDevices()
    writeFileSync(file, "")
    truncateSync(file, 16 * MIB)
    path = (await run("losetup", ["--find", "--show", file])).trim()
  })
  afterEach(async () => {
    if (await isMounted()) await run("umount", [folder])
    await run("losetup", ["--detach", path])
    rmSync(base, { recursive: true, force: true })
  })
  const isMounted = async () => (await mountPoints()).some((mount) => mount.path === folder)
  const typeOf = async () => (await run("blkid", ["-p", "-s", "TYPE", "-o", "value", path]).catch(() => "")).trim()
  const folderOf = (pod: string) => join(pods, pod, "volumeDevices")
  const linkOf = (pod: string, volume = "pv") => join(folderOf(pod), "kubernetes.io~local-volume", volume)
  const mount = (pod: string, { fsType = "ext4", options = [] as readonly string[] } = {}) =>
    devices.mountLocal({ path, folder, link: linkOf(pod), pods, fsType, options })
  /** Gives a pod the device, or the file behind it, as it is, through a volume of its own. */
  const passOn = (pod: string, from = path) => devices.map({ path: from, link: linkOf(pod, "raw"), pods })

  test("gets a file system, which all pods share until the last is gone, and which keeps its files", async () => {
    // given two pods that come at the same time
    expect(await Promise.all([mount("a"), mount("b")])).toEqual([folder, folder])
    expect(await typeOf()).toBe("ext4")
    await writeFile(join(folder, "note"), "kept")
    // when one goes, and the kubelet begins anew
    await devices.unmap(folderOf("a"), pods)
    devices = new BlockDevices()
    expect(await mount("b")).toBe(folder)
    expect(await readFile(join(folder, "note"), "utf8")).toBe("kept")
    // then the other's end unmounts it
    await devices.unmap(folderOf("b"), pods)
    await devices.unmap(folderOf("b"), pods)
    expect(await isMounted()).toBe(false)
    expect(existsSync(folder)).toBe(false)
    // and the next pod finds the files
    await mount("c")
    expect(await readFile(join(folder, "note"), "utf8")).toBe("kept")
  })

  test("is mounted for a pod that starts while the previous pod ends", async () => {
    await mount("a")
    await Promise.all([devices.unmap(folderOf("a"), pods), mount("b")])
    expect(await isMounted()).toBe(true)
  })

  test.skipIf(!MAY_RESIZE)("grows while pods use it", async () => {
    await mount("a")
    const size = async () => (await statfs(folder)).blocks
    const before = await size()
    truncateSync(file, 32 * MIB)
    await run("losetup", ["--set-capacity", path])
    // when
    await devices.growLocal({ path, folder })
    // then
    expect(await size()).toBeGreaterThan(1.8 * before)
  })

  test("keeps a file system of another type, and the error names it", async () => {
    await run("mkfs.ext2", ["-q", path])
    await expect(mount("a", { fsType: "xfs" })).rejects.toThrow(
      `local: failed to mount device ${path}, which has ext2 at ${folder} (fstype: xfs), error `,
    )
    expect(await typeOf()).toBe("ext2")
    expect(existsSync(folder)).toBe(false)
  })

  test("keeps its table of partitions", async () => {
    // given one partition of Linux from sector 1 on, and the signature of the master boot record
    const table = Buffer.alloc(512)
    table.set([0, 0, 2, 0, 0x83, 0, 3, 0, 1, 0, 0, 0, 100, 0, 0, 0], 446)
    table.writeUInt16LE(0xaa55, 510)
    await writeFile(path, table)
    // when
    await expect(mount("a")).rejects.toThrow(`${path}, which has unknown data, probably partitions at ${folder}`)
    // then
    expect((await readFile(path)).subarray(0, 512).equals(table)).toBe(true)
  })

  test("gets no file system while it cannot be read", async () => {
    await mkdir(folder, { recursive: true })
    const device = join(base, "broken")
    const broken = mountDevice({ device, folder, fsType: "ext4", options: [], mayFormat: true })
    await expect(broken).rejects.toThrow("ENOENT: no such file or directory, open")
  })

  test("gets no file system for a pod that may only read", async () => {
    await expect(mount("a", { options: ["ro"] })).rejects.toThrow("cannot mount unformatted disk")
    expect(await typeOf()).toBe("")
    // and one that has a file system is mounted read-only
    await devices.unmap(folderOf("a"), pods)
    await mount("b")
    await devices.unmap(folderOf("b"), pods)
    await mount("a", { options: ["ro"] })
    expect(writeFile(join(folder, "note"), "")).rejects.toThrow("read-only")
  })

  test("stays mounted, with what is written, when a pod that has the device as it is goes, and the reverse", async () => {
    // given a device with a file system, which one pod has as it is, and another one mounted
    await mount("first")
    await devices.unmap(folderOf("first"), pods)
    expect(await passOn("raw")).toBe(path)
    await mount("mounted")
    await writeFile(join(folder, "note"), "kept")
    // when the first goes
    await devices.unmap(folderOf("raw"), pods)
    // then
    expect(await isMounted()).toBe(true)
    expect(await readFile(join(folder, "note"), "utf8")).toBe("kept")
    // when it comes again, and the other one goes
    await passOn("raw")
    await devices.unmap(folderOf("mounted"), pods)
    // then the device still is what it was
    expect(await isMounted()).toBe(false)
    expect(await run("losetup", ["--list", "--noheadings", "--output", "NAME"])).toContain(path)
    expect(await typeOf()).toBe("ext4")
  })

  test("stays mounted when a pod goes that has the file behind the device", async () => {
    expect(await passOn("raw", file)).toBe(path)
    await devices.unmap(folderOf("raw"), pods)
    await mount("mounted")
    await passOn("raw", file)
    await devices.unmap(folderOf("raw"), pods)
    expect(await run("losetup", ["--list", "--noheadings", "--output", "NAME,AUTOCLEAR"])).toMatch(
      new RegExp(`${path}\\s+0`),
    )
  })

  test.each(["the device", "the file behind it"])("gets no file system while a pod has %s as it is", async (what) => {
    // given data of which nobody else knows
    const own = Buffer.from("data of a program")
    await writeFile(path, own)
    await passOn("raw", what === "the device" ? path : file)
    // when
    await expect(mount("mounted")).rejects.toThrow(
      `cannot make a file system on ${path} while a pod uses it as a block device`,
    )
    // then
    expect((await readFile(path)).subarray(0, own.length).equals(own)).toBe(true)
    // and gets one when that pod is gone
    await devices.unmap(folderOf("raw"), pods)
    await mount("mounted")
    expect(await typeOf()).toBe("ext4")
  })

  test("gets one file system when two volumes of it are mounted at the same time", async () => {
    // given
    const second = join(base, "mounts/second")
    const both = [
      mount("a"),
      devices.mountLocal({ path, folder: second, link: linkOf("b"), pods, fsType: "ext4", options: [] }),
    ]
    try {
      // when
      await Promise.all(both)
      await writeFile(join(folder, "note"), "kept")
      // then both are the same
      expect(await readFile(join(second, "note"), "utf8")).toBe("kept")
      expect(await run("e2fsck", ["-fn", path]).catch(String)).not.toContain("Bad magic")
    } finally {
      await Promise.allSettled(both)
      await devices.unmap(folderOf("b"), pods)
    }
  })

  test("is mounted with the type of file system that its volume wants, which is no path of a program", async () => {
    await expect(mount("a", { fsType: "../x" })).rejects.toThrow('"../x" is no type of file systems')
    await mount("a", { fsType: "ext3" })
    expect(await typeOf()).toBe("ext3")
  })
})

describe("a local volume", () => {
  const request = { folder: "/nowhere/pv", link: "/nowhere/link", pods: "/nowhere", fsType: "ext4", options: [] }

  test("whose path is a folder is this folder", async () => {
    expect(await new BlockDevices().mountLocal({ ...request, path: "/" })).toBe("/")
  })

  test("whose path is neither a folder nor a block device is refused", async () => {
    const devices = new BlockDevices()
    await expect(devices.mountLocal({ ...request, path: "/nowhere" })).rejects.toThrow('path "/nowhere" does not exist')
    await expect(devices.mountLocal({ ...request, path: "/etc/hostname" })).rejects.toThrow(
      "only directory and block device are supported",
    )
  })
})
