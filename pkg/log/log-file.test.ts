import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { VirtualClock } from "../clock/virtual.ts"
import { logFile } from "./log-file.ts"
import type { RotationLimits } from "./rotating-file.ts"

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "k3ts-log-"))))
afterEach(() => {
  chmodSync(folder, 0o700)
  rmSync(folder, { recursive: true })
})

const UNLIMITED: RotationLimits = { mostBytes: 0, mostFiles: 0, mostAgeMs: 0 }

function writing(limits: Partial<RotationLimits> = {}, path = join(folder, "k3ts.log")) {
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
  const elsewhere: string[] = []
  const otherwise = (line: string) => void elsewhere.push(line)
  const write = logFile({ ...UNLIMITED, ...limits, path, clock, otherwise, complain: otherwise })
  return { clock, write, elsewhere, path, files: () => readdirSync(folder).toSorted() }
}

describe("a log file", () => {
  test("is rotated before it becomes too large, and named after the time of the rotation", () => {
    // given lines of ten bytes
    const { write, path, files } = writing({ mostBytes: 25 })
    // when
    for (const line of ["line 1...", "line 2...", "line 3..."]) write(line)
    // then
    expect(files()).toEqual(["k3ts-2026-01-01T00-00-00.000.log", "k3ts.log"])
    expect(readFileSync(join(folder, files()[0]!), "utf8")).toBe("line 1...\nline 2...\n")
    expect(readFileSync(path, "utf8")).toBe("line 3...\n")
  })

  test("is readable for its owner only, and is continued by the next start", () => {
    // when
    writing().write("before")
    const { write, path } = writing()
    write("after")
    // then
    expect(readFileSync(path, "utf8")).toBe("before\nafter\n")
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test("keeps a limited number of rotated files, and other files are not touched", () => {
    // given files of others with similar names
    for (const name of ["k3ts-old.log", "other-2020-01-01T00-00-00.000.log", "k3ts-2020.log.gz"])
      writeFileSync(join(folder, name), "")
    const { write, files } = writing({ mostBytes: 5, mostFiles: 2 })
    // when
    for (let i = 0; i < 6; i++) write(`line${i}`)
    // then
    expect(files()).toEqual([
      "k3ts-2020.log.gz",
      "k3ts-2026-01-01T00-00-00.003.log",
      "k3ts-2026-01-01T00-00-00.004.log",
      "k3ts-old.log",
      "k3ts.log",
      "other-2020-01-01T00-00-00.000.log",
    ])
  })

  test("removes rotated files that are too old at the next rotation", async () => {
    // given
    const { clock, write, files } = writing({ mostBytes: 5, mostAgeMs: 86_400_000 })
    write("one")
    write("two")
    // when
    await clock.advance(2 * 86_400_000)
    write("three")
    // then
    expect(files()).toEqual(["k3ts-2026-01-03T00-00-00.000.log", "k3ts.log"])
  })

  test("that cannot be written does not stop the program: lines go to stderr until it can be written again", async () => {
    // given a folder in the place of the file
    const path = join(folder, "k3ts.log")
    mkdirSync(path)
    const { clock, write, elsewhere } = writing({}, path)
    // when
    write("one")
    write("two")
    rmSync(path, { recursive: true })
    write("three")
    await clock.advance(1000)
    write("four")
    // then it was tried once a second, and complained of once
    expect(elsewhere).toEqual([
      expect.stringContaining(`Cannot write the log ${path}`) as string,
      "one",
      "two",
      "three",
    ])
    expect(readFileSync(path, "utf8")).toBe("four\n")
  })

  test("on a full disk does not stop the program", () => {
    const { write, elsewhere } = writing({}, "/dev/full")
    write("lost")
    expect(elsewhere.at(-1)).toBe("lost")
  })
})
