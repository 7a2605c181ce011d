/**
 * A thread that locks a data directory at each step of a shared counter, as a start of a server does, and answers
 * whether it got the lock. It answers false once when it is ready, and ends at a step below 0.
 */
import { lockDataDir } from "./pid-file.ts"

const [dir = "", pid = ""] = process.argv.slice(2)

onmessage = ({ data: step }: MessageEvent<Int32Array>) => {
  postMessage(false)
  for (let round = 1; ; round++) {
    // It may be woken by what was told of the round before.
    while (Atomics.load(step, 0) === round - 1) Atomics.wait(step, 0, round - 1)
    if (Atomics.load(step, 0) < 0) return
    postMessage(hasLocked())
  }
}

function hasLocked(): boolean {
  try {
    lockDataDir(dir, Number(pid))
    return true
  } catch {
    return false
  }
}
