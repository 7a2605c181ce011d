import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { realClock } from "../../pkg/clock/real.ts"
import { manifestFolder, type ManifestFolder } from "./folder.ts"

let base: string
let path: string
let folder: ManifestFolder
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "k3ts-manifests-"))
  path = join(base, "manifests")
  mkdirSync(path)
  folder = manifestFolder(path, realClock)
})
afterEach(() => rmSync(base, { recursive: true }))

/** Writes a file below `base`, whose folder is made. Its content is its name. */
function write(name: string): string {
  const file = join(base, name)
  mkdirSync(join(file, ".."), { recursive: true })
  writeFileSync(file, name)
  return file
}
const files = () => folder.list().files.toSorted()

describe("the folder of manifests", () => {
  test("has files, those of folders below, and those where links lead", () => {
    // given
    write("manifests/plain.yaml")
    write("manifests/below/deeper/one.yml")
    symlinkSync(write("elsewhere/linked.yaml"), join(path, "link.yaml"))
    write("elsewhere/folder/inner/two.yaml")
    symlinkSync(join(base, "elsewhere/folder"), join(path, "linked-folder"))
    // then
    expect(files()).toEqual(["below/deeper/one.yml", "link.yaml", "linked-folder/inner/two.yaml", "plain.yaml"])
    expect(folder.read("below/deeper/one.yml")).toBe("manifests/below/deeper/one.yml")
    expect(folder.read("link.yaml")).toBe("elsewhere/linked.yaml")
    expect(folder.read("linked-folder/inner/two.yaml")).toBe("elsewhere/folder/inner/two.yaml")
    expect(folder.list().faults.size).toBe(0)
  })

  test("counts a folder once, whatever links lead to it or to the folder above", () => {
    write("manifests/a/one.yaml")
    symlinkSync("..", join(path, "a/up"))
    symlinkSync("a", join(path, "b"))
    symlinkSync(path, join(path, "self"))
    expect(files()).toEqual(["a/one.yaml"])
  })

  test("names a link that leads to itself, and leaves out one that leads nowhere", () => {
    symlinkSync("round.yaml", join(path, "round.yaml"))
    symlinkSync(join(base, "nothing"), join(path, "nowhere.yaml"))
    const { faults } = folder.list()
    expect(files()).toEqual([])
    expect([...faults]).toEqual([
      ["round.yaml", `Cannot read ${join(path, "round.yaml")}: it is a symbolic link that leads to itself; remove it`],
    ])
    expect(folder.read("nowhere.yaml")).toBeUndefined()
  })

  test("does not walk a link to a huge tree to its end", () => {
    symlinkSync("/proc", join(path, "proc"))
    write("manifests/one.yaml")
    expect(files()).toContain("one.yaml")
    expect([...folder.list().faults.values()].join()).toContain("it has more than 10000 entries; remove some")
  })

  test("does not wait for a FIFO, nor open a device, a socket or a huge file", async () => {
    spawnSync("mkfifo", [join(path, "pipe.yaml")])
    symlinkSync("/dev/zero", join(path, "device.yaml"))
    truncateSync(write("manifests/huge.yaml"), 2 ** 34)
    const server = createServer().listen(join(path, "socket.yaml"))
    await new Promise((resolve) => server.once("listening", resolve))
    const fault = (name: string): unknown => {
      try {
        return folder.read(name)
      } catch (err) {
        return (err as Error).message.replace(join(path, name), "FILE")
      }
    }
    expect(fault("pipe.yaml")).toBe("Cannot read FILE: it is a FIFO, no file; remove it")
    expect(fault("device.yaml")).toBe("Cannot read FILE: it is a device, no file; remove it")
    expect(fault("socket.yaml")).toBe("Cannot read FILE: it is a socket, no file; remove it")
    expect(fault("huge.yaml")).toBe("Cannot read FILE: it has 17179869184 bytes, more than 16777216; split it")
    server.close()
  })

  test("reads nothing outside, whatever the names are", () => {
    write("secret.yaml")
    expect(folder.read("../secret.yaml")).toBeUndefined()
    expect(folder.read(join(base, "secret.yaml"))).toBeUndefined()
  })

  test.each([
    { title: "in a new folder below", change: () => write("manifests/new/two.yaml"), wants: "new/two.yaml" },
    { title: "of a linked file", change: () => write("elsewhere/file.yaml"), wants: undefined },
    { title: "in a linked folder", change: () => write("elsewhere/folder/three.yaml"), wants: undefined },
    { title: "by the move of a folder", change: () => renameSync(join(path, "old"), join(base, "gone")), wants: "old" },
  ])("tells of a change $title", async ({ change, wants }) => {
    // given
    write("manifests/old/one.yaml")
    symlinkSync(write("elsewhere/file.yaml"), join(path, "link.yaml"))
    write("elsewhere/folder/one.yaml")
    symlinkSync(join(base, "elsewhere/folder"), join(path, "linked-folder"))
    const told = Promise.withResolvers<void>()
    const end = folder.watch((name) => {
      if (name === wants) told.resolve()
    })
    // when
    change()
    // then
    await told.promise
    end()
  })
})
