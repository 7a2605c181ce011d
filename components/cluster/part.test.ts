import { expect, test } from "bun:test"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Clients } from "./clients.ts"
import { Part } from "./part.ts"

/** Returns a part whose start waits, and a record of what happens to its component and its informers. */
function waitingPart() {
  const history: string[] = []
  const connected = Promise.withResolvers<void>()
  const clients = {
    contextFor: () => ({}) as ComponentContext,
    release: () => void history.push("release"),
  } as unknown as Clients
  const create = (): Component => ({
    name: "proxy",
    async start() {
      await connected.promise
      history.push("ready")
    },
    async stop() {
      history.push("stop")
    },
  })
  return { part: new Part({ name: "proxy", clients, user: { name: "proxy" }, create }), connected, history }
}

test.each([
  { title: "succeeds", end: (connected: PromiseWithResolvers<void>) => connected.resolve(), wants: ["ready"] },
  { title: "fails", end: (connected: PromiseWithResolvers<void>) => connected.reject(new Error("refused")), wants: [] },
])(
  "a part that is stopped while it starts stops its component and its informers when the start $title later",
  async (given) => {
    const { part, connected, history } = waitingPart()
    const starting = part.start(new AbortController().signal).catch(() => undefined)
    await part.stop()
    // when
    given.end(connected)
    await starting
    // then
    expect(history).toEqual(["stop", "release", ...given.wants, "stop", "release"])
  },
)
