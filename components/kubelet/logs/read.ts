import type { Clock } from "../../../pkg/clock/clock.ts"
import type { LogOptions } from "../../../pkg/component/node-connector.ts"
import type { PodFiles } from "../runtime/runtime.ts"
import { parseLogLine, type LogLine } from "../runtime/log-line.ts"
import { RotatedFile } from "./rotated-file.ts"

const CHUNK = 64 * 1024
/** Runtimes write at most 16 KiB of output into one line; a longer line was written by another program. */
const MAX_LINE_BYTES = 1024 * 1024
const NEWLINE = 10

export interface LogReadRequest {
  readonly files: Pick<PodFiles, "open" | "list" | "watch">
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
 * later, across rotations. The container's bytes are never decoded. Whatever its reader does, nothing stays open after
 * `signal` aborts. Differs from upstream, which shows nothing right after a rotation: what the file lacks is read from
 * the one before it. Source: cri-client pkg/logs/logs.go.
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
  if (signal.aborted) return
  const wakeUp = new Wake()
  const off = options.follow ? [files.watch(path, () => wakeUp.ring()), onChange(() => wakeUp.ring())] : []
  const log = new RotatedFile(files, path)
  const release = async () => {
    for (const stop of off.splice(0)) stop()
    await log.close()
  }
  // The reader may never ask for more: it is not waited for.
  const onAbort = () => {
    wakeUp.ring()
    release().catch(() => undefined)
  }
  signal.addEventListener("abort", onAbort, { once: true })
  // What is written after the last lines were found is none of them.
  const lines = { left: options.follow ? Infinity : (options.tailLines ?? Infinity) }
  const print = printer(options, clock.now(), lines)
  let left = options.limitBytes ?? Infinity
  try {
    await log.open(options.tailLines)
    let rest = Buffer.alloc(0)
    while (!signal.aborted && left > 0 && lines.left > 0) {
      wakeUp.arm()
      const live = isLive()
      const chunk = await log.read(CHUNK)
      if (chunk.length > 0) {
        const bytes = Buffer.concat([rest, chunk])
        const end = bytes.lastIndexOf(NEWLINE) + 1
        rest = bytes.subarray(end)
        // Runtimes split long lines; text without a line end is no line of a log.
        if (rest.length > MAX_LINE_BYTES) rest = Buffer.alloc(0)
        const out = print(bytes.subarray(0, end))
        if (out.length === 0) continue
        yield out.length > left ? out.subarray(0, left) : out
        left -= out.length
        continue
      }
      const rotated = await log.rotated(!options.follow || !live)
      if (rotated === "new file") rest = Buffer.alloc(0)
      if (rotated !== undefined) continue
      if (!options.follow || !live || signal.aborted) break
      const anyway = clock.setTimeout(() => wakeUp.ring(), LOOK_ANYWAY_MS, "watchdog")
      await wakeUp.wait().finally(() => anyway.cancel())
    }
  } catch (err) {
    // The file was closed while it was read.
    if (!signal.aborted) throw err
  } finally {
    signal.removeEventListener("abort", onAbort)
    await release()
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

/** Formats complete lines of the file as the request asks, up to the number of `limit`, which it counts down. */
function printer(
  { sinceSeconds, sinceTime, timestamps, stream = "All" }: LogReadRequest["options"],
  now: number,
  limit: { left: number },
): (lines: Buffer) => Buffer {
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
  return (lines) => {
    const out: Buffer[] = []
    for (let from = 0, end = 0; from < lines.length && limit.left > 0; from = end + 1) {
      end = lines.indexOf(NEWLINE, from)
      const raw = lines.subarray(from, end)
      const line = parseLogLine(raw)
      if (line === undefined) continue
      limit.left--
      if (!wanted(line)) continue
      if (timestamps && !open[line.stream]) out.push(Buffer.from(`${line.time} `, "latin1"))
      // With its line break, unless the line continues.
      out.push(line.partial ? raw.subarray(line.start) : lines.subarray(from + line.start, end + 1))
      open[line.stream] = line.partial
    }
    return Buffer.concat(out)
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
