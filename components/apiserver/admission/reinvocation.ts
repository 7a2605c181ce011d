import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

/**
 * Decides what runs again in the second round of mutating admission. When a webhook or a policy changed the object, all
 * plugins run once more. Of the webhooks and policies only those run again that have reinvocationPolicy IfNeeded and
 * ran before the change. Source: apiserver pkg/admission/reinvocation.go.
 */
export class Reinvocation {
  /** 0 in the first round, 1 in the second. */
  round: 0 | 1 = 0
  /** Whether a second round follows the first. */
  isDue = false
  readonly #plugins = new Map<string, PluginReinvocation>()

  /** Returns the state of one plugin. */
  of(plugin: string): PluginReinvocation {
    let known = this.#plugins.get(plugin)
    if (known === undefined) this.#plugins.set(plugin, (known = new PluginReinvocation(this)))
    return known
  }
}

/**
 * Decides which webhooks or policies of one plugin run again. Source: webhook/mutating/reinvocationcontext.go,
 * policy/mutating/reinvocationcontext.go.
 */
export class PluginReinvocation {
  readonly #whole: Reinvocation
  #lastSeen: KubeObject | undefined
  #calledSinceChange = new Set<string>()
  readonly #toCallAgain = new Set<string>()

  constructor(whole: Reinvocation) {
    this.#whole = whole
  }
  get round(): 0 | 1 {
    return this.#whole.round
  }
  /** Called before the plugin runs in a round; `object` is the result of the plugins before it. */
  begin(object: KubeObject | undefined, isSame: (a: unknown, b: unknown) => boolean): void {
    if (this.round === 1 && !isSame(this.#lastSeen, object)) this.#callAgain()
  }
  end(object: KubeObject | undefined): void {
    this.#lastSeen = object
  }
  /**
   * Whether a webhook or policy runs in this round. One that did not run in the first round does not run in the second.
   */
  calls(id: string): boolean {
    return this.round === 0 || this.#toCallAgain.has(id)
  }
  /**
   * Records that the object was changed: those that ran before and want to run again will do so in the second round.
   */
  changed(): void {
    this.#callAgain()
    this.#whole.isDue = true
  }
  /** Records that a webhook or policy ran that wants to run again after later changes. */
  called(id: string): void {
    this.#calledSinceChange.add(id)
  }
  #callAgain(): void {
    for (const id of this.#calledSinceChange) this.#toCallAgain.add(id)
    this.#calledSinceChange = new Set()
  }
}
