import { expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { VirtualClock } from "../clock/virtual.ts"
import { RotatingFile } from "./rotating-file.ts"

test("rotated files are compressed if so said, and count as rotated files", async () => {
  // given a file of which one line fits, and two rotated ones are kept
  const dir = mkdtempSync(join(tmpdir(), "rotating-"))
  const limits = { mostBytes: 1, mostFiles: 2, mostAgeMs: 0, compress: true }
  const file = new RotatingFile(join(dir, "a.log"), limits, new VirtualClock(0))
  const settled = new Promise<void>((resolve) => {
    const watcher = watch(dir, () => {
      const names = readdirSync(dir)
      if (names.length !== 3 || names.filter((name) => name.endsWith(".gz")).length !== 2) return
      watcher.close()
      resolve()
    })
  })
  // when
  for (const line of ["one\n", "two\n", "three\n", "four\n"]) file.append(line)
  file.close()
  await settled
  // then
  const texts = readdirSync(dir)
    .toSorted()
    .map((name) => readFileSync(join(dir, name)))
    .map((bytes, i, all) => (i === all.length - 1 ? String(bytes) : String(gunzipSync(bytes))))
  expect(texts).toEqual(["two\n", "three\n", "four\n"])
  rmSync(dir, { recursive: true })
})
