import { expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { OwnedFile, withOpenFile } from "./owned-file.ts"

/** How many descriptors of this process are open on files below `folder`. */
const openBelow = (folder: string): number =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false // the descriptor by which the folder was read
    }
  }).length

test("a file is closed after its use, also when that fails", async () => {
  // given
  const folder = mkdtempSync(join(tmpdir(), "k3ts-owned-"))
  const path = join(folder, "file")
  writeFileSync(path, "content")

  // then
  expect(await withOpenFile([path], (file) => file.readText())).toBe("content")
  expect(withOpenFile([path], () => Promise.reject(new Error("no use")))).rejects.toThrow("no use")
  expect(openBelow(folder)).toBe(0)
  rmSync(folder, { recursive: true })
})

test("a file whose owner has forgotten it is closed and reported, and ends nothing", async () => {
  // given files that nobody holds
  const folder = mkdtempSync(join(tmpdir(), "k3ts-owned-"))
  const path = join(folder, "file")
  writeFileSync(path, "content")
  const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
  for (let i = 0; i < 100; i++) await (await OwnedFile.open(path)).stat()

  // when the garbage is collected
  const collecting = setInterval(() => Bun.gc(true), 20)

  // then
  expect((await warned).message).toBe(`${path} was left open, and is closed now: this is a bug`)
  clearInterval(collecting)
  rmSync(folder, { recursive: true })
})
