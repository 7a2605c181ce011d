import type { Timer } from "../clock/clock.ts"
import type { Component, ComponentContext } from "./component.ts"

/** Returns a component that counts as started at once, and starts `component` after `ms` milliseconds. */
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
      timer = clock.setTimeout(() => {
        begun = true
        spawn(`late start of ${component.name}`, () => component.start(signal))
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
