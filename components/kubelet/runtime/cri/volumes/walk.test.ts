import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdir, mkdtemp, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { folderUsage } from "./folder-usage.ts"
import { setOwnership } from "./ownership.ts"
import { walk } from "./walk.ts"

let base: string
let volume: string
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "k3ts-walk-")))
  volume = join(base, "volume")
  await mkdir(volume)
})
afterEach(() => rm(base, { recursive: true }))

const namesIn = async (folder: string) => {
  const names: string[] = []
  await walk(folder, ({ path }) => void names.push(path.slice(path.lastIndexOf("/") + 1)))
  return names
}

describe("a walk through a folder that a container may change", () => {
  test("visits everything once, folders after their content, and does not follow links", async () => {
    await mkdir(join(volume, "a/b"), { recursive: true })
    await writeFile(join(volume, "a/b/c"), "")
    await symlink("/etc", join(volume, "link"))
    await symlink(volume, join(volume, "a/circle"))
    expect(await namesIn(volume)).toEqual(["link", "circle", "c", "b", "a"])
  })

  test("fails for folders nested deeper than 250", async () => {
    // given
    let deep = volume
    for (let i = 0; i < 251; i++) await mkdir((deep = join(deep, "d")))
    // then
    await expect(namesIn(volume)).rejects.toThrow("folders nested deeper than 250")
  })

  test.skipIf(process.getuid?.() !== 0)(
    "never leaves the folder, while a container puts links in the place of its folders",
    async () => {
      // given a folder of the machine, and one in the volume that looks like it
      const machine = join(base, "machine")
      const files = Array.from({ length: 20 }, (_, i) => `f${i}`)
      for (const folder of [machine, join(volume, "d")]) {
        await mkdir(folder)
        for (const name of files) await writeFile(join(folder, name), "", { mode: 0o600 })
      }
      await symlink(machine, join(volume, "link"))
      // when they change places all the time while the volume is given to a group, again and again
      let stopped = false
      const swapping = (async () => {
        while (!stopped) {
          await rename(join(volume, "d"), join(volume, "aside"))
          await rename(join(volume, "link"), join(volume, "d"))
          await rename(join(volume, "d"), join(volume, "link"))
          await rename(join(volume, "aside"), join(volume, "d"))
        }
      })()
      for (let i = 0; i < 60; i++) {
        await setOwnership(volume, { group: 4321, readOnly: false, policy: "Always" })
        await folderUsage(volume)
      }
      stopped = true
      await swapping
      // then nothing of the machine's was touched
      for (const name of ["", ...files]) {
        const { gid, mode } = await stat(join(machine, name))
        expect([gid, mode & 0o777]).toEqual([0, name === "" ? 0o755 : 0o600])
      }
      expect((await stat(join(volume, "d/f0"))).gid).toBe(4321)
    },
  )
})
