import { expect, test } from "bun:test"
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net"
import { realClock } from "../../../pkg/clock/real.ts"
import { backend, deadPort, Peer } from "../proxy/proxy.fixtures.ts"
import type { Endpoint } from "../messages/messages.ts"
import { Watchdog } from "../proxy/watchdog.ts"
import type { Passthrough } from "../routing/site.ts"
import { Tunnels } from "./tunnels.ts"

const TO: Passthrough["backends"] = [{ weight: 1, to: { namespace: "shop", service: "web", port: 443 } }]

/** Starts a server that passes its connections to the first of these ports that accepts one. */
async function handingOn(ports: readonly number[], backends = TO, opened: () => void = () => undefined) {
  const pick = (_to: unknown, tried: readonly Endpoint[]) => {
    const port = ports[tried.length]
    const endpoint = { address: "127.0.0.1", port: port ?? 0, key: `127.0.0.1:${port}` }
    return port === undefined ? undefined : { endpoint, protocol: "http1" as const }
  }
  const tunnels = new Tunnels({ watchdog: new Watchdog(realClock), pick, chance: () => 0 })
  const server: Server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    tunnels.open(socket, "192.0.2.7", backends)
    opened()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    client: () => new Peer(connect({ port, host: "127.0.0.1", allowHalfOpen: true })),
    stop: () => tunnels.stop(),
    [Symbol.dispose]() {
      tunnels.stop()
      server.close()
    },
  }
}

test("a tunnel forwards the bytes of both directions, and the end of each direction separately", async () => {
  // given the first endpoint is dead
  using web = await backend()
  using given = await handingOn([await deadPort(), web.port])
  const client = given.client()
  client.send("hello")
  const served = await web.connection()

  // when the client has sent all
  await served.until("hello")
  client.socket.end()
  await served.untilEnd()

  // then it still gets what comes
  served.send("answer")
  await client.until("answer")
  served.socket.end()
  await client.untilEnd()
})

test.each([
  { title: "for an unknown host", given: [] },
  { title: "whose backend does not exist", given: [{ weight: 1, to: undefined }] },
])("a connection $title is closed", async ({ given: backends }) => {
  using given = await handingOn([], backends)
  expect(await given.client().untilEnd()).toBe("")
})

test("a connection whose endpoints cannot be reached is closed", async () => {
  using given = await handingOn([await deadPort(), await deadPort()])
  expect(await given.client().untilEnd()).toBe("")
})

test("a tunnel that is still connecting when the proxy stops is closed, and tries no other endpoint", async () => {
  // given
  using next = await backend()
  using given = await handingOn([await deadPort(), next.port], TO, () => given.stop())
  // when
  expect(await given.client().untilEnd()).toBe("")
  // then
  expect(next.unclaimed).toBe(0)
})
