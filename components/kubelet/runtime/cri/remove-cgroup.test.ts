import { afterAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { rmdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { VirtualClock } from "../../../../pkg/clock/virtual.ts"
import { removeCgroup } from "./remove-cgroup.ts"

const root = mkdtempSync(join(tmpdir(), "k3ts-cgroup-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A pod's cgroup with one of a container, which is busy for the first `times` attempts to remove it. */
function busy(times: number) {
  const pod = mkdtempSync(join(root, "pod-"))
  mkdirSync(join(pod, "container"))
  let attempts = 0
  const removeFolder = async (folder: string) => {
    if (folder.endsWith("container") && ++attempts <= times) throw Object.assign(new Error("busy"), { code: "EBUSY" })
    await rmdir(folder)
  }
  return { pod, removeFolder }
}

const CASES = [
  { title: "that is not busy is removed at once", times: 0, afterMs: 0, left: false },
  { title: "whose last process is just ending is removed a moment later", times: 2, afterMs: 30, left: false },
  { title: "that stays busy is given up after a third of a second", times: 99, afterMs: 310, left: true },
]

test.each(CASES)("a cgroup $title", async ({ times, afterMs, left }) => {
  // given
  const clock = new VirtualClock(0)
  const start = clock.now()
  const { pod, removeFolder } = busy(times)
  // when
  let done = false
  const removed = removeCgroup(pod, clock, removeFolder).then(() => (done = true))
  await clock.advance(afterMs)
  await removed
  // then
  expect(done).toBe(true)
  expect(clock.now() - start).toBe(afterMs)
  expect(existsSync(pod)).toBe(left)
})
