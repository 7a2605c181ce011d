import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"

/**
 * What the two rounds of mutating admission know of each other. When a webhook changed an object, all plugins run once
 * more, and of the webhooks those that want it and were asked before the change. Source: apiserver
 * pkg/admission/reinvocation.go, webhook/mutating/reinvocationcontext.go.
 */
export class Reinvocation {
  /** 0, then 1 where there is a second round. */
  round: 0 | 1 = 0
  /** A webhook changed the object, so that a second round is due. */
  isDue = false
  #lastSeen: KubeObject | undefined
  #askedSinceChange = new Set<string>()
  readonly #toAskAgain = new Set<string>()

  /** The webhooks are asked now; `object` is as the plugins before them left it. */
  begin(object: KubeObject | undefined, isSame: (a: unknown, b: unknown) => boolean): void {
    if (this.round === 1 && !isSame(this.#lastSeen, object)) this.#askAgain()
  }
  end(object: KubeObject | undefined): void {
    this.#lastSeen = object
  }
  /** Whether a webhook is to be asked in this round. One that was not asked in the first is not asked in the second. */
  asks(webhook: string): boolean {
    return this.round === 0 || this.#toAskAgain.has(webhook)
  }
  /** A webhook was asked: it may have changed the object, and may want to be asked again after others did. */
  asked(webhook: string, { changed, again }: { readonly changed: boolean; readonly again: boolean }): void {
    if (changed) {
      this.#askAgain()
      this.isDue = true
    }
    if (again) this.#askedSinceChange.add(webhook)
  }
  #askAgain(): void {
    for (const webhook of this.#askedSinceChange) this.#toAskAgain.add(webhook)
    this.#askedSinceChange = new Set()
  }
}
