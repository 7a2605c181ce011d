import { sleep, type Clock } from "../clock/clock.ts"

/** Makes profiles of this process. Each method throws `ProfilerBusy` while a profile is being made. */
export interface Profiler {
  /**
   * Returns what the processor did for `seconds`, as the JSON of a `.cpuprofile`; a shorter profile when `signal`
   * aborts.
   */
  cpu(seconds: number, signal: AbortSignal): Promise<string>
  /** Returns all objects in memory, as the JSON of a `.heapsnapshot`. The process stands still meanwhile. */
  heap(): Promise<Uint8Array>
}

/** Thrown when another profile is being made. */
export class ProfilerBusy extends Error {
  override readonly name = "ProfilerBusy"
}

/** Time between two samples. Go takes 100 samples a second; ten times as many cost some percent of the processor. */
const SAMPLE_MICROSECONDS = 1000

/** Returns the profiler of this process. It uses the inspector's protocol, which Bun, Deno and Node.js have. */
export function processProfiler(clock: Clock): Profiler {
  let isBusy = false
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isBusy) throw new ProfilerBusy("another profile is being made")
    isBusy = true
    try {
      return await work()
    } finally {
      isBusy = false
    }
  }
  return {
    cpu: (seconds, signal) => alone(() => cpuProfile(seconds * 1000, clock, signal)),
    heap: () => alone(heapSnapshot),
  }
}

async function cpuProfile(ms: number, clock: Clock, signal: AbortSignal): Promise<string> {
  const { Session } = await import("node:inspector/promises")
  const session = new Session()
  session.connect()
  try {
    await session.post("Profiler.enable")
    await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_MICROSECONDS })
    await session.post("Profiler.start")
    await sleep(clock, ms, signal).catch(() => undefined)
    const { profile } = await session.post("Profiler.stop")
    return JSON.stringify(profile)
  } finally {
    session.disconnect()
  }
}

async function heapSnapshot(): Promise<Uint8Array> {
  const { getHeapSnapshot } = await import("node:v8")
  const parts: Uint8Array[] = []
  for await (const part of getHeapSnapshot()) parts.push(Buffer.from(part as Uint8Array | string))
  return Buffer.concat(parts)
}
