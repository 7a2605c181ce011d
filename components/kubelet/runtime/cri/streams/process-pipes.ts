import { closeSync, constants, openSync, readdirSync, readSync, watch, type FSWatcher } from "node:fs"
import { join } from "node:path"
import type { Clock, Timer } from "../../../../../pkg/clock/clock.ts"

/** Somebody who needs the pipes of a process held; resolves to whether they are. */
export interface Waiting extends PromiseWithResolvers<boolean> {
  /** The process, once its outputs were found, and the pipe of its input. */
  found?: { readonly id: string; readonly input: string }
}

/** A folder without all its pipes is looked at again after a millisecond, so often. */
const MOST_TRIES = 50

/**
 * The named pipes of the execs in a container while somebody needs them held. Each process has a folder, in which
 * containerd makes `<id>-stdin` (if it has an input), `<id>-stdout` and `<id>-stderr` (without a terminal).
 */
export class ProcessPipes {
  readonly #folder: string
  readonly #clock: Clock
  #watcher: FSWatcher | undefined
  #again: Timer | undefined
  #tries = 0
  /** Folders that need no other look. */
  readonly #seen = new Set<string>()
  /** Open descriptors by the process's id. */
  readonly #held = new Map<string, readonly number[]>()
  /** Processes that have ended while somebody waits, who may find their pipes only then. */
  readonly #ended = new Set<string>()
  readonly #all = new Set<Waiting>()
  #waiting: Waiting[] = []

  constructor(folder: string, clock: Clock) {
    this.#folder = folder
    this.#clock = clock
    // What runs already is no process to come.
    for (const name of namesIn(folder)) this.#seen.add(name)
    try {
      this.#watcher = watch(folder, () => this.check())
      this.#watcher.on("error", () => this.#watcher?.close())
    } catch {
      this.#watcher = undefined // a runtime without pipes: they are waited for until `remove`
    }
  }

  add(): Waiting {
    const waiting: Waiting = Promise.withResolvers<boolean>()
    this.#all.add(waiting)
    this.#waiting.push(waiting)
    this.#tries = 0
    return waiting
  }

  /** Lets go of what only this one needs. Returns whether nobody needs the pipes any more. */
  remove(waiting: Waiting): boolean {
    this.#settle(waiting, false)
    if (!this.#all.delete(waiting)) return false
    if (waiting.found !== undefined) this.#release(waiting.found.id)
    if (this.#all.size > 0) return false
    this.#watcher?.close()
    this.#again?.cancel()
    return true
  }

  /** Holds the pipes of processes that have come. */
  check(): void {
    if (this.#waiting.length === 0) return
    for (const name of namesIn(this.#folder)) if (!this.#seen.has(name)) this.#checkAt(name)
  }

  /** A process has ended. */
  ended(id: string): void {
    if (this.#waiting.length > 0) this.#ended.add(id)
    this.#release(id)
  }

  letGo(): void {
    for (const id of [...this.#held.keys()]) this.#release(id)
  }

  #checkAt(name: string): void {
    const folder = join(this.#folder, name)
    const files = namesIn(folder)
    const stderr = files.find((file) => file.endsWith("-stderr"))
    if (stderr === undefined) {
      if (this.#tries++ < MOST_TRIES) this.#again ??= this.#clock.setTimeout(() => this.#lookAgain(), 1)
      return
    }
    const id = stderr.slice(0, -"-stderr".length)
    const [waiting] = this.#waiting
    this.#seen.add(name)
    // Another process without an input, such as a probe's.
    if (!files.includes(`${id}-stdin`) || waiting === undefined) return
    waiting.found = { id, input: join(folder, `${id}-stdin`) }
    this.#settle(waiting, this.#hold(id, [join(folder, `${id}-stdout`), join(folder, stderr)]))
  }

  #lookAgain(): void {
    this.#again = undefined
    this.check()
  }

  #hold(id: string, paths: readonly string[]): boolean {
    if (this.#ended.has(id)) return true // with all that it wrote
    const fds: number[] = []
    try {
      // For reading too: a pipe that nobody reads could not be opened without waiting. See fifo(7).
      for (const path of paths) fds.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK))
    } catch {
      for (const fd of fds) closeSync(fd)
      return false
    }
    this.#held.set(id, fds)
    return true
  }

  #release(id: string): void {
    for (const fd of this.#held.get(id) ?? []) closeSync(fd)
    this.#held.delete(id)
  }

  #settle(waiting: Waiting, isHeld: boolean): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting)
    if (this.#waiting.length === 0) this.#ended.clear()
    waiting.resolve(isHeld)
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // the process, or the container, has gone
  }
}

/** Reads and drops what is in a pipe. */
export function drainPipe(path: string): void {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    while (readSync(fd, new Uint8Array(64 * 1024)) > 0);
  } catch {
    // It is empty (EAGAIN), or has gone.
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
