import { join } from "node:path"
import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { ProcessExit } from "../../../../../pkg/cri/containerd-exits.ts"
import { drainPipe, ProcessPipes } from "./process-pipes.ts"

export interface HeldOutputsOptions {
  readonly clock: Clock
  /** Returns the folder in which containerd's CRI keeps its state; undefined where the runtime is another one. */
  readonly stateDir: () => Promise<string | undefined>
  /** Yields processes that end, from when `onActive` is called on. */
  readonly exits: (signal: AbortSignal, onActive: () => void) => AsyncIterable<ProcessExit>
}

/** The outputs of one process with an input, held open until it ends. */
export interface HeldOutput {
  /** Resolves once they are held (true), or when they cannot be (false). Never rejects. */
  readonly isHeld: Promise<boolean>
  /** Drops the input that the process has left unread. For a process that has ended. */
  dropInput(): void
  /** Lets go. Must be called, and may be called again. */
  release(): void
}

/**
 * containerd stops passing on the input of an exec as soon as one of its outputs has ended, and so loses
 * what was on the way: `cat > file` closes its standard output at once. Each output is a named pipe, which ends when
 * nobody has it open for writing: so the kubelet opens it too, until the process has ended.
 * Source: containerd pkg/cri/io/exec_io.go, helpers.go (newFifos); the same up to 2.3.
 */
export class HeldOutputs {
  readonly #options: HeldOutputsOptions
  readonly #containers = new Map<string, ProcessPipes>()
  #listening: { readonly active: Promise<boolean>; readonly stop: AbortController } | undefined

  constructor(options: HeldOutputsOptions) {
    this.#options = options
  }

  /**
   * Holds the outputs of the container's next exec with an input and no terminal. Resolves to undefined where the
   * runtime has no such pipes.
   */
  async hold(containerId: string): Promise<HeldOutput | undefined> {
    const stateDir = await this.#options.stateDir()
    if (stateDir === undefined) return undefined
    let pipes = this.#containers.get(containerId)
    if (pipes === undefined) {
      pipes = new ProcessPipes(join(stateDir, "containers", containerId, "io"), this.#options.clock)
      this.#containers.set(containerId, pipes)
    }
    const held = pipes.add()
    let isOver = false
    const release = () => {
      if (isOver) return
      isOver = true
      if (!pipes.remove(held)) return
      this.#containers.delete(containerId)
      if (this.#containers.size === 0) this.#stop()
    }
    // Without word of their end nothing may be held.
    if (await this.#listen()) pipes.check()
    else release()
    const dropInput = () => {
      if (held.found !== undefined) drainPipe(held.found.input)
    }
    return { isHeld: held.promise, dropInput, release }
  }

  #listen(): Promise<boolean> {
    if (this.#listening !== undefined) return this.#listening.active
    const stop = new AbortController()
    const active = Promise.withResolvers<boolean>()
    const listening = { active: active.promise, stop }
    this.#listening = listening
    const follow = async () => {
      for await (const { containerId, id } of this.#options.exits(stop.signal, () => active.resolve(true)))
        this.#containers.get(containerId)?.ended(id)
    }
    const lost = () => {
      active.resolve(false)
      if (this.#listening !== listening) return
      this.#listening = undefined
      for (const pipes of this.#containers.values()) pipes.letGo()
    }
    follow().then(lost, lost)
    return active.promise
  }

  #stop(): void {
    this.#listening?.stop.abort()
    this.#listening = undefined
  }
}
