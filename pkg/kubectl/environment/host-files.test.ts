import { afterEach, beforeEach, expect, test } from "bun:test"
import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hostFiles } from "./host-files.ts"

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "host-files-"))
})
afterEach(() => rm(folder, { recursive: true }))

test("a file that is opened exclusively is a new one, and only its owner's where that is asked for", async () => {
  const path = join(folder, "new")
  const file = await hostFiles.open(path, { mode: 0o600, exclusively: true })
  await file.write(Buffer.from("secret"))
  await file.close()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readFile(path, "utf8")).toBe("secret")
})

test("a file or link that is there is not opened exclusively, and stays as it is", async () => {
  // given files of others
  const [theirs, link] = [join(folder, "theirs"), join(folder, "link")]
  await writeFile(theirs, "theirs")
  await symlink(theirs, link)
  await symlink(join(folder, "nowhere"), join(folder, "dangling"))
  // then none of them is written to
  for (const path of [theirs, link, join(folder, "dangling")])
    await expect(hostFiles.open(path, { exclusively: true })).rejects.toMatchObject({ code: "EEXIST" })
  expect(await readFile(theirs, "utf8")).toBe("theirs")
  expect(await hostFiles.stat(join(folder, "nowhere"))).toBeUndefined()
})

test("a file that is there is replaced unless it is opened exclusively", async () => {
  const path = join(folder, "old")
  await writeFile(path, "an older text")
  const file = await hostFiles.open(path)
  await file.write(Buffer.from("new"))
  await file.close()
  expect(await readFile(path, "utf8")).toBe("new")
})
