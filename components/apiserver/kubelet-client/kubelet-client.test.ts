import { expect, test } from "bun:test"
import { Duplex } from "node:stream"
import { realClock } from "../../../pkg/clock/real.ts"
import { kubeletClient } from "./kubelet-client.ts"

test("a connection to the kubelet that opens after the client has disconnected is closed at once", async () => {
  // given
  const opening = Promise.withResolvers<Duplex>()
  const client = kubeletClient({ address: "192.0.2.7:10250", connect: () => opening.promise, clock: realClock })
  const leaving = new AbortController()
  const logs = client
    .logs(
      { namespace: "default", name: "web", uid: "u1" },
      { container: "c", follow: true, previous: false, timestamps: false },
      leaving.signal,
    )
    .then(
      () => "logs",
      () => "no logs",
    )
  const socket = new Duplex({ read: () => undefined, write: () => undefined })
  // when
  leaving.abort()
  opening.resolve(socket)
  // then
  expect(await logs).toBe("no logs")
  expect(socket.destroyed).toBe(true)
})
