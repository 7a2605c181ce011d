import { describe, expect, test } from "bun:test"
import { createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { realClock } from "../../../pkg/clock/real.ts"
import { deadPort } from "../proxy/proxy.fixtures.ts"
import type { Upstream } from "../messages/messages.ts"
import { Watchdog } from "../proxy/watchdog.ts"
import { Http2Connector } from "./connector.ts"

/** A backend that counts its connections, and a function that requests places on them. */
async function connections({ most }: { readonly most?: number } = {}) {
  const server = createServer(most === undefined ? {} : { settings: { maxConcurrentStreams: most } })
  let count = 0
  server.on("session", () => count++)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const own = (server.address() as AddressInfo).port
  const connector = new Http2Connector(new Watchdog(realClock))
  return {
    count: () => count,
    /** Asks for a place. `cancel` gives the attempt up, after which it gets none. */
    ask(port = own) {
      const { promise, resolve } = Promise.withResolvers<Upstream | Error>()
      const cancel = connector.connect({ address: "127.0.0.1", port, key: `127.0.0.1:${port}` }, "h2c", resolve)
      return { got: promise, cancel }
    },
    [Symbol.dispose]() {
      connector.stop()
      server.close()
    },
  }
}

describe("requests to an endpoint without a connection", () => {
  test.each([
    { title: "share one connection", most: undefined, requests: 40, wants: 1 },
    { title: "share as many connections as the backend's limit of streams requires", most: 8, requests: 40, wants: 5 },
    { title: "are at most a hundred on one connection", most: undefined, requests: 150, wants: 2 },
  ])("$title", async ({ most, requests, wants }) => {
    using given = await connections(most === undefined ? {} : { most })
    const asked = Array.from({ length: requests }, () => given.ask().got)
    expect((await Promise.all(asked)).filter((result) => result instanceof Error)).toEqual([])
    expect(given.count()).toBe(wants)
  })

  test("get their connection although the request that opened it was cancelled", async () => {
    using given = await connections()
    const [first, second] = [given.ask(), given.ask()]
    first.cancel()
    expect(await second.got).not.toBeInstanceOf(Error)
    expect(given.count()).toBe(1)
  })

  test("all fail if the endpoint cannot be reached", async () => {
    using given = await connections()
    const port = await deadPort()
    const asked = await Promise.all([given.ask(port).got, given.ask(port).got])
    expect(asked.map((result) => (result as Error).message)).toEqual(
      Array(2).fill("no connection to an endpoint: ECONNREFUSED"),
    )
  })
})
