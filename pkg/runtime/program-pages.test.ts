import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { programPages, unchangedMappings } from "./program-pages.ts"

const mapping = (range: string, rights: string, path: string, anonymous: number): string =>
  [
    `${range} ${rights} 00000000 fe:00 4711                       ${path}`,
    "Size:                 64 kB",
    "Rss:                  64 kB",
    `Anonymous:      ${String(anonymous).padStart(8)} kB`,
    `AnonHugePages:         0 kB`,
    "VmFlags: rd ex mr mw me",
  ].join("\n")

test("only mappings of the program that nothing has changed or can change are released", () => {
  const smaps = [
    mapping("00200000-00210000", "r--p", "/usr/bin/k3ts", 0),
    mapping("00210000-00230000", "r-xp", "/usr/bin/k3ts", 0),
    mapping("00230000-00240000", "r--p", "/usr/bin/k3ts", 4), // addresses that the linker wrote
    mapping("00240000-00250000", "rw-p", "/usr/bin/k3ts", 0),
    mapping("00250000-00260000", "rwxp", "", 0),
    mapping("7f0000000000-7f0000010000", "r-xp", "/usr/lib/libc.so.6", 0),
  ].join("\n")
  expect(unchangedMappings(smaps, "/usr/bin/k3ts")).toEqual([
    { address: 0x200000, size: 0x10000 },
    { address: 0x210000, size: 0x20000 },
  ])
})

/** Returns what of files is in this process's memory, in kB. */
const residentOfFiles = (): number =>
  Number(/^RssFile:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))![1])

test("a process goes on without what it has read of its program's file", () => {
  // given a process that has read tens of megabytes of it
  const release = programPages()
  const before = residentOfFiles()
  // when
  release()
  // then
  expect(before - residentOfFiles()).toBeGreaterThan(5 * 1024)
  expect(JSON.parse('{"still": ["here", 1]}')).toEqual({ still: ["here", 1] })
})

test("a process that the kernel does not tell its mappings goes on", () => {
  programPages("")()
})
