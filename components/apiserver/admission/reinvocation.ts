import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

/**
 * What the two rounds of mutating admission know of each other. When a webhook or a policy changed an object, all
 * plugins run once more, and of the webhooks and policies those that want it and were asked before the change. Source:
 * apiserver pkg/admission/reinvocation.go.
 */
export class Reinvocation {
  /** 0, then 1 where there is a second round. */
  round: 0 | 1 = 0
  /** A second round is due. */
  isDue = false
  readonly #plugins = new Map<string, PluginReinvocation>()

  /** What one plugin knows of its own rounds. */
  of(plugin: string): PluginReinvocation {
    let known = this.#plugins.get(plugin)
    if (known === undefined) this.#plugins.set(plugin, (known = new PluginReinvocation(this)))
    return known
  }
}

/**
 * Which webhooks or policies of a plugin are asked again. Source: webhook/mutating/reinvocationcontext.go,
 * policy/mutating/reinvocationcontext.go.
 */
export class PluginReinvocation {
  readonly #whole: Reinvocation
  #lastSeen: KubeObject | undefined
  #askedSinceChange = new Set<string>()
  readonly #toAskAgain = new Set<string>()

  constructor(whole: Reinvocation) {
    this.#whole = whole
  }
  get round(): 0 | 1 {
    return this.#whole.round
  }
  /** The plugin's turn has come; `object` is as the plugins before it left it. */
  begin(object: KubeObject | undefined, isSame: (a: unknown, b: unknown) => boolean): void {
    if (this.round === 1 && !isSame(this.#lastSeen, object)) this.#askAgain()
  }
  end(object: KubeObject | undefined): void {
    this.#lastSeen = object
  }
  /** Whether one is to be asked in this round. One that was not asked in the first is not asked in the second. */
  asks(id: string): boolean {
    return this.round === 0 || this.#toAskAgain.has(id)
  }
  /** The object was changed: those that were asked before, and want it, are to be asked again. */
  changed(): void {
    this.#askAgain()
    this.#whole.isDue = true
  }
  /** One was asked that may want to be asked again after changes. */
  asked(id: string): void {
    this.#askedSinceChange.add(id)
  }
  #askAgain(): void {
    for (const id of this.#askedSinceChange) this.#toAskAgain.add(id)
    this.#askedSinceChange = new Set()
  }
}
