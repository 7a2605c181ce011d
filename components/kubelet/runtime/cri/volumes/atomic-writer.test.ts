import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { lstat, mkdtemp, mkdir, readdir, readFile, readlink, rm, stat, watch } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Payload } from "../../payload.ts"
import { writePayload } from "./atomic-writer.ts"

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("SKIPPED: owners of written files: need root")

describe("the atomic writer", () => {
  let base: string
  let folder: string
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), "k3ts-writer-"))
    folder = join(base, "volume")
  })
  afterEach(() => rm(base, { recursive: true, force: true }))

  const files = (contents: Record<string, string>, mode = 0o644): Payload =>
    new Map(Object.entries(contents).map(([path, data]) => [path, { data, mode }]))
  let time = 0
  const write = (payload: Payload, ownership?: { group: number }) =>
    writePayload({
      folder,
      payload,
      stamp: `2026_01_01_00_00_${String(time++ % 60).padStart(2, "0")}`,
      ownership: ownership && { ...ownership, readOnly: true, policy: "Always" },
    })
  const shown = async () => (await readdir(folder)).filter((name) => !name.startsWith("..")).sort()
  const text = (path: string) => readFile(join(folder, path), "utf8")

  test("writes files behind ..data, as programs that watch them expect", async () => {
    // when files are written, some of them in folders
    await write(files({ plain: "1", "a/b/deep": "2", "a/other": "3" }))
    // then users see links to ..data, which is a link to a folder named after the time
    expect(await shown()).toEqual(["a", "plain"])
    expect(await readlink(join(folder, "plain"))).toBe("..data/plain")
    expect(await readlink(join(folder, "a"))).toBe("..data/a")
    expect(await readlink(join(folder, "..data"))).toMatch(/^\.\.2026_01_01_00_00_\d\d\.\w+$/)
    expect([await text("plain"), await text("a/b/deep"), await text("a/other")]).toEqual(["1", "2", "3"])
    expect((await lstat(join(folder, await readlink(join(folder, "..data"))))).mode & 0o777).toBe(0o755)
  })

  test("gives each file its mode, whatever the umask", async () => {
    await write(
      new Map([
        ["open", { data: "x", mode: 0o666 }],
        ["shut", { data: "x", mode: 0o400 }],
      ]),
    )
    expect([(await stat(join(folder, "open"))).mode & 0o777, (await stat(join(folder, "shut"))).mode & 0o777]).toEqual([
      0o666, 0o400,
    ])
  })

  test("changes nothing when the files are up to date", async () => {
    // given
    expect(await write(files({ a: "1", "b/c": "2" }))).toBe(true)
    const before = await readlink(join(folder, "..data"))
    // when the same is written, then
    expect(await write(files({ "b/c": "2", a: "1" }))).toBe(false)
    expect(await readlink(join(folder, "..data"))).toBe(before)
  })

  test("replaces, adds and removes files in one step, and leaves no old folder", async () => {
    // given
    await write(files({ stays: "old", goes: "x", "dir/goes": "x" }))
    // when
    expect(await write(files({ stays: "new", comes: "y" }))).toBe(true)
    // then
    expect(await shown()).toEqual(["comes", "stays"])
    expect([await text("stays"), await text("comes")]).toEqual(["new", "y"])
    expect((await readdir(folder)).filter((name) => name.startsWith("..2"))).toHaveLength(1)
  })

  test("replaces ..data by a rename, which watchers of the folder see", async () => {
    // given a program that watches the volume
    await write(files({ a: "1" }))
    const ending = new AbortController()
    const seen: string[] = []
    const watching = (async () => {
      for await (const { eventType, filename } of watch(folder, { signal: ending.signal })) {
        seen.push(`${eventType} ${filename ?? ""}`)
        if (filename === "..data") return
      }
    })()
    // when
    await write(files({ a: "2" }))
    // then
    await watching
    ending.abort()
    expect(seen).toContain("rename ..data")
  })

  test("removes the files that a killed writer left behind", async () => {
    // given half of a write
    await write(files({ a: "1" }))
    await mkdir(join(folder, "..2025_12_31_23_59_59.dead01"))
    await mkdir(join(folder, "..data_tmp"), { recursive: true }).then(() =>
      rm(join(folder, "..data_tmp"), { recursive: true }),
    )
    // when
    await write(files({ a: "2" }))
    // then
    expect((await readdir(folder)).sort()).toEqual(["..data", await readlink(join(folder, "..data")), "a"].sort())
  })

  test("keeps a folder that was created in the volume for a subPath", async () => {
    await write(files({ a: "1" }))
    await mkdir(join(folder, "made"))
    await write(files({ b: "2" }))
    expect(await shown()).toEqual(["b", "made"])
  })

  test("writes an empty volume, and fills it later", async () => {
    await write(files({}))
    expect(await shown()).toEqual([])
    await write(files({ a: "1" }))
    expect(await shown()).toEqual(["a"])
  })

  test.each([["../up"], ["/abs"], ["a/../../b"], ["..data"], [""], ["x".repeat(256)]])(
    "refuses the path %p",
    async (path) => {
      await expect(write(files({ [path]: "x" }))).rejects.toThrow("invalid path")
    },
  )

  test.skipIf(!isRoot)("gives files to the group, which can read but not write them", async () => {
    // when a pod has a group for its volumes
    await write(files({ "dir/secret": "x" }, 0o400), { group: 4321 })
    // then
    const file = await stat(join(folder, "dir/secret"))
    expect([file.gid, file.mode & 0o777]).toEqual([4321, 0o440])
    const root = await stat(folder)
    expect([root.gid, root.mode & 0o2070]).toEqual([4321, 0o2070])
  })

  test.skipIf(!isRoot)("gives a file to its user", async () => {
    await write(new Map([["token", { data: "x", mode: 0o600, user: 1234 }]]))
    expect((await stat(join(folder, "token"))).uid).toBe(1234)
  })
})
