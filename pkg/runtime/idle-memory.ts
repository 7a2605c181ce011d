import process from "node:process"
import type * as Jsc from "bun:jsc"
import { clearCachesAtRest } from "../cache/at-rest.ts"
import type { Clock } from "../clock/clock.ts"
import { procSelf } from "./proc-self.ts"
import { programPages } from "./program-pages.ts"

/** The API of Bun's JavaScript engine. Undefined under other runtimes, whose engines give memory back by themselves. */
const engine = process.getBuiltinModule("bun:jsc") as typeof Jsc | undefined

const INTERVAL_MS = 30_000
/** The first look comes sooner: most code of a start never runs again, and no other code is needed for long yet. */
const FIRST_MS = 3000
/** Share of a core below which the process counts as idle. An idle server uses a hundredth. */
const IDLE = 0.1
/**
 * The number of collections in a row after a load, because caches become empty only gradually: the last three of them
 * free 3 MB.
 */
const ROUNDS = 5
/** Factor: memory is collected when it has grown by this much since the last time. */
const GROWTH = 1.1

/**
 * Memory is also collected when the process uses less of a core, by this share, than at the last time, which was then
 * under a light load: what that load held is garbage once it has ended. The use of an idle server changes by less.
 */
const QUIETER = 0.02

/** What is measured of the process, and how its memory is given back. */
export interface ProcessMemory {
  /** Returns the microseconds of processor time used so far. */
  cpuMicros(): number
  /** Returns the bytes in memory that are in no file. */
  ownBytes(): number
  /** Clears caches, collects garbage, drops compiled code: takes some tens of milliseconds. */
  giveBack(): void
  /** Unmaps the program's file: takes a millisecond. */
  unmapProgram(): void
}

/** Returns the memory of this process; undefined when the engine is not Bun's. */
export function ownMemory(): ProcessMemory | undefined {
  if (engine === undefined) return undefined
  const { fullGC } = engine
  let unmap: (() => void) | undefined
  return {
    cpuMicros() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    ownBytes() {
      const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(procSelf("status")) ?? []
      return kilobytes === undefined ? process.memoryUsage.rss() : Number(kilobytes) * 1024
    },
    giveBack() {
      clearCachesAtRest()
      fullGC()
      Bun.shrink()
    },
    unmapProgram() {
      unmap ??= programPages()
      unmap()
    },
  }
}

/**
 * Gives memory back to the system when the process is idle. The engine collects garbage when it needs room, and so
 * keeps what a time of load has left while nothing new is allocated; it keeps the code compiled under load too. This
 * drops both, and the caches that are cleared at rest, once after each such time, the first of which is the start of
 * the program. That costs some tens of milliseconds, and as much again when the code is needed again. The program's own
 * file is unmapped at each look, since an idle process reads some more of it in each minute. Returns a function that
 * ends it.
 *
 * A server that has started takes 56 MB at rest instead of 83, and 78 instead of 150 after 2,400 pods came and went. Of
 * these 72, the caches are 19, and the file is 26 (program-pages.ts).
 */
export function giveMemoryBackWhenIdle(clock: Clock, memory = ownMemory()): () => void {
  if (memory === undefined) return () => {}
  let used = memory.cpuMicros()
  let lookedAt = clock.monotonic()
  /** What was in memory after the last collection that freed some, in bytes. */
  let least = memory.ownBytes()
  /** Share of a core that was used at that time. */
  let shareThen = 0
  /** The number of collections since the load ended. A start needs two of them, since what it leaves is less. */
  let rounds = ROUNDS - 2
  const check = () => {
    timer = clock.setTimeout(check, INTERVAL_MS, "upkeep")
    try {
      judge()
    } catch {
      // The figures cannot be read now, for instance for want of a file descriptor; they are read again later.
    }
  }
  const judge = () => {
    const [usedBefore, before] = [used, lookedAt]
    used = memory.cpuMicros()
    lookedAt = clock.monotonic()
    const share = (used - usedBefore) / 1000 / (lookedAt - before)
    const own = memory.ownBytes()
    if (share >= IDLE) rounds = 0
    else if (rounds === ROUNDS) {
      // The engine gives the pages of a collection back to the system after it has returned.
      least = own
      shareThen = share
      rounds = 0
    } else if (rounds > 0 || own > least * GROWTH || share < shareThen - QUIETER) {
      rounds++
      memory.giveBack()
    }
    if (share < IDLE) memory.unmapProgram()
  }
  let timer = clock.setTimeout(check, FIRST_MS, "upkeep")
  return () => timer.cancel()
}
