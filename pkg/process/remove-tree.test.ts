import { afterEach, beforeEach, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rename, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { removeTree } from "./remove-tree.ts"

let base: string
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "k3ts-remove-"))
})
afterEach(() => void spawnSync("rm", ["-rf", "--", base]))

/** Makes folders within each other. No call takes a path so long, so each is moved into the next. */
async function makeDeep(folder: string, levels: number, length = 50): Promise<void> {
  const name = "d".repeat(length)
  await mkdir(join(base, "inner"))
  for (let i = 0; i < levels; i++) {
    await mkdir(join(base, "outer"))
    await rename(join(base, "inner"), join(base, "outer", name))
    await rename(join(base, "outer"), join(base, "inner"))
  }
  await rename(join(base, "inner"), join(folder, name))
}

test("a folder is removed with all in it, and what its links lead to stays", async () => {
  // given
  const folder = join(base, "-folder")
  await mkdir(join(folder, "a/b"), { recursive: true })
  await mkdir(join(base, "other"))
  await writeFile(join(base, "other/file"), "")
  await symlink(join(base, "other"), join(folder, "a/link"))
  // when
  await removeTree(folder)
  // then
  expect([existsSync(folder), existsSync(join(base, "other/file"))]).toEqual([false, true])
})

test.each([
  ["1,500 folders within each other", (folder: string) => makeDeep(folder, 1500)],
  ["5,000 folders within each other with the longest names", (folder: string) => makeDeep(folder, 5000, 255)],
  [
    "300 folders beside each other",
    async (folder: string) => {
      for (let i = 0; i < 300; i++) await mkdir(join(folder, `d${i}`))
    },
  ],
])("%s are removed in moments", async (_title, make) => {
  const folder = join(base, "folder")
  await mkdir(folder)
  await make(folder)
  await removeTree(folder)
  expect(existsSync(folder)).toBe(false)
})

test("a file is removed, and one that does not exist is no error", async () => {
  await writeFile(join(base, "file"), "")
  await removeTree(join(base, "file"))
  await removeTree(join(base, "file"))
  expect(existsSync(join(base, "file"))).toBe(false)
})
