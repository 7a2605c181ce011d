import type { PluginDescription, PluginRequest } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { NodeInfo } from "../node-info.ts"

/** Where a plugin runs: in a process of its own, or in a test's. */
export interface PluginHost {
  /** What is known of the plugin; after a reload, of the new one. */
  readonly description: PluginDescription
  /**
   * Asks the plugin.
   * @param nodes the nodes that it must know for the answer; undefined where it needs none
   * @throws Error that names the plugin, what it was asked, and what went wrong
   */
  ask(request: PluginRequest, nodes: readonly NodeInfo[] | undefined, deadlineMs: number): Promise<unknown>
  /** Tells the plugin something to which there is no answer. Does nothing where it does not run. */
  tell(request: PluginRequest): void
  /** Called when a scheduler begins to use the plugin: also after another one has stopped. */
  begin(): void
  /** Ends the plugin; open questions fail, and later ones do until `begin`. */
  stop(): Promise<void>
}

/** An error of a plugin: it threw, or did not answer, or its process has ended. */
export class PluginError extends Error {
  override readonly name = "PluginError"
  /** Whether the whole plugin is at fault, and not only this call: too many of them, and it is not asked for a while. */
  readonly isFatal: boolean
  constructor(message: string, isFatal: boolean, options?: ErrorOptions) {
    super(message, options)
    this.isFatal = isFatal
  }
}
