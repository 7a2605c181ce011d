import { describe, expect, test } from "bun:test"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { CHECKSUMS, writeChecksums } from "./checksums.ts"
import { differences } from "./verify.ts"

describe("SHA256SUMS", () => {
  test("is what sha256sum checks, whatever the order in which the files were made", async () => {
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
    { title: "are the same in any order", second: line("2", "b c") + line("1", "a"), wants: [] },
    { title: "differ in a file of other bytes", second: line("1", "a") + line("3", "b c"), wants: ["b c"] },
    { title: "differ in a file that the second lacks", second: line("1", "a"), wants: ["b c"] },
    {
      title: "differ in a file that only the second has",
      second: line("1", "a") + line("2", "b c") + line("3", "d"),
      wants: ["d"],
    },
  ])
    test(title, () => {
      expect(differences(line("1", "a") + line("2", "b c"), second)).toEqual(wants)
    })
})
