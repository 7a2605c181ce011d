import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { Folders } from "./folders.ts"

const MAY_MOUNT = process.getuid?.() === 0

let base: string
let root: string
let folders: Folders
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "k3ts-folders-"))
  root = join(base, "storage")
  folders = new Folders(root)
  mkdirSync(join(base, "precious"))
  writeFileSync(join(base, "precious/file"), "kept")
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const precious = () => readFileSync(join(base, "precious/file"), "utf8")

describe("the folder of a volume", () => {
  test("is writable for every user of a container, and is kept with its files when it is requested again", async () => {
    // given
    const path = await folders.create("pvc-1")
    writeFileSync(join(path, "data"), "mine")
    // when
    const again = await folders.create("pvc-1")
    // then
    expect(statSync(again).mode & 0o777).toBe(0o777)
    expect(readFileSync(join(again, "data"), "utf8")).toBe("mine")
  })

  test("is removed with all its files, and removing it again succeeds", async () => {
    // given
    const path = await folders.create("pvc-1")
    mkdirSync(join(path, "a/b"), { recursive: true })
    // when
    await folders.remove(path)
    await folders.remove(path)
    // then
    expect(existsSync(path)).toBe(false)
  })

  test("is removed with its links, but not with the targets of the links", async () => {
    // given
    const path = await folders.create("pvc-1")
    symlinkSync(join(base, "precious"), join(path, "link"))
    // when
    await folders.remove(path)
    // then
    expect(existsSync(path)).toBe(false)
    expect(precious()).toBe("kept")
  })

  test("is neither used nor removed if a link is in its place", async () => {
    // given
    mkdirSync(root)
    const path = join(root, "pvc-1")
    symlinkSync(join(base, "precious"), path)
    // when
    const [made, removed] = await Promise.allSettled([folders.create("pvc-1"), folders.remove(path)])
    // then
    expect(made).toMatchObject({ status: "rejected", reason: { message: `${path} is no folder: remove it` } })
    expect(removed).toMatchObject({ status: "rejected" })
    expect(precious()).toBe("kept")
  })

  test.each([
    { title: "another folder", path: () => join(base, "precious") },
    { title: "the root itself", path: () => root },
    { title: "the folder above", path: () => `${root}/..` },
    { title: "a path with ..", path: () => `${root}/../precious` },
    { title: "a folder deeper down", path: () => `${root}/pvc-1/data` },
    { title: "an empty path", path: () => "" },
    { title: "the root of the machine", path: () => "/" },
  ])("cannot be removed by the path of another: $title", async ({ path }) => {
    // given
    mkdirSync(join(await folders.create("pvc-1"), "data"))
    // when
    const removed = folders.remove(path())
    // then
    await expect(removed).rejects.toThrow()
    expect(precious()).toBe("kept")
    expect(existsSync(join(root, "pvc-1/data"))).toBe(true)
  })

  test("is there, or gone, after many have made and removed it at once", async () => {
    // given
    const path = join(root, "pvc-1")
    const together = (work: () => Promise<unknown>) => Promise.allSettled(Array.from({ length: 8 }, work))
    const failures = (results: readonly PromiseSettledResult<unknown>[]) =>
      results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []))
    // when
    const made = await together(() => folders.create("pvc-1"))
    for (let i = 0; i < 100; i++) writeFileSync(join(path, `${i}`), "")
    const removed = await together(() => folders.remove(path))
    // then
    expect([failures(made), failures(removed), existsSync(path)]).toEqual([[], [], false])
    expect(precious()).toBe("kept")
  })

  test("for a block device is refused where a named pipe or a link is in the place of its file", async () => {
    // given
    const pipe = await folders.create("pvc-pipe")
    execFileSync("mkfifo", [join(pipe, "disk")])
    const linked = await folders.create("pvc-link")
    symlinkSync(join(base, "precious/file"), join(linked, "disk"))
    // then
    await expect(folders.createDisk("pvc-pipe", 1024)).rejects.toThrow("is no file: remove it")
    await expect(folders.createDisk("pvc-link", 1024)).rejects.toThrow("ELOOP")
    expect(precious()).toBe("kept")
  })

  test.each(["", ".", "..", "a/b", "../precious", "/etc"])("cannot have the name %p", async (name) => {
    await expect(folders.create(name)).rejects.toThrow("cannot be the name of a volume's folder")
  })

  test.skipIf(!MAY_MOUNT)("is not removed while something is mounted in it (needs root)", async () => {
    // given
    const path = await folders.create("pvc-1")
    const inside = join(path, "a b")
    mkdirSync(inside)
    await run("mount", ["--bind", join(base, "precious"), inside])
    try {
      // when
      const removed = folders.remove(path)
      // then
      await expect(removed).rejects.toThrow(`${inside} is mounted: unmount it`)
      // nor where the folder of volumes is below a link
      symlinkSync(base, join(base, "link"))
      const linked = join(base, "link/storage")
      await expect(new Folders(linked).remove(join(linked, "pvc-1"))).rejects.toThrow(
        `${inside} is mounted: unmount it`,
      )
      expect(precious()).toBe("kept")
    } finally {
      await run("umount", [inside])
    }
  })
})
