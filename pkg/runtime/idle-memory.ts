import process from "node:process"
import type * as Jsc from "bun:jsc"
import type { Clock } from "../clock/clock.ts"

/** The engine under Bun; another one sees to its memory by itself. */
const engine = process.getBuiltinModule("bun:jsc") as typeof Jsc | undefined

const INTERVAL_MS = 30_000
/** Share of a core below which the process counts as idle: an idle server uses a hundredth. */
const IDLE = 0.1
/** So often in a row, as caches are emptied by and by when there is no load any more. */
const ROUNDS = 3
/** Memory is looked through when it has grown by so much since the last time. */
const GROWTH = 1.1

/**
 * Memory is also looked through when this share of a core less is used than at the last time, which was under a light
 * load then: what that held is garbage once it has ended. An idle server's use changes by less.
 */
const QUIETER = 0.02

/** What is asked of the process, and done to it. */
export interface ProcessMemory {
  /** Microseconds of processor time used so far. */
  cpuMicros(): number
  residentBytes(): number
  /** Collects garbage and lets compiled code go: some tens of milliseconds. */
  giveBack(): void
}

/** This process. Undefined where the engine is another than Bun's. */
export function ownMemory(): ProcessMemory | undefined {
  if (engine === undefined) return undefined
  const { fullGC } = engine
  return {
    cpuMicros() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    residentBytes: () => process.memoryUsage.rss(),
    giveBack() {
      fullGC()
      Bun.shrink()
    },
  }
}

/**
 * Gives memory back when there is little to do. The engine collects garbage when it needs room, and so keeps what a
 * time of load has left for as long as nothing new comes; the code it compiled under load stays, too. Both are let go
 * here, once after each such time. It costs some tens of milliseconds then, and as much again when the code is needed
 * again. Returns what ends it.
 */
export function giveMemoryBackWhenIdle(clock: Clock, memory = ownMemory()): () => void {
  if (memory === undefined) return () => {}
  let used = memory.cpuMicros()
  /** Resident bytes when nothing more could be given back. */
  let least = memory.residentBytes()
  /** Share of a core that was used then. */
  let shareThen = 0
  /** How many have been made since the load ended. */
  let rounds = 0
  const look = () => {
    const usedBefore = used
    used = memory.cpuMicros()
    const share = (used - usedBefore) / 1000 / INTERVAL_MS
    const resident = memory.residentBytes()
    if (share >= IDLE) rounds = 0
    else if (rounds === ROUNDS) {
      // The pages of a round are given back after it.
      least = resident
      shareThen = share
      rounds = 0
    } else if (rounds > 0 || resident > least * GROWTH || share < shareThen - QUIETER) {
      rounds++
      memory.giveBack()
    }
    timer = clock.setTimeout(look, INTERVAL_MS, "upkeep")
  }
  let timer = clock.setTimeout(look, INTERVAL_MS, "upkeep")
  return () => timer.cancel()
}
