/** A Service whose rules the kernel refuses keeps no other Service from its rules. */
import { expect, test } from "bun:test"
import { Event } from "../../pkg/api/events/v1/event.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import { withService } from "./proxier.fixtures.ts"
import { PROXY_MODES } from "./rule-writer.ts"

/** The kernel refuses every rule with this port. */
const REFUSED = 6666
const BAD = { namespace: "default", name: "bad" }

/** A machine that remembers what its kernel took. */
function machine() {
  const on = { written: "", trials: 0 }
  const host: Host = {
    run: async (_command, args) => (args.includes("--version") ? "nftables v1.0.9" : ""),
    async feed(command, args, input) {
      const isTrial = args.includes("--check") || args.includes("--test")
      if (isTrial) on.trials++
      if (input.includes(String(REFUSED))) throw new Error(`${command} failed with code 1: Message too long`)
      if (!isTrial) on.written += input
    },
  }
  return Object.assign(on, { host })
}

async function stage(mode: (typeof PROXY_MODES)[number]) {
  const web = await withService("TCP")
  const { client } = web.cluster
  const on = machine()
  const proxy = web.proxy(on.host, mode)
  const serve = async (name: string, clusterIP: string, port: number, address: string) => {
    await client.create(Service, { metadata: { namespace: "default", name }, spec: { clusterIP, ports: [{ port }] } })
    await client.create(EndpointSlice, {
      metadata: { namespace: "default", name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [{ addresses: [address] }],
      ports: [{ port: 8080, protocol: "TCP" }],
    })
  }
  const events = async () =>
    (await client.list(Event)).items
      .filter(({ reason }) => reason === "ServiceRefused")
      .map(({ regarding, note }) => [regarding?.name, note])
  return { web, client, on, proxy, serve, events }
}

test.each(PROXY_MODES)(
  "a Service whose rules the kernel refuses at the start is left out alone, with an Event, until it is edited: %s",
  async (mode) => {
    // given
    const { web, client, on, proxy, serve, events } = await stage(mode)
    await using _ = web
    await serve("bad", "10.43.7.8", REFUSED, "10.42.0.9")
    // when
    await proxy.start(new AbortController().signal)
    // then
    expect(proxy.problem?.()).toBeUndefined()
    expect(on.written).toContain("10.43.7.7")
    expect(on.written).not.toContain("10.43.7.8")
    await web.cluster.advance("1s")
    expect(await events()).toEqual([["bad", expect.stringContaining("Message too long")]])
    // and others get their changes, without another trial
    const { trials } = on
    await web.point("10.42.0.6")
    await web.cluster.settle()
    expect(on.written).toContain("10.42.0.6")
    expect(on.trials).toBe(trials)
    // and when it is edited, it is served
    await client.patch(Service, BAD, { type: "merge", body: { spec: { ports: [{ port: 80, protocol: "TCP" }] } } })
    await web.cluster.settle()
    expect(on.written).toContain("10.43.7.8")
    expect(on.written).toContain("10.42.0.9")
  },
)

test.each(PROXY_MODES)(
  "of many Services the one that the kernel refuses after an edit is found in few trials: %s",
  async (mode) => {
    // given
    const { web, client, on, proxy, serve } = await stage(mode)
    await using _ = web
    for (let i = 0; i < 40; i++) await serve(`s${i}`, `10.43.8.${i + 1}`, 80, `10.42.1.${i + 1}`)
    await serve("bad", "10.43.7.8", 80, "10.42.0.9")
    await proxy.start(new AbortController().signal)
    expect(on.written).toContain("10.43.7.8")
    on.written = ""
    // when
    await client.patch(Service, BAD, { type: "merge", body: { spec: { ports: [{ port: REFUSED, protocol: "TCP" }] } } })
    await web.cluster.advance("2s")
    // then the others are there, and it is not
    expect(on.written).toContain("10.43.7.7")
    expect(on.written).toContain("10.43.8.40")
    expect(on.written).not.toContain("10.43.7.8")
    expect(proxy.problem?.()).toBeUndefined()
    expect(on.trials).toBeLessThan(6)
  },
)
