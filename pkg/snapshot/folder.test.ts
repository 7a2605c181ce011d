import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SnapshotFolder } from "./folder.ts"
import type { SnapshotSource } from "./format.ts"
import { packSnapshot } from "./pack.ts"
import { prune } from "./store.ts"

let root = ""
let path = ""
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "k3ts-snapshots-"))
  path = join(root, "snapshots")
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const pack = (time = 1_800_000_000_000) =>
  packSnapshot({ info: { revision: 5, time, version: "1", node: "n", cluster: "u" }, files: [], objects: [] }, "zstd")

async function* failing(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(100)
  await Promise.reject(new Error("the server went away"))
}

async function* cutOff(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(100)
}

describe("a folder of snapshots", () => {
  test("has the saved snapshots, readable for its owner only", async () => {
    const folder = new SnapshotFolder(path)
    await folder.save("daily-n-1800000000.zst", pack())
    expect(await folder.list()).toMatchObject([
      { name: "daily-n-1800000000.zst", location: `file://${path}/daily-n-1800000000.zst`, content: { revision: 5 } },
    ])
    expect(statSync(path).mode & 0o777).toBe(0o700)
    expect(statSync(join(path, "daily-n-1800000000.zst")).mode & 0o777).toBe(0o600)
  })

  test("keeps nothing of a save that fails, and never overwrites a snapshot", async () => {
    const folder = new SnapshotFolder(path)
    await expect(folder.save("a", failing())).rejects.toThrow(`Cannot save ${path}/a: the server went away`)
    await expect(folder.save("a", cutOff())).rejects.toThrow(/its end is missing/)
    expect(readdirSync(path)).toEqual([])
    await folder.save("a", pack())
    await expect(folder.save("a", pack())).rejects.toThrow(/exists already/)
    expect(readdirSync(path)).toEqual(["a"])
  })

  test("loses partial files of killed processes, and keeps those of running ones", async () => {
    // given a part of a process that has ended, one of a server before with this pid, and one of a process that runs
    mkdirSync(path)
    const ended = Bun.spawn(["true"])
    await ended.exited
    writeFileSync(join(path, `.old.${ended.pid}.part`), "x")
    writeFileSync(join(path, `.before.${process.pid}.part`), "x")
    writeFileSync(join(path, `.other.${process.ppid}.part`), "x")

    // when a snapshot is saved
    await new SnapshotFolder(path).save("a", pack())

    // then only the last is left
    expect(readdirSync(path).sort()).toEqual([`.other.${process.ppid}.part`, "a"])
  })

  test("can be listed although a snapshot is deleted meanwhile", async () => {
    // given a snapshot that goes away while the one before is read
    class Deleting extends SnapshotFolder {
      override open<T>(name: string, use: (source: SnapshotSource) => Promise<T>): Promise<T> {
        rmSync(join(path, name === "a" ? "b" : "a"))
        return super.open(name, use)
      }
    }
    const folder = new Deleting(path)
    mkdirSync(path)
    for (const name of ["a", "b"]) writeFileSync(join(path, name), "")

    // then the one that is left is listed
    expect((await folder.list()).map(({ name }) => name)).toEqual(readdirSync(path))
  })

  test("follows no symbolic link, and accepts no path as a name", async () => {
    // given links to a snapshot elsewhere, and to a file that is none
    const folder = new SnapshotFolder(path)
    await folder.save("a", pack())
    writeFileSync(join(root, "secret"), "top secret")
    symlinkSync(join(path, "a"), join(path, "link"))
    symlinkSync(join(root, "secret"), join(path, "stolen"))

    // then they are not listed, not opened, and deleting one leaves its target
    expect((await folder.list()).map(({ name }) => name)).toEqual(["a"])
    await expect(folder.open("link", () => Promise.resolve())).rejects.toThrow(/ELOOP/)
    await folder.delete("stolen")
    expect(readdirSync(root).sort()).toEqual(["secret", "snapshots"])
    for (const name of ["../secret", "/etc/passwd", "..", "", "a/b", "a..b", "-a", `a${"b".repeat(300)}`])
      expect(() => folder.pathOf(name)).toThrow(/Cannot use the snapshot name/)
  })
})

test("pruning keeps the newest complete snapshots of a name and node", async () => {
  // given five of one name, of which the newest is damaged, and others
  const folder = new SnapshotFolder(path)
  for (const seconds of [1_800_000_001, 1_800_000_002, 1_800_000_003, 1_800_000_004])
    await folder.save(`daily-n-${seconds}.zst`, pack(seconds * 1000))
  writeFileSync(join(path, "daily-n-1800000005.zst"), "damaged")
  writeFileSync(join(path, "daily-n-1800000000.zst"), "damaged")
  await folder.save("daily-n2-1800000001", pack())
  await folder.save("on-demand-n-1800000001", pack())

  // when all are to be kept, and then two
  expect(await prune(folder, { base: "daily", node: "n", keep: 0 })).toEqual([])
  const deleted = await prune(folder, { base: "daily", node: "n", keep: 2 })

  // then the two newest whole ones are left, and what is newer or of another name
  expect(deleted.toSorted()).toEqual(["daily-n-1800000000.zst", "daily-n-1800000001.zst", "daily-n-1800000002.zst"])
  expect(readdirSync(path).sort()).toEqual([
    "daily-n-1800000003.zst",
    "daily-n-1800000004.zst",
    "daily-n-1800000005.zst",
    "daily-n2-1800000001",
    "on-demand-n-1800000001",
  ])
})
