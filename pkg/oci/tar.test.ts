import { describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { writeTar } from "./tar.ts"
import type { TarEntry } from "./tar.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

/** What tar(1) lists of an archive, and what it extracts of one entry: a reader that is not ours. */
const list = (archive: Uint8Array) =>
  execFileSync("tar", ["-tvf", "-", "--numeric-owner"], { input: archive, encoding: "utf8", env: { TZ: "UTC" } })
    .trimEnd()
    .split("\n")
const extract = (archive: Uint8Array, path: string) => execFileSync("tar", ["-xOf", "-", path], { input: archive })

describe("writeTar", () => {
  test("writes each type of entry with its mode and owner", () => {
    // given one entry of each type
    const entries: TarEntry[] = [
      { type: "directory", path: "tmp", mode: 0o1777 },
      { type: "file", path: "bin/tool", data: bytes("#!/bin/sh\n"), mode: 0o755, uid: 1000, gid: 100 },
      { type: "symlink", path: "bin/sh", target: "/bin/tool" },
      { type: "link", path: "bin/same", target: "bin/tool" },
    ]

    // when they are written
    const lines = list(writeTar(entries)).map((line) => line.replace(/\s+/g, " "))

    // then tar(1) finds them in this order, dated with the epoch
    expect(lines).toEqual([
      "drwxrwxrwt 0/0 0 1970-01-01 00:00 tmp/",
      "-rwxr-xr-x 1000/100 10 1970-01-01 00:00 bin/tool",
      "lrwxrwxrwx 0/0 0 1970-01-01 00:00 bin/sh -> /bin/tool",
      "hrw-r--r-- 0/0 0 1970-01-01 00:00 bin/same link to bin/tool",
    ])
  })

  test.each([0, 1, 511, 512, 513, 100_000])("stores a file of %d bytes unchanged", (size) => {
    // given a file whose size is at, or about, the edge of a block, and a file after it
    const data = new Uint8Array(size).map((_, i) => i % 251)
    const archive = writeTar([
      { type: "file", path: "data", data },
      { type: "file", path: "after", data: bytes("after") },
    ])

    // then both come out unchanged
    expect(new Uint8Array(extract(archive, "data"))).toEqual(data)
    expect(extract(archive, "after").toString()).toBe("after")
    expect(archive.length % 512).toBe(0)
  })

  test("stores names and link targets that are longer than the fields of a ustar header", () => {
    // given names of more than 100 bytes, one of them with letters of two bytes
    const path = `${"folder/".repeat(20)}${"ü".repeat(60)}`
    const target = `/${"t".repeat(150)}`
    const archive = writeTar([
      { type: "file", path, data: bytes("deep") },
      { type: "symlink", path: "short", target },
    ])

    // then they come out whole
    expect(extract(archive, path).toString()).toBe("deep")
    expect(list(archive)[1]).toEndWith(`short -> ${target}`)
  })

  test.each(["", "/etc/passwd", "../up", "a/../b", "a//b", "./a"])("refuses the path %p", (path) => {
    expect(() => writeTar([{ type: "file", path, data: bytes("") }])).toThrow(RangeError)
  })
})
