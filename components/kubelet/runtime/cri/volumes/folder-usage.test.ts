import { afterEach, beforeEach, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { link, lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { folderUsage } from "./folder-usage.ts"

/** Makes and removes files in a folder without end. */
const CHURN = `
const fs = require("node:fs")
const folder = process.argv.at(-1)
for (let turn = 0; ; turn++) {
  for (let i = 0; i < 200; i++) fs.writeFileSync(folder + "/" + i, "")
  if (turn === 0) process.stdout.write("ready")
  for (let i = 0; i < 200; i++) fs.rmSync(folder + "/" + i)
}
`

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

test("the usage of folders that are nested too deeply is counted while files come and go in them", async () => {
  // given
  const deep = join(folder, ...Array.from({ length: 300 }, () => "d"))
  await mkdir(deep, { recursive: true })
  await writeFile(join(deep, "file"), Buffer.alloc(1_000_000))
  const churn = spawn(process.execPath, ["-e", CHURN, deep], { stdio: ["ignore", "pipe", "inherit"] })
  try {
    await once(churn.stdout, "data")
    for (let i = 0; i < 10; i++) {
      // when
      const usage = await folderUsage(folder)
      // then
      expect(usage!.bytes).toBeGreaterThanOrEqual(1_000_000)
      expect(usage!.inodes).toBeGreaterThanOrEqual(302)
    }
  } finally {
    churn.kill("SIGKILL")
    await once(churn, "exit")
  }
})
