import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { isEnding, startOf } from "./process-state.ts"

test("a process that runs has a start, and does not end", () => {
  expect(startOf(process.pid)).toMatch(/^\d+$/)
  expect(isEnding(process.pid)).toBe(false)
})

test("a process whose parent never asks for its end is gone", async () => {
  // given a child of a program that does not wait for it
  const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec tail -f /dev/null"])
  const [line] = (await once(parent.stdout, "data")) as [Buffer]
  const child = Number(line.toString())
  expect(startOf(child)).toMatch(/^\d+$/)
  // The shell itself would ask for it.
  while (readFileSync(`/proc/${parent.pid}/comm`, "utf8") !== "tail\n") await Bun.sleep(1)
  // when
  process.kill(child, "SIGKILL")
  while (!readFileSync(`/proc/${child}/stat`, "utf8").includes(") Z ")) await Bun.sleep(1)
  // then
  expect(startOf(child)).toBeUndefined()
  expect(isEnding(child)).toBe(true)
  parent.kill("SIGKILL")
})

test("a process that has a signal to end is ending, though it cannot act on it yet", async () => {
  // given
  const child = spawn("sh", ["-c", "echo; exec tail -f /dev/null"])
  await once(child.stdout, "data")
  const ended = once(child, "exit")
  // when
  child.kill("SIGKILL")
  // then it is so from that moment to its end
  expect(isEnding(child.pid!)).toBe(true)
  await ended
  expect(startOf(child.pid!)).toBeUndefined()
})
