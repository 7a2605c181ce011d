import { describe, expect, test } from "bun:test"
import { concat, TAR_END, tarHeader, writeTar } from "../../../oci/tar.ts"
import { parseFileSpec } from "./file-spec.ts"
import { isWithin, withoutShortcuts } from "./paths.ts"
import { readTar } from "./tar-reader.ts"

describe("the arguments of cp", () => {
  test.each([
    ["/tmp/a/", { pod: "", namespace: "", path: "/tmp/a" }],
    ["web:/tmp/a", { pod: "web", namespace: "", path: "/tmp/a" }],
    ["other/web:a\\b/", { pod: "web", namespace: "other", path: "a/b" }],
    ["web:", { pod: "web", namespace: "", path: "" }],
    ["web:/a:b", { pod: "web", namespace: "", path: "/a:b" }],
  ])("given %s, then pod and path are known", (text, expected) => {
    expect(parseFileSpec(text)).toEqual(expected)
  })
  test.each([":/tmp/a", "a/b/c:/tmp"])("given %s, then it is refused", (text) => {
    expect(() => parseFileSpec(text)).toThrow("filespec must match the canonical format: [[namespace/]pod:]file/path")
  })
})

describe("paths of an archive", () => {
  test.each([
    ["/to", "/to", true],
    ["/to", "/to/a/b", true],
    ["/to", "/to/../b", false],
    ["/to", "/", false],
    ["/to", "/together", false],
    [".", "a", true],
    [".", "../a", false],
    ["..", "../a", true],
    ["..", "../../a", false],
    ["/to", "to/a", false],
    ["/to", "/to/..a", true],
  ])("given the folder %s and the path %s, then it is within: %p", (folder, path, expected) => {
    expect(isWithin(folder, path)).toBe(expected)
  })
  test.each([
    ["../../etc", "etc"],
    ["..", ""],
    [".", ""],
    ["a/../b", "a/../b"],
  ])("given %s, then %s is left of it", (path, expected) => {
    expect(withoutShortcuts(path)).toBe(expected)
  })
})

const bytes = (text: string) => new TextEncoder().encode(text)

async function read(archive: Uint8Array, pieces: number): Promise<unknown[]> {
  async function* input() {
    for (let at = 0; at < archive.length; at += pieces) yield archive.subarray(at, at + pieces)
  }
  const found: unknown[] = []
  for await (const { name, type, target, data } of readTar(input())) {
    let text = ""
    for await (const part of data) text += new TextDecoder().decode(part)
    found.push([name, type, target, text])
  }
  return found
}

describe("an archive", () => {
  const long = `${"folder/".repeat(20)}file`

  test.each([1, 100, 512, 100_000])("is read in pieces of %d bytes", async (pieces) => {
    // Given an archive with a folder, a long name, a link and an empty file
    const archive = writeTar([
      { type: "directory", path: "a" },
      { type: "file", path: long, data: bytes("x".repeat(600)) },
      { type: "symlink", path: "a/link", target: "/etc/passwd" },
      { type: "file", path: "empty", data: new Uint8Array(0) },
    ])
    // When it is read, then all entries are there
    expect(await read(archive, pieces)).toEqual([
      ["a/", "directory", "", ""],
      [long, "file", "", "x".repeat(600)],
      ["a/link", "symlink", "/etc/passwd", ""],
      ["empty", "file", "", ""],
    ])
  })

  test("keeps sizes and numbers that are too large for a header's field", async () => {
    // Given a file of more than 8 GiB, of which nothing comes
    const header = { type: "file", path: "a", mode: 0o644, uid: 3_000_000, gid: 0, size: 2 ** 34, target: "" } as const
    // When it is read, then the reader waits for its bytes
    await expect(read(tarHeader(header), 512)).rejects.toThrow("unexpected EOF")
    expect(new TextDecoder().decode(tarHeader(header))).toContain("size=17179869184\n")
    expect(new TextDecoder().decode(tarHeader(header))).toContain("uid=3000000\n")
  })

  test.each([
    ["is none", bytes("x".repeat(512)), "archive/tar: invalid tar header"],
    ["ends in a header", bytes("x"), "unexpected EOF"],
    [
      "ends in a file",
      concat([
        tarHeader({ type: "file", path: "a", mode: 0o644, uid: 0, gid: 0, size: 10, target: "" }),
        bytes("12345"),
      ]),
      "unexpected EOF",
    ],
  ])("that %s is refused", async (_title, archive, message) => {
    await expect(read(archive, 512)).rejects.toThrow(message)
  })

  test("ends at two empty blocks, and what follows is left out", async () => {
    const rest = writeTar([{ type: "file", path: "b", data: bytes("b") }])
    expect(await read(concat([TAR_END, rest]), 512)).toEqual([])
  })
})
