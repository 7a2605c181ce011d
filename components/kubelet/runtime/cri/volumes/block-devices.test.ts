import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mountPoints } from "../../../../../pkg/process/mount-points.ts"
import { run } from "../../../../../pkg/process/run.ts"
import { BlockDevices } from "./block-devices.ts"

const HAS_LOOP = process.getuid?.() === 0 && existsSync("/dev/loop-control")
if (!HAS_LOOP) console.warn("!!! SKIPPED: loop devices: need root and a kernel with CONFIG_BLK_DEV_LOOP")

let base: string
let file: string
let pods: string
let devices: BlockDevices
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "k3ts-devices-"))
  file = join(base, "disk")
  pods = join(base, "pods")
  devices = new BlockDevices()
  writeFileSync(file, "kept")
  truncateSync(file, 2 ** 20)
})
afterEach(async () => {
  for (const line of (await attached()).split("\n")) {
    const device = line.split(":")[0] ?? ""
    if (device !== "") await run("losetup", ["--detach", device])
  }
  rmSync(base, { recursive: true, force: true })
})
const attached = () => (HAS_LOOP ? run("losetup", ["--associated", file]) : Promise.resolve(""))
const folderOf = (pod: string) => join(pods, pod, "volumeDevices")
const linkOf = (pod: string) => join(folderOf(pod), "kubernetes.io~local-volume/pv")
const requestOf = (pod: string, path = file) => ({ path, link: linkOf(pod), pods })

describe.skipIf(!HAS_LOOP)("a file that is a block device of pods", () => {
  test("is one loop device for all of them, until the last pod is gone", async () => {
    // given
    const device = await devices.map(requestOf("a"))
    expect(await run("dd", [`if=${device}`, "bs=4", "count=1"])).toBe("kept")
    // when
    expect(await devices.map(requestOf("a"))).toBe(device)
    expect(await devices.map(requestOf("b"))).toBe(device)
    // then
    await devices.unmap(folderOf("a"), pods)
    expect(await attached()).toContain(device)
    await devices.unmap(folderOf("b"), pods)
    await devices.unmap(folderOf("b"), pods)
    expect(await attached()).toBe("")
  })

  test("is one loop device also by the path of a link, grows by it, and is detached with the last pod", async () => {
    // given
    const path = join(base, "link")
    symlinkSync(file, path)
    const device = await devices.map(requestOf("a", path))
    // when
    expect(await devices.map(requestOf("a", path))).toBe(device)
    expect(await devices.map(requestOf("b"))).toBe(device)
    truncateSync(file, 2 ** 21)
    await devices.grow(path)
    // then
    expect((await run("blockdev", ["--getsize64", device])).trim()).toBe(String(2 ** 21))
    await devices.unmap(folderOf("a"), pods)
    expect(await attached()).toContain(device)
    await devices.unmap(folderOf("b"), pods)
    expect(await attached()).toBe("")
  })

  test("is detached, and a disk that was mounted in its place stays mounted", async () => {
    // given
    const own = join(base, "kubelet/pods")
    const folder = join(own, "a/volumeDevices")
    await devices.map({ path: file, link: join(folder, "kubernetes.io~local-volume/pv"), pods: own })
    rmSync(file)
    mkdirSync(file)
    await run("mount", ["-t", "tmpfs", "none", file])
    try {
      // when
      await devices.unmap(folder, own)
      // then
      expect((await mountPoints()).map(({ path }) => path)).toContain(file)
      expect(await run("losetup", ["--list", "--noheadings", "--output", "BACK-FILE"])).not.toContain(file)
    } finally {
      await run("umount", [file])
    }
  })

  test("is attached for a pod that starts while the previous pod ends", async () => {
    for (let i = 0; i < 10; i++) {
      // given
      await devices.map(requestOf("a"))
      // when
      const [, device] = await Promise.all([devices.unmap(folderOf("a"), pods), devices.map(requestOf("b"))])
      // then
      expect(await attached()).toContain(`${device}:`)
      await devices.unmap(folderOf("b"), pods)
    }
  })

  test("grows with its file while pods use it", async () => {
    // given
    const device = await devices.map(requestOf("a"))
    const bytes = async () => Number((await run("blockdev", ["--getsize64", device])).trim())
    truncateSync(file, 2 ** 21)
    expect(await bytes()).toBe(2 ** 20)
    // when
    await devices.grow(file)
    // then
    expect(await bytes()).toBe(2 ** 21)
  })

  test("is the loop device that somebody else has attached to it, which stays when the last pod is gone", async () => {
    // given
    const device = (await run("losetup", ["--find", "--show", file])).trim()
    // when
    expect(await devices.map(requestOf("a"))).toBe(device)
    await devices.unmap(folderOf("a"), pods)
    // then
    expect(await attached()).toContain(`${device}:`)
  })

  test("is detached by a kubelet that was started anew meanwhile", async () => {
    await devices.map(requestOf("a"))
    await new BlockDevices().unmap(folderOf("a"), pods)
    expect(await attached()).toBe("")
  })

  test("is not detached for a record of before the machine has started", async () => {
    // given a device of ours, before a start of the machine, and then one that somebody else has attached
    await devices.map(requestOf("a"))
    const loops = join(base, "plugins/kubernetes.io/local-volume/loops")
    const [boot = ""] = readdirSync(loops)
    renameSync(join(loops, boot), join(loops, "earlier"))
    // when
    await devices.unmap(folderOf("a"), pods)
    // then
    expect(await attached()).toContain(file)
    // and the records of then go with the next device
    const other = join(base, "other")
    writeFileSync(other, "")
    truncateSync(other, 2 ** 20)
    await devices.map(requestOf("b", other))
    await devices.unmap(folderOf("b"), pods)
    expect(readdirSync(loops)).toEqual([boot])
  })

  test("is released although its file was removed already", async () => {
    await devices.map(requestOf("a"))
    rmSync(file)
    await devices.unmap(folderOf("a"), pods)
    expect(await run("losetup", ["--all"])).not.toContain(base)
  })

  test("is released although the kubelet died between creating the link and the device", async () => {
    // given a link without a loop device, as a machine has after it was switched off
    const device = await devices.map(requestOf("a"))
    await run("losetup", ["--detach", device])
    // when
    const again = await devices.map(requestOf("a"))
    expect(await attached()).toContain(again)
    await devices.unmap(folderOf("a"), pods)
    // then
    expect(await attached()).toBe("")
  })
})

describe("a path that is not a block device", () => {
  test("is refused", async () => {
    mkdirSync(join(base, "folder"))
    const map = (name: string) => devices.map(requestOf("a", join(base, name)))
    await expect(map("folder")).rejects.toThrow("neither a block device nor a file")
    await expect(map("nothing")).rejects.toThrow("does not exist")
    expect(existsSync(linkOf("a"))).toBe(false)
  })
})
