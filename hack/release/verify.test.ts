import { describe, expect, test } from "bun:test"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { CHECKSUMS, writeChecksums } from "./checksums.ts"
import { differences } from "./verify.ts"

describe("SHA256SUMS", () => {
  test("can be verified by sha256sum, and does not depend on the order of the files", async () => {
    // given
    const folder = await mkdtemp(join(tmpdir(), "k3ts-checksums-"))
    try {
      await writeFile(join(folder, "one"), "1")
      await writeFile(join(folder, "two"), "2")
      // when
      await writeChecksums(folder, ["two", "one"])
      // then
      expect(await run("sh", ["-c", `cd "$1" && sha256sum --strict --check ${CHECKSUMS}`, "sh", folder])).toBe(
        "one: OK\ntwo: OK\n",
      )
      const inOrder = await readFile(join(folder, CHECKSUMS), "utf8")
      await writeChecksums(folder, ["one", "two"])
      expect(await readFile(join(folder, CHECKSUMS), "utf8")).toBe(inOrder)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe("two builds", () => {
  const line = (digit: string, name: string) => `${digit.repeat(64)}  ${name}\n`

  for (const { title, second, wants } of [
    { title: "are equal in any order", second: line("2", "b c") + line("1", "a"), wants: [] },
    { title: "differ if a file has other bytes", second: line("1", "a") + line("3", "b c"), wants: ["b c"] },
    { title: "differ if the second lacks a file", second: line("1", "a"), wants: ["b c"] },
    {
      title: "differ if the second has an additional file",
      second: line("1", "a") + line("2", "b c") + line("3", "d"),
      wants: ["d"],
    },
  ])
    test(title, () => {
      expect(differences(line("1", "a") + line("2", "b c"), second)).toEqual(wants)
    })
})
