import { expect, test } from "bun:test"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { Exchange } from "./exchange.ts"
import type { Finished } from "./proxy-parts.ts"
import type { Downstream, IncomingRequest } from "../messages/messages.ts"
import { Mirrors } from "./mirrors.ts"
import { Watchdog } from "./watchdog.ts"

const REQUEST: IncomingRequest = {
  method: "GET",
  target: "/",
  authority: "a",
  host: "a",
  fields: [],
  framing: { kind: "none" },
  upgrade: undefined,
  version: "HTTP/2",
  origin: { client: "192.0.2.1", isSecure: false, port: 80, listener: 80, address: "192.0.2.2", serverName: undefined },
}

test("a request that is refused when its stream is already closed is counted once", () => {
  // given
  const finished: Finished[] = []
  const watchdog = new Watchdog(new VirtualClock(0))
  const unused = { pick: () => undefined, connector: { connect: () => () => undefined }, chance: () => 0 }
  const mirrors = new Mirrors({ ...unused, watchdog })
  const route = () => ({ status: 404, reason: "no rule is for this host and path" })
  const client: Downstream = {
    respond: () => exchange.clientGone(),
    receive: () => undefined,
    write: () => undefined,
    end: () => undefined,
    flush: () => true,
    abort: () => undefined,
  }
  const parts = { ...unused, route, mirrors, watchdog, httpsPort: 443, finished: (one: Finished) => finished.push(one) }
  const exchange = new Exchange(parts, REQUEST, client)
  // when
  exchange.start()
  // then
  expect(finished.map(({ status }) => status)).toEqual([404])
})
