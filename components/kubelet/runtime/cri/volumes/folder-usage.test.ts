import { afterEach, beforeEach, expect, test } from "bun:test"
import { link, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { folderUsage } from "./folder-usage.ts"

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "k3ts-usage-"))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test("the usage of a folder is that of all its files, and a file with two names counts once", async () => {
  // given
  await mkdir(join(folder, "deep/deeper"), { recursive: true })
  await writeFile(join(folder, "deep/deeper/file"), Buffer.alloc(100_000))
  await link(join(folder, "deep/deeper/file"), join(folder, "deep/again"))
  await symlink("/nowhere", join(folder, "link"))

  // when
  const usage = await folderUsage(folder)

  // then
  const parts = await Promise.all(
    ["", "deep", "deep/deeper", "deep/deeper/file", "link"].map((path) => lstat(join(folder, path))),
  )
  expect(usage).toEqual({ bytes: parts.reduce((sum, { blocks }) => sum + blocks * 512, 0), inodes: 5 })
  expect(usage!.bytes).toBeGreaterThanOrEqual(100_000)
})

test("the usage of a missing folder is undefined", async () => {
  expect(await folderUsage(join(folder, "none"))).toBeUndefined()
})

test("the usage of folders that are nested too deeply to be walked is counted too", async () => {
  // given
  const deep = join(folder, ...Array.from({ length: 300 }, () => "d"))
  await mkdir(deep, { recursive: true })
  await writeFile(join(deep, "file"), Buffer.alloc(1_000_000))
  // when
  const usage = await folderUsage(folder)
  // then
  expect(usage!.bytes).toBeGreaterThanOrEqual(1_000_000)
  expect(usage!.inodes).toBe(302)
})
