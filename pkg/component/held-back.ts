import type { Timer } from "../clock/clock.ts"
import type { Component, ComponentContext } from "./component.ts"

/**
 * Returns a component that counts as started at once, and starts `component` after `ms` milliseconds. A start that
 * fails is undone and tried again.
 */
export function heldBack(
  component: Component,
  ms: number,
  { clock, spawn }: Pick<ComponentContext, "clock" | "spawn">,
): Component {
  let timer: Timer | undefined
  let begun = false
  return {
    name: component.name,
    start(signal) {
      const begin = async (): Promise<void> => {
        try {
          await component.start(signal)
        } catch (err) {
          await component.stop()
          throw err
        }
        // Its stop came while it was starting, and did not see what the start has made since then.
        if (signal.aborted) await component.stop()
      }
      timer = clock.setTimeout(() => {
        begun = true
        spawn(`late start of ${component.name}`, begin, signal)
      }, ms)
      return Promise.resolve()
    },
    async stop() {
      timer?.cancel()
      if (begun) await component.stop()
    },
    problem: () => (begun ? component.problem?.() : undefined),
  }
}
