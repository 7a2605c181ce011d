import { expect, test } from "bun:test"
import { VirtualClock } from "../../clock/virtual.ts"
import type { Connect } from "../environment/connect.ts"
import { Interrupted, type Environment } from "../environment/environment.ts"
import { TextOutput } from "../printers/output.ts"
import { noRequestLog } from "./request-log.ts"
import { RestClient } from "./rest-client.ts"
import { Warnings } from "./warnings.ts"

test("a watch that the user ends fails with the reason, not with that of the connection", async () => {
  // given a watch, whose connection says only that it was aborted
  const interrupt = new AbortController()
  const connect: Pick<Connect, "send"> = {
    send: ({ signal }) =>
      Promise.resolve({
        status: 200,
        headers: {},
        warnings: [],
        protocol: "HTTP/2.0",
        cancel: () => undefined,
        body: {
          async *[Symbol.asyncIterator]() {
            yield new TextEncoder().encode('{"type":"ADDED","object":{"kind":"Event"}}\n')
            await new Promise((resolve) => signal!.addEventListener("abort", resolve))
            throw new Error("aborted")
          },
        },
      }),
  }
  const environment = { clock: new VirtualClock(0), connect } as unknown as Environment
  const config = { server: new URL("https://server"), tls: {}, disableCompression: false }
  const client = new RestClient(environment, config, {
    headers: {},
    credentials: {
      headers: () => Promise.resolve({}),
      certificate: () => Promise.resolve({}),
      refresh: () => Promise.resolve(false),
    },
    warnings: new Warnings(new TextOutput(), { color: false }),
    log: noRequestLog,
  })
  const events = client.watch({ method: "GET", path: "/api/v1/events", signal: interrupt.signal })
  expect((await events.next()).value).toMatchObject({ type: "ADDED" })

  // when the user presses Ctrl-C
  const next = events.next()
  interrupt.abort(new Interrupted())

  // then that is the reason of the end
  expect(await next.catch((err: unknown) => err)).toBeInstanceOf(Interrupted)
})
