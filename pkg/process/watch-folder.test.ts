import { afterEach, beforeEach, expect, test } from "bun:test"
import { EventEmitter } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync, type FSWatcher } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Clock } from "../clock/clock.ts"
import { VirtualClock } from "../clock/virtual.ts"
import { watchFolder } from "./watch-folder.ts"

let base: string
let folder: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "k3ts-watch-"))
  folder = join(base, "plugins")
  mkdirSync(folder)
})
afterEach(() => rmSync(base, { recursive: true }))

/** A clock on which every delay ends at the next turn of the event loop, and a record of the delays. */
function hastyClock() {
  const delays: number[] = []
  const clock: Pick<Clock, "setTimeout"> = {
    setTimeout(run, ms) {
      delays.push(ms)
      const timer = setImmediate(run)
      return { cancel: () => clearImmediate(timer) }
    },
  }
  return { clock, delays }
}

/** Watches the folder. `next` resolves at the next call with this name. */
function watching(recursive: boolean) {
  const waiting = new Map<string | undefined, () => void>()
  const { clock, delays } = hastyClock()
  const stop = watchFolder(folder, (name) => waiting.get(name)?.(), { clock, recursive, mode: 0o755 })
  return {
    delays,
    next: (name: string | undefined) => new Promise<void>((resolve) => void waiting.set(name, resolve)),
    [Symbol.dispose]: stop,
  }
}

test.each([
  { title: "removed", remove: () => rmSync(folder, { recursive: true }), recursive: false },
  { title: "removed with those below it", remove: () => rmSync(folder, { recursive: true }), recursive: true },
  { title: "moved away", remove: () => renameSync(folder, join(base, "elsewhere")), recursive: false },
])("a folder that is $title is created again and watched", async ({ remove, recursive }) => {
  // given
  using given = watching(recursive)
  const first = given.next("a.sock")
  writeFileSync(join(folder, "a.sock"), "")
  await first
  // when
  const again = given.next(undefined)
  remove()
  await again
  // then
  expect(existsSync(folder)).toBe(true)
  const second = given.next("b.sock")
  writeFileSync(join(folder, "b.sock"), "")
  await second
})

test("a watch that fails is opened again after a delay that doubles up to half a minute", async () => {
  // given a kernel whose watches fail at once, or cannot be opened
  const { clock, delays } = hastyClock()
  const enough = Promise.withResolvers<void>()
  let opened = 0
  const open = () => {
    if (delays.length >= 9) enough.resolve()
    if (opened++ % 2 === 1) throw new Error("ENOSPC: too many watches")
    const watcher = Object.assign(new EventEmitter(), { close() {} })
    setImmediate(() => watcher.emit("error", new Error("EIO")))
    return watcher as unknown as FSWatcher
  }
  const stop = watchFolder(folder, () => undefined, { clock, mode: 0o755, open: open as never })
  // when
  await enough.promise
  stop()
  // then
  expect(delays.slice(0, 9)).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test("a change is reported again shortly after, since the second of two close changes may be lost", async () => {
  // given a kernel that tells of changes
  const clock = new VirtualClock(0)
  const watcher = Object.assign(new EventEmitter(), { close() {} })
  const told: string[] = []
  const stop = watchFolder(folder, (name) => told.push(`${clock.now()} ${name}`), {
    clock,
    mode: 0o755,
    open: (() => watcher) as never,
  })
  // when entries change
  watcher.emit("change", "rename", "a.sock")
  await clock.advance(15)
  watcher.emit("change", "rename", "a.sock")
  watcher.emit("change", "rename", "b.sock")
  await clock.advance(1000)
  // then
  expect(told).toEqual(["0 a.sock", "15 a.sock", "15 b.sock", "35 a.sock", "35 b.sock"])
  // and when the watch is ended, nothing is told any more
  watcher.emit("change", "rename", "a.sock")
  stop()
  await clock.advance(1000)
  expect(told.slice(5)).toEqual(["1015 a.sock"])
})
