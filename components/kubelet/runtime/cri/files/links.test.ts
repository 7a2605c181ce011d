import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { linksIn, makeLink, removeLink } from "./links.ts"

const TARGET = "/var/log/pods/default_a_u1/c/0.log"

describe("links to logs", () => {
  let root: string
  let folder: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "k3ts-links-"))
    folder = join(root, "containers")
  })
  afterEach(() => rmSync(root, { recursive: true }))

  test("are made with their folder, listed, and removed", async () => {
    expect(await linksIn(folder)).toEqual(new Map())
    expect(await makeLink(folder, "a.log", TARGET)).toBeUndefined()
    expect(await makeLink(folder, "a.log", TARGET)).toBeUndefined()
    expect(await linksIn(folder)).toEqual(new Map([["a.log", TARGET]]))
    await removeLink(folder, "a.log", TARGET)
    await removeLink(folder, "a.log", TARGET)
    expect(readdirSync(folder)).toEqual([])
  })

  test("replace and remove nothing that is another link, a file or a folder", async () => {
    // given a folder to which a pod may write
    mkdirSync(join(folder, "folder.log"), { recursive: true })
    writeFileSync(join(folder, "file.log"), "kept")
    symlinkSync("/etc/passwd", join(folder, "link.log"))
    for (const [name, there] of [
      ["folder.log", "no link"],
      ["file.log", "no link"],
      ["link.log", "/etc/passwd"],
    ] as const) {
      // when, then
      expect(await makeLink(folder, name, TARGET)).toBe(there)
      await removeLink(folder, name, TARGET)
    }
    expect(readdirSync(folder).sort()).toEqual(["file.log", "folder.log", "link.log"])
    expect(readFileSync(join(folder, "file.log"), "utf8")).toBe("kept")
    expect(readlinkSync(join(folder, "link.log"))).toBe("/etc/passwd")
  })

  test("are neither made nor removed where a link in the folder's place leads", async () => {
    // given
    const elsewhere = join(root, "elsewhere")
    mkdirSync(elsewhere)
    symlinkSync(TARGET, join(elsewhere, "a.log"))
    symlinkSync(elsewhere, folder)
    // when, then
    await expect(makeLink(folder, "b.log", TARGET)).rejects.toThrow("is no folder, but perhaps a link")
    await removeLink(folder, "a.log", TARGET)
    expect(await linksIn(folder)).toEqual(new Map())
    expect(readdirSync(elsewhere)).toEqual(["a.log"])
  })
})
