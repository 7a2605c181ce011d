import { describePlugin } from "../../../pkg/scheduler-plugin/describe-plugin.ts"
import type { SchedulerPlugin } from "../../../pkg/scheduler-plugin/plugin.ts"
import type { PluginDescription, PluginRequest } from "../../../pkg/scheduler-plugin/protocol.ts"
import { PluginRunner } from "../../../pkg/scheduler-plugin/runner.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { NodeInfo } from "../node-info.ts"
import { NodeFeed } from "./node-feed.ts"
import { PluginError, type PluginHost } from "./plugin-host.ts"

/**
 * Runs a plugin in this process, under its clock: for tests, where time is virtual, and where a plugin that loops is
 * what the test has to show.
 */
export class LocalHost implements PluginHost {
  readonly description: PluginDescription
  readonly #clock: Clock
  readonly #runner: PluginRunner
  readonly #feed = new NodeFeed()
  /** Ends open questions. */
  readonly #open = new Set<(err: PluginError) => void>()

  /** @throws Error that says what is wrong with the plugin */
  constructor(plugin: SchedulerPlugin, clock: Clock) {
    this.description = describePlugin(plugin)
    this.#clock = clock
    this.#runner = new PluginRunner(plugin)
  }

  async ask(request: PluginRequest, nodes: readonly NodeInfo[] | undefined, deadlineMs: number): Promise<unknown> {
    const { name } = this.description
    const aborter = new AbortController()
    const late = Promise.withResolvers<never>()
    const end = (error: PluginError) => {
      aborter.abort(error)
      late.reject(error)
    }
    const isLate = `plugin ${name}: ${request.call} has not answered within ${deadlineMs / 1000}s`
    const timer = this.#clock.setTimeout(() => end(new PluginError(isLate, true)), deadlineMs)
    this.#open.add(end)
    try {
      const run = this.#run(request, nodes, aborter.signal)
      return await Promise.race([run, late.promise])
    } catch (err) {
      if (err instanceof PluginError) throw err
      throw new PluginError(`plugin ${name}: ${request.call} failed: ${errorMessage(err)}`, false, { cause: err })
    } finally {
      timer.cancel()
      this.#open.delete(end)
    }
  }

  async #run(request: PluginRequest, nodes: readonly NodeInfo[] | undefined, signal: AbortSignal): Promise<unknown> {
    for (let next = nodes && this.#feed.next(nodes); next !== undefined; next = this.#feed.next(nodes!)) {
      if (next.isAll) return this.#runner.run(request, next.change, signal)
      this.#runner.learn(next.change)
    }
    return this.#runner.run(request, undefined, signal)
  }

  tell(request: PluginRequest): void {
    void this.#runner.run(request, undefined, new AbortController().signal)
  }

  begin(): void {
    // There is nothing to start.
  }

  stop(): Promise<void> {
    for (const end of this.#open) end(new PluginError(`plugin ${this.description.name}: the scheduler stops`, false))
    return Promise.resolve()
  }
}
