import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readIfExists, replaceFile } from "./files.ts"

let dir: string
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "k3ts-files-"))))
afterEach(() => rmSync(dir, { recursive: true }))

describe("a file that is replaced", () => {
  test("has the new content and mode, whatever files a killed process left", () => {
    const path = join(dir, "key")
    writeFileSync(path, "old", { mode: 0o644 })
    writeFileSync(`${path}.tmp`, "half", { mode: 0o666 })
    replaceFile(path, "new", { mode: 0o600, sync: true })
    expect(readFileSync(path, "utf8")).toBe("new")
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir)).toEqual(["key"])
  })

  test("stays without leftovers when it cannot be replaced, and the error has its path", () => {
    const path = join(dir, "key")
    mkdirSync(join(path, "sub"), { recursive: true })
    expect(() => replaceFile(path, "secret", { mode: 0o600 })).toThrow(
      `Cannot write ${path}: it is a folder; move it away`,
    )
    expect(readdirSync(dir)).toEqual(["key"])
  })

  test("is named in the error when its folder does not exist or is no folder", () => {
    expect(() => replaceFile(join(dir, "none/key"), "x", { mode: 0o600 })).toThrow(
      `Cannot write ${dir}/none/key: its folder does not exist; make it`,
    )
    writeFileSync(join(dir, "file"), "")
    expect(() => replaceFile(join(dir, "file/key"), "x", { mode: 0o600 })).toThrow(
      `Cannot write ${dir}/file/key: a part of its path is no folder; move that away`,
    )
  })
})

describe("a file that is read", () => {
  test("can be missing", () => {
    expect(readIfExists(join(dir, "none"))).toBeUndefined()
  })

  test("is named in the error when it cannot be read", () => {
    expect(() => readIfExists(dir)).toThrow(`Cannot read ${dir}: it is a folder; move it away`)
  })
})
