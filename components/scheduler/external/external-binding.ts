import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Status } from "../framework.ts"
import { podName } from "../scheduling-context.ts"
import type { Attempt, External } from "./external.ts"

/** Thrown where a plugin does not permit a pod to be bound. */
export class PermitRefusal extends Error {
  readonly plugin: string
  readonly status: Status
  constructor(plugin: string, status: Status) {
    super(status.reasons.join(", "))
    this.plugin = plugin
    this.status = status
  }
}

/** What externals do from the choice of a node to the binding, in the order of the framework. */
export class ExternalBinding {
  readonly #attempt: Attempt
  readonly #node: string
  readonly #externals: readonly External[]
  readonly #log: Logger
  readonly #kept: External[] = []
  readonly #reserving = Promise.withResolvers<void>()

  constructor(attempt: Attempt, node: string, externals: readonly External[], log: Logger) {
    this.#attempt = attempt
    this.#node = node
    this.#externals = externals
    this.#log = log
  }

  get #pod(): Pod {
    return this.#attempt.pod
  }

  /** Resolves when `reserve` has ended, well or not: the next pod may be decided. */
  get reserved(): Promise<void> {
    return this.#reserving.promise
  }

  /** @throws Error of the first that fails */
  async reserve(): Promise<void> {
    try {
      for (const external of this.#externals) {
        if (!external.does("reserve")) continue
        // One that has failed may have kept something all the same. Source: RunReservePluginsReserve.
        this.#kept.unshift(external)
        await this.#trying(external, () => external.reserve(this.#attempt, this.#node))
      }
    } finally {
      this.#reserving.resolve()
    }
  }

  /** The pod does not get the node after all, before anything was reserved. */
  drop(): void {
    this.#reserving.resolve()
    this.#end()
  }

  /** Waits until all permit the binding. @throws PermitRefusal; Error of the first that fails */
  async permit(): Promise<void> {
    await Promise.all(
      this.#externals
        .filter((external) => external.does("permit"))
        .map((external) =>
          this.#trying(external, async () => {
            const status = await external.permit(this.#attempt, this.#node)
            if (status.code !== "Success") throw new PermitRefusal(external.name, status)
          }),
        ),
    )
  }

  async preBind(): Promise<void> {
    for (const external of this.#externals)
      if (external.does("preBind")) await this.#trying(external, () => external.preBind(this.#attempt, this.#node))
  }

  /** Returns the name of who has bound the pod; undefined where nobody has. @throws Error of the one that failed */
  async bind(): Promise<string | undefined> {
    // Extenders come first. Source: schedule_one.go bind.
    const extendersFirst = this.#externals.toSorted((a, b) => Number(a.sees === "all") - Number(b.sees === "all"))
    for (const external of extendersFirst) {
      if (!external.does("bind")) continue
      let isBound = false
      await this.#trying(external, async () => {
        isBound = await external.bind(this.#attempt, this.#node)
      })
      if (isBound) return external.name
    }
    return undefined
  }

  /** Tells them that the pod was bound. */
  async bound(): Promise<void> {
    for (const external of this.#externals)
      if (external.does("postBind"))
        await external.postBind(this.#attempt, this.#node).catch((err: unknown) => this.#warn(err))
    this.#end()
  }

  /** Has them give back what they kept, the last first. */
  async failed(): Promise<void> {
    for (const external of this.#kept)
      await external.unreserve(this.#attempt, this.#node).catch((err: unknown) => this.#warn(err))
    this.#end()
  }

  #end(): void {
    for (const external of this.#externals) external.ended(this.#attempt)
  }

  async #trying(external: External, ask: () => Promise<void>): Promise<void> {
    try {
      await ask()
    } catch (err) {
      if (!external.ignorable || err instanceof PermitRefusal) throw err
      this.#warn(err)
    }
  }

  #warn(err: unknown): void {
    this.#log.warn("A plugin or an extender failed while a pod was bound", { pod: podName(this.#pod), err })
  }
}
