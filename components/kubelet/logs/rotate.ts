import { basename, dirname, join } from "node:path"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { RuntimeContainer } from "../model/runtime-pod.ts"
import { tuningOf, type KubeletTuning } from "../model/tuning.ts"
import { smallest } from "../../../pkg/lists/extremes.ts"

/** First interval between checks of a log; it doubles while the log does not grow. */
const SHORTEST_MS = 10_000
const LONGEST_MS = 320_000

interface Watched {
  /** When the log is checked next, in milliseconds of the monotonic clock; Infinity while it is being checked. */
  readonly at: number
  readonly size: number
  readonly everyMs: number
}

/** Of the names in the folder of a log, returns those that it had before, the oldest first. */
export const rotatedNames = (names: readonly string[], log: string): readonly string[] =>
  names.filter((name) => name.startsWith(`${log}.`) && !name.endsWith(".tmp")).sort()

/**
 * Rotates the logs of running containers. Differs from upstream, which checks every log each 10 s: a log that has not
 * grown is checked half as often each time. Source: pkg/kubelet/logs/container_log_manager.go.
 */
export class LogRotation {
  readonly #context: KubeletContext
  readonly #tuning: KubeletTuning
  readonly #cache: RuntimeCache
  readonly #watched = new Map<string, Watched>()
  /** One timer for all logs, since there may be very many. */
  #timer: Timer | undefined
  #due = Infinity

  constructor(context: KubeletContext, cache: RuntimeCache) {
    this.#context = context
    this.#tuning = tuningOf(context.config)
    this.#cache = cache
  }

  /** Starts the checks of running containers' logs, and ends those of ended containers. */
  sync(containers: readonly RuntimeContainer[]): void {
    for (const { id, state } of containers)
      if (state !== "running") this.#watched.delete(id)
      else if (!this.#watched.has(id)) this.#look(id, 0, SHORTEST_MS)
    if (this.#watched.size === 0) this.stop()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#due = Infinity
    this.#watched.clear()
  }

  #look(id: string, size: number, everyMs: number): void {
    const at = this.#context.clock.monotonic() + everyMs
    this.#watched.set(id, { at, size, everyMs })
    this.#arm(at)
  }

  #arm(at: number): void {
    if (at >= this.#due) return
    const { clock } = this.#context
    this.#timer?.cancel()
    this.#due = at
    this.#timer = clock.setTimeout(() => this.#checkAll(), at - clock.monotonic(), "upkeep")
  }

  #checkAll(): void {
    const { clock, spawn } = this.#context
    const now = clock.monotonic()
    this.#due = Infinity
    for (const [id, watched] of this.#watched) {
      if (watched.at > now) continue
      this.#watched.set(id, { ...watched, at: Infinity })
      spawn("log rotation", () => this.#check(id))
    }
    const next = smallest([...this.#watched.values()].map(({ at }) => at))
    if (next < Infinity) this.#arm(next)
  }

  async #check(id: string): Promise<void> {
    const before = this.#watched.get(id)
    const run = this.#cache.container(id)
    if (before === undefined) return
    if (run?.state !== "running" || run.logPath === "") {
      this.#watched.delete(id)
      return
    }
    let size = before.size
    let grown = false
    try {
      size = (await this.#context.runtime.files.size(run.logPath)) ?? 0
      grown = size !== before.size
      if (size > this.#tuning.containerLogMaxBytes) {
        await this.#rotate(id, run.logPath)
        size = 0
      }
    } catch (err) {
      this.#context.log.warn("Failed to rotate the log of a container", { path: run.logPath, err })
    }
    if (this.#watched.get(id) === before)
      this.#look(id, size, grown ? SHORTEST_MS : Math.min(before.everyMs * 2, LONGEST_MS))
  }

  /** Renames `0.log` to `0.log.20261120-101500`, compresses older files, and removes the oldest. */
  async #rotate(id: string, path: string): Promise<void> {
    const {
      runtime: { files, containers },
      clock,
    } = this.#context
    const folder = dirname(path)
    const rotated = rotatedNames(await files.list(folder), basename(path))
    // The newest is rotated below, and the container begins another.
    const left = Math.max(0, rotated.length - (this.#tuning.containerLogMaxFiles - 2))
    for (const name of rotated.slice(0, left)) await files.remove(join(folder, name))
    for (const name of rotated.slice(left))
      if (!name.endsWith(".gz")) await files.compress(join(folder, name), join(folder, `${name}.gz`))
    const stamp = new Date(clock.now()).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15)
    const aside = `${path}.${stamp}`
    await files.rename(path, aside)
    try {
      await containers.reopenContainerLog(id)
    } catch (err) {
      await files.rename(aside, path) // the runtime still writes to it
      throw err
    }
  }
}
