import type { Clock } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import type { Logger } from "../../pkg/log/log.ts"

/** A component, and the names of those that must be ready before it starts, and that stop only after it has stopped. */
export interface OrderedComponent {
  readonly component: Component
  readonly after: readonly string[]
}

export interface RunOptions {
  /** Aborts when the program is to end. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
  /** Called for each component once it is ready. */
  readonly started?: ((component: Component) => void) | undefined
  /** Called once all components are ready. */
  readonly ready?: () => void
  /** The time in which all components together must stop, in milliseconds; 4.5 seconds unless given. */
  readonly stopMs?: number
  /** Rejects when background work has failed; the program then ends with that error. */
  readonly failed?: Promise<never>
}

/** Half a second less than the five seconds of the whole program. */
export const STOP_MS = 4500

/**
 * Starts each component as soon as those it needs are ready; runs them until `signal` aborts; stops them in reverse
 * order. @throws the error of the first component that fails to start, or of `failed`, after all have stopped
 */
export async function runComponents(
  parts: readonly OrderedComponent[],
  { signal, clock, log, started, ready, failed, stopMs = STOP_MS }: RunOptions,
): Promise<void> {
  const ending = new AbortController()
  const end = () => ending.abort(signal.reason)
  signal.addEventListener("abort", end, { once: true })
  if (signal.aborted) end()
  const background = failed ?? new Promise<never>(() => undefined)
  try {
    const ended = aborted(ending.signal)
    // A start may wait for something that never comes, such as objects that cannot be read.
    await Promise.race([startAll(parts, { signal: ending.signal, clock, log, started }), background, ended])
    if (!ending.signal.aborted) ready?.()
    await Promise.race([ended, background])
  } catch (err) {
    if (!signal.aborted) throw err
  } finally {
    signal.removeEventListener("abort", end)
    ending.abort(new Error("the program is ending"))
    await stopAll(parts, { clock, log, stopMs })
  }
}

type Tools = Pick<RunOptions, "clock" | "log" | "started">

async function startAll(
  parts: readonly OrderedComponent[],
  { signal, clock, log, started }: Tools & Pick<RunOptions, "signal">,
): Promise<void> {
  const starts = new Map<string, Promise<void>>()
  for (const { component, after } of parts) {
    const needed = after.flatMap((name) => starts.get(name) ?? [])
    starts.set(
      component.name,
      (async () => {
        await Promise.all(needed)
        signal.throwIfAborted()
        const from = clock.monotonic()
        try {
          await component.start(signal)
        } finally {
          // Its stop came while it was starting, and did not see what the start has made since then. So it is stopped
          // again.
          if (signal.aborted) await component.stop()
        }
        log.debug("Started component", { component: component.name, ms: Math.round(clock.monotonic() - from) })
        started?.(component)
      })(),
    )
  }
  await Promise.all(starts.values())
}

async function stopAll(
  parts: readonly OrderedComponent[],
  { clock, log, stopMs }: Tools & Required<Pick<RunOptions, "stopMs">>,
): Promise<void> {
  const stops = new Map<string, Promise<void>>()
  const running = new Set<string>()
  for (const { component } of parts.toReversed()) {
    const dependents = parts
      .filter(({ after }) => after.includes(component.name))
      .flatMap((part) => stops.get(part.component.name) ?? [])
    running.add(component.name)
    stops.set(
      component.name,
      (async () => {
        await Promise.all(dependents)
        try {
          await component.stop()
        } catch (err) {
          log.error("Failed to stop a component", { component: component.name, err })
        }
        running.delete(component.name)
      })(),
    )
  }
  let timer: { cancel(): void } | undefined
  const late = new Promise<void>((resolve) => {
    timer = clock.setTimeout(() => {
      log.error("Gave up waiting for components to stop", { components: [...running].join(",") })
      resolve()
    }, stopMs)
  })
  await Promise.race([Promise.all(stops.values()), late])
  timer?.cancel()
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
