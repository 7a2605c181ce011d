import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { once } from "node:events"
import type { Informers } from "../../../pkg/client/informer.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { HealthCheckPorts } from "./health-check-ports.ts"
import { sampleEndpoint, samplePort } from "../service-port.fixtures.ts"

const KEY = "default/web"
let port: number
let ports: HealthCheckPorts
let isHealthy: boolean
let told: string[]
let onTold: PromiseWithResolvers<void>

beforeEach(async () => {
  port = await freePort()
  isHealthy = true
  told = []
  onTold = Promise.withResolvers()
  ports = opened("IPv4")
})
afterEach(() => ports.stop())

function opened(family: Family, nodePortCidrs: readonly string[] = []): HealthCheckPorts {
  const service = { metadata: { namespace: "default", name: "web" } }
  return new HealthCheckPorts({
    family,
    nodeName: "node-0",
    nodePortCidrs,
    clock: realClock,
    informers: { of: () => ({ get: () => service }) } as unknown as Informers,
    events: {
      event: (_about, _type, reason, { action, note }) => {
        told.push(`${action}: ${reason}: ${note}`)
        onTold.resolve()
      },
    },
    isHealthy: () => isHealthy,
  })
}

const withEndpoints = (...addresses: readonly string[]) => [
  samplePort({ healthCheckNodePort: port, cluster: addresses.map((address) => sampleEndpoint(address)) }),
]

async function ask(path = "/", host = "127.0.0.1") {
  const response = await fetch(`http://${host}:${port}${path}`)
  const weight = response.headers.get("X-Load-Balancing-Endpoint-Weight")
  return { status: response.status, weight, body: (await response.json()) as unknown }
}

describe("the health check node port of a Service", () => {
  test("responds with the number of ready endpoints on this node, and with 503 if there are none", async () => {
    // given
    ports.update(KEY, withEndpoints("10.42.0.5", "10.42.0.6"))
    const body = (localEndpoints: number, serviceProxyHealthy = true) => ({
      service: { namespace: "default", name: "web" },
      localEndpoints,
      serviceProxyHealthy,
    })
    // then
    expect(await ask()).toEqual({ status: 200, weight: "2", body: body(2) })
    expect((await ask("/healthz")).status).toBe(200)
    // when the last has gone
    ports.update(KEY, withEndpoints())
    // then
    expect(await ask()).toEqual({ status: 503, weight: "0", body: body(0) })
    // when there are no rules for one that has come back
    ports.update(KEY, withEndpoints("10.42.0.5"))
    isHealthy = false
    // then
    expect(await ask()).toEqual({ status: 503, weight: "1", body: body(1, false) })
  })

  test("is closed when the Service does not have it any more", async () => {
    ports.update(KEY, withEndpoints("10.42.0.5"))
    expect((await ask()).status).toBe(200)
    ports.update(KEY, [])
    await expect(ask()).rejects.toThrow()
  })

  test("that is in use is reported in an Event", async () => {
    // given
    const other = createServer().listen(port, "0.0.0.0")
    await once(other, "listening")
    // when
    ports.update(KEY, withEndpoints("10.42.0.5"))
    await onTold.promise
    // then
    expect(told).toHaveLength(1)
    expect(told[0]).toStartWith(
      `Listen: FailedToStartServiceHealthcheck: node node-0 failed to start healthcheck "default/web" on port ${port}: `,
    )
    // and it is tried again when the Service changes
    other.close()
    await once(other, "close")
    ports.update(KEY, withEndpoints("10.42.0.5"))
    expect((await ask()).status).toBe(200)
  })

  test("listens only at the addresses for node ports", async () => {
    // given node ports at one of the machine's addresses
    ports.stop()
    ports = opened("IPv4", ["127.0.0.1/32"])
    ports.update(KEY, withEndpoints("10.42.0.5"))
    // then
    expect((await ask()).status).toBe(200)
    await expect(ask("/", "127.0.0.2")).rejects.toThrow()
    // and nobody listens where the machine has none of the addresses
    ports.stop()
    ports = opened("IPv4", ["192.0.2.0/24"])
    ports.update(KEY, withEndpoints("10.42.0.5"))
    await expect(ask()).rejects.toThrow()
    expect(told).toEqual([])
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === "::1"))
  test.skipIf(!hasIpv6)("listens for IPv6 beside a listener for IPv4", async () => {
    const six = opened("IPv6")
    for (const each of [ports, six]) each.update(KEY, withEndpoints("10.42.0.5"))
    expect([(await ask()).status, (await ask("/", "[::1]")).status]).toEqual([200, 200])
    six.stop()
    await expect(ask("/", "[::1]")).rejects.toThrow()
    expect((await ask()).status).toBe(200)
  })
})
