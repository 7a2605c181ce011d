import { expect, test } from "bun:test"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import type { Component } from "../../pkg/component/component.ts"
import { createLogger, silent } from "../../pkg/log/log.ts"
import { runComponents, type OrderedComponent } from "./lifecycle.ts"

/**
 * Components that record their starts and stops. `hold` keeps a component from starting until the promise is resolved.
 */
function recorded() {
  const history: string[] = []
  const component = (
    name: string,
    {
      hold = Promise.resolve(),
      stop = () => Promise.resolve(),
    }: { hold?: Promise<void>; stop?: () => Promise<void> } = {},
  ): Component => ({
    name,
    async start() {
      history.push(`start ${name}`)
      await hold
      history.push(`ready ${name}`)
    },
    async stop() {
      await stop()
      history.push(`stop ${name}`)
    },
  })
  return { history, component }
}

const part = (component: Component, ...after: string[]): OrderedComponent => ({ component, after })

test("each component starts when the components that it needs are ready, and stops before them", async () => {
  // given an API server and a runtime that do not need each other, and a kubelet that needs both
  const { history, component } = recorded()
  const runtime = Promise.withResolvers<void>()
  const ending = new AbortController()
  const parts = [
    part(component("api")),
    part(component("runtime", { hold: runtime.promise })),
    part(component("scheduler"), "api"),
    part(component("kubelet"), "api", "runtime"),
  ]

  // when the runtime takes longer
  const ready = Promise.withResolvers<void>()
  const run = runComponents(parts, {
    signal: ending.signal,
    clock: new VirtualClock(0),
    log: silent,
    ready: () => ready.resolve(),
    started: ({ name }) => name === "scheduler" && runtime.resolve(),
  })
  await ready.promise
  ending.abort()
  await run

  // then only the kubelet has waited for it, and all stopped in reverse
  expect(history.slice(0, 8)).toEqual([
    "start api",
    "start runtime",
    "ready api",
    "start scheduler",
    "ready scheduler",
    "ready runtime",
    "start kubelet",
    "ready kubelet",
  ])
  expect(history.indexOf("stop kubelet")).toBeLessThan(history.indexOf("stop runtime"))
  expect(history.indexOf("stop scheduler")).toBeLessThan(history.indexOf("stop api"))
})

test("a component that fails to start stops the others, and the program ends with its error", async () => {
  const { history, component } = recorded()
  const broken: Component = {
    name: "broken",
    start: () => Promise.reject(new Error("no disk")),
    stop: () => Promise.resolve(),
  }
  const run = runComponents([part(component("api")), part(broken, "api"), part(component("late"), "broken")], {
    signal: new AbortController().signal,
    clock: new VirtualClock(0),
    log: silent,
  })
  await expect(run).rejects.toThrow("no disk")
  expect(history).toEqual(["start api", "ready api", "stop late", "stop api"])
})

test("a component that is still starting when another one fails is stopped once its start has finished", async () => {
  // given
  const connected = Promise.withResolvers<void>()
  const stoppedAgain = Promise.withResolvers<void>()
  const history: string[] = []
  const proxy: Component = {
    name: "proxy",
    start: () => connected.promise.then(() => void history.push("ready")),
    async stop() {
      if (history.push("stop") === 3) stoppedAgain.resolve()
    },
  }
  const failing: Component = {
    name: "api",
    start: () => Promise.reject(new Error("no port")),
    stop: () => Promise.resolve(),
  }
  const signal = new AbortController().signal
  const run = runComponents([part(proxy), part(failing)], { signal, clock: new VirtualClock(0), log: silent })
  await expect(run).rejects.toThrow("no port")
  // when
  connected.resolve()
  // then
  await stoppedAgain.promise
  expect(history).toEqual(["stop", "ready", "stop"])
})

test("background work that fails ends the program with the error of that work", async () => {
  const { history, component } = recorded()
  const { promise: failed, reject } = Promise.withResolvers<never>()
  const run = runComponents([part(component("api"))], {
    signal: new AbortController().signal,
    clock: new VirtualClock(0),
    log: silent,
    failed,
    ready: () => reject(new Error("lost")),
  })
  await expect(run).rejects.toThrow("lost")
  expect(history.at(-1)).toBe("stop api")
})

test("a component that does not stop cannot keep the program from ending", async () => {
  // given one that never stops
  const clock = new VirtualClock(0)
  const lines: string[] = []
  const { component } = recorded()
  const ending = new AbortController()
  const log = createLogger({ clock, format: "text", level: "info", write: (line) => void lines.push(line) })
  const run = runComponents(
    [part(component("api")), part(component("hung", { stop: () => new Promise(() => undefined) }), "api")],
    { signal: ending.signal, clock, log, ready: () => ending.abort() },
  )

  // when five seconds have gone by
  await clock.advance(5000)

  // then it has ended and says who hung
  await run
  expect(lines.at(-1)).toContain('Gave up waiting for components to stop components="hung,api"')
})

test("a component whose start never finishes cannot keep the program from ending", async () => {
  // given one that has begun to start
  const { history, component } = recorded()
  const begun = Promise.withResolvers<void>()
  const waiting: Component = {
    ...component("waiting"),
    start() {
      history.push("start waiting")
      begun.resolve()
      return new Promise(() => undefined)
    },
  }
  const ending = new AbortController()
  const run = runComponents([part(component("api")), part(waiting, "api")], {
    signal: ending.signal,
    clock: new VirtualClock(0),
    log: silent,
  })
  await begun.promise

  // when the program is to end, then it does
  ending.abort()
  await run
  expect(history).toEqual(["start api", "ready api", "start waiting", "stop waiting", "stop api"])
})
