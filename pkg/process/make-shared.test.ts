import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { endShared, isMountOfItself, makeShared } from "./make-shared.ts"
import { mountOf, mountPoints, parseMountPoints } from "./mount-points.ts"
import { run } from "./run.ts"

const ROOT = "22 1 8:1 / / rw - ext4 /dev/sda1 rw"

test.each([
  { title: "a folder without a mount", mounts: [ROOT], wants: false },
  {
    title: "a folder that was mounted on itself",
    mounts: [ROOT, "23 22 8:1 /d/s /d/s rw - ext4 /dev/sda1 rw"],
    wants: true,
  },
  { title: "a disk", mounts: [ROOT, "23 22 8:2 / /d/s rw - ext4 /dev/sdb1 rw"], wants: false },
  { title: "another folder of the disk", mounts: [ROOT, "23 22 8:1 /other /d/s rw - ext4 /dev/sda1 rw"], wants: false },
  {
    title: "a folder of a disk, mounted on itself",
    mounts: [ROOT, "23 22 8:2 / /d rw - ext4 /dev/sdb1 rw", "24 23 8:2 /s /d/s rw - ext4 /dev/sdb1 rw"],
    wants: true,
  },
  {
    title: "a disk that is mounted on itself",
    mounts: [ROOT, "23 22 8:2 / /d/s rw - ext4 /dev/sdb1 rw", "24 23 8:2 / /d/s rw - ext4 /dev/sdb1 rw"],
    wants: true,
  },
])("mounts of k3ts are distinguished from others: $title", ({ mounts, wants }) => {
  expect(isMountOfItself("/d/s", parseMountPoints(mounts.join("\n")))).toBe(wants)
})

const MAY_MOUNT = process.getuid?.() === 0
if (!MAY_MOUNT) console.warn("!!! SKIPPED: shared mounts: need root")

describe.skipIf(!MAY_MOUNT)("a folder that is made shared", () => {
  const base = mkdtempSync(join(tmpdir(), "k3ts-shared-"))
  const folder = join(base, "a b")
  beforeAll(async () => {
    mkdirSync(join(folder, "inner"), { recursive: true })
    await run("mount", ["-t", "tmpfs", "none", join(folder, "inner")])
    writeFileSync(join(folder, "inner/file"), "")
  })
  afterAll(async () => {
    for (let i = 0; i < 3; i++) await run("umount", ["-l", join(folder, "inner")]).catch(() => undefined)
    rmSync(base, { recursive: true, force: true })
  })

  test("is shared once, keeps the mounts in it, and is private again at the end", async () => {
    const wasShared = mountOf(folder, await mountPoints())?.isShared
    // when
    await makeShared(folder)
    await makeShared(folder)
    // then
    const mounts = await mountPoints()
    expect(mountOf(folder, mounts)?.isShared).toBe(true)
    expect(mounts.filter(({ path }) => path === folder).length).toBeLessThanOrEqual(1)
    expect(existsSync(join(folder, "inner/file"))).toBe(true)
    // and is made so no second time by a path with a link in it
    symlinkSync(base, join(base, "link"))
    await makeShared(join(base, "link/a b"))
    expect((await mountPoints()).filter(({ path }) => path === folder).length).toBeLessThanOrEqual(1)
    await endShared(folder)
    await endShared(folder)
    expect(mountOf(folder, await mountPoints())?.isShared).toBe(wasShared!)
    expect(existsSync(join(folder, "inner/file"))).toBe(true)
  })
})
