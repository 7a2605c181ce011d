import type { Clock } from "../../../pkg/clock/clock.ts"
import type { LogOptions } from "../../../pkg/component/node-connector.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import type { OpenFile } from "../runtime/open-file.ts"
import { parseLogLine, type LogLine } from "./line.ts"

const CHUNK = 64 * 1024
/** Runtimes write at most 16 KiB of output into one line; a longer line was written by another program. */
const MAX_LINE_BYTES = 1024 * 1024
const NEWLINE = 10

export interface LogReadRequest {
  readonly files: Pick<PodFiles, "open" | "watch">
  readonly path: string
  readonly options: Omit<LogOptions, "container" | "previous">
  readonly clock: Clock
  /** Whether more output may follow. */
  isLive(): boolean
  /** Calls `listener` when `isLive` may have changed. Returns the function that ends this. */
  onChange(listener: () => void): () => void
  readonly signal: AbortSignal
}

/**
 * Interval in which a followed log is checked without a notification, because the kernel's notifications can get lost.
 * Source: cri-client logForceCheckPeriod.
 */
const LOOK_ANYWAY_MS = 1000

/**
 * Yields a container's log as users see it, from the file that the runtime writes; with `follow` also what is written
 * later, across rotations. Source: cri-client pkg/logs/logs.go.
 */
export async function* readLog({
  files,
  path,
  options,
  clock,
  isLive,
  onChange,
  signal,
}: LogReadRequest): AsyncGenerator<Uint8Array, void> {
  let file = await files.open(path)
  const wakeUp = new Wake()
  const off = options.follow ? [files.watch(path, () => wakeUp.ring()), onChange(() => wakeUp.ring())] : []
  const onAbort = () => wakeUp.ring()
  signal.addEventListener("abort", onAbort, { once: true })
  const print = printer(options, clock.now())
  let left = options.limitBytes ?? Infinity
  try {
    let offset = file === undefined ? 0 : await tailOffset(file, options.tailLines)
    let rest: Uint8Array = new Uint8Array(0)
    while (!signal.aborted && left > 0) {
      wakeUp.arm()
      const live = isLive()
      const chunk: Uint8Array = file === undefined ? new Uint8Array(0) : await file.read(offset, CHUNK)
      if (chunk.length > 0) {
        offset += chunk.length
        const bytes: Uint8Array = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
        const end = bytes.lastIndexOf(NEWLINE) + 1
        rest = bytes.subarray(end)
        // Runtimes split long lines; text without a line end is no line of a log.
        if (rest.length > MAX_LINE_BYTES) rest = new Uint8Array(0)
        const text = print(Buffer.from(bytes.subarray(0, end)).toString("utf8"))
        if (text === "") continue
        const out = Buffer.from(text)
        yield out.length > left ? out.subarray(0, left) : out
        left -= out.length
        continue
      }
      if (file !== undefined && !(await file.isCurrent())) {
        const next = await files.open(path)
        if (next !== undefined) {
          await file.close()
          file = next
          offset = 0
          rest = new Uint8Array(0)
          continue
        }
      }
      if (!options.follow || !live) break
      const anyway = clock.setTimeout(() => wakeUp.ring(), LOOK_ANYWAY_MS, "watchdog")
      await wakeUp.wait().finally(() => anyway.cancel())
      file ??= await files.open(path)
    }
  } finally {
    signal.removeEventListener("abort", onAbort)
    for (const stop of off) stop()
    await file?.close()
  }
}

/** A signal that is kept if it comes before the wait for it. */
class Wake {
  #rung = Promise.withResolvers<void>()
  arm(): void {
    this.#rung = Promise.withResolvers<void>()
  }
  ring(): void {
    this.#rung.resolve()
  }
  wait(): Promise<void> {
    return this.#rung.promise
  }
}

/** Returns the offset of the last `lines` lines: searches for line breaks from the end. */
async function tailOffset(file: OpenFile, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0
  const size = await file.size()
  if (lines === 0) return size
  let found = 0
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - CHUNK)
    const chunk = await file.read(start, end - start)
    for (let i = chunk.length - 1; i >= 0; i--) {
      // A line break at the very end belongs to the last line.
      if (chunk[i] !== NEWLINE || start + i === size - 1) continue
      found++
      if (found === lines) return start + i + 1
    }
    end = start
  }
  return 0
}

/** Formats complete lines of the file as the request asks. */
function printer(
  { sinceSeconds, sinceTime, timestamps, stream = "All" }: LogReadRequest["options"],
  now: number,
): (text: string) => string {
  const since =
    sinceTime !== undefined
      ? comparableTime(sinceTime)
      : sinceSeconds !== undefined
        ? comparableTime(new Date(now - sinceSeconds * 1000).toISOString())
        : ""
  // For each stream, whether its last line continues.
  const open = { stdout: false, stderr: false }
  const wanted = ({ stream: of, time }: LogLine) =>
    (stream === "All" || stream.toLowerCase() === of) && (since === "" || comparableTime(time) >= since)
  return (text) => {
    let out = ""
    for (const raw of text.split("\n")) {
      const line = raw === "" ? undefined : parseLogLine(raw)
      if (line === undefined || !wanted(line)) continue
      if (timestamps && !open[line.stream]) out += `${line.time} `
      out += line.partial ? line.content : `${line.content}\n`
      open[line.stream] = line.partial
    }
    return out
  }
}

/**
 * Returns the time in UTC with nine digits, so that times compare as text. Runtimes write nanoseconds without trailing
 * zeros, in the zone of the host.
 */
function comparableTime(text: string): string {
  const [, fraction = ""] = /\.(\d+)/.exec(text) ?? []
  const ms = Date.parse(text)
  const seconds = text.endsWith("Z")
    ? text.slice(0, 19)
    : Number.isNaN(ms)
      ? text
      : new Date(ms).toISOString().slice(0, 19)
  return `${seconds}.${fraction.padEnd(9, "0")}`
}
