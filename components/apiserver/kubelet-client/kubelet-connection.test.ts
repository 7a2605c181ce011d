import { expect, test } from "bun:test"
import { Duplex } from "node:stream"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { openClusterPki } from "../../../pkg/pki/cluster-pki.ts"
import { connectToKubelet } from "./kubelet-connection.ts"

test("a connection to a kubelet that sends data but no TLS handshake is closed after the timeout", async () => {
  // given
  const clock = new VirtualClock(Date.UTC(2026, 0, 1))
  const pki = openClusterPki({ now: () => clock.now() })
  const client = pki.issue({ name: "c", authority: "client-ca", subject: { commonName: "c", organizations: [] } })
  const way = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() })
  const connecting = connectToKubelet({
    node: "slow",
    clock,
    dial: () => Promise.resolve(way),
    ca: pki.authorities["server-ca"].certPem,
    client,
    timeoutMs: 10_000,
  }).catch(String)
  await clock.settle()
  // when it sends the head of a long record, one byte every second
  for (const byte of [22, 3, 3, 64, 0, 2, 0, 0, 9]) {
    way.push(Buffer.from([byte]))
    await clock.advance(1000)
  }
  expect(way.destroyed).toBe(false)
  await clock.advance(1000)
  // then
  expect(await connecting).toBe("Error: TLS handshake timeout")
  expect(way.destroyed).toBe(true)
})
