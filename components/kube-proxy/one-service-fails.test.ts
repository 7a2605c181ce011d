/** A Service that kube-proxy cannot work on is left out alone. */
import { expect, test } from "bun:test"
import { Event } from "../../pkg/api/events/v1/event.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { silent } from "../../pkg/log/log.ts"
import { PAGE_BYTES } from "../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED } from "../../pkg/quarantine/record.ts"
import { withService } from "./proxier.fixtures.ts"
import { PROXY_MODES } from "./rule-writer.ts"

const BAD = { namespace: "default", name: "bad" }
const KEY = "default/bad"

/** Whether endpoints of `bad` throw when somebody looks them up. */
let fails = true
/** Makes the seam throw for one Service. */
const throwing = (context: ComponentContext): ComponentContext => ({
  ...context,
  informers: new Proxy(context.informers, {
    get(informers, name) {
      if (name !== "of") return Reflect.get(informers, name) as unknown
      return (resource: Resource) => {
        const informer = informers.of(resource)
        if (resource.kind !== "EndpointSlice") return informer
        return new Proxy(informer, {
          get(of, member) {
            const value = Reflect.get(of, member) as unknown
            if (typeof value !== "function") return value
            return (...args: readonly unknown[]) => {
              if (fails && member === "by" && args[1] === KEY) throw new TypeError("poison")
              return Reflect.apply(value, of, args) as unknown
            }
          },
        })
      }
    },
  }),
})

/** A proxy of a Service `web` and a Service `bad`, on a machine that only remembers what it is told. */
async function stage(mode: (typeof PROXY_MODES)[number], changed: (context: ComponentContext) => ComponentContext) {
  const web = await withService("TCP", { changed })
  await web.cluster.client.create(Service, { metadata: BAD, spec: { clusterIP: "10.43.7.8", ports: [{ port: 80 }] } })
  await web.cluster.client.create(EndpointSlice, {
    metadata: { ...BAD, labels: { "kubernetes.io/service-name": "bad" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.42.0.9"] }],
    ports: [{ port: 8080, protocol: "TCP" }],
  })
  let written = ""
  const proxy = web.proxy(
    {
      run: async (_command, args) => (args.includes("--version") ? "nftables v1.0.9" : ""),
      feed: async (_command, _args, input) => void (written += input),
    },
    mode,
  )
  await proxy.start(new AbortController().signal)
  return {
    web,
    proxy,
    written: () => written,
    events: async () =>
      (await web.cluster.client.list(Event)).items
        .filter(({ regarding }) => regarding?.name === "bad")
        .map(({ reason, action, series }) => [reason, action, series]),
  }
}

test.each(PROXY_MODES)(
  "a Service whose rules cannot be made keeps no other Service from its rules, and is tried again: %s",
  async (mode) => {
    // given
    fails = true
    const { web, proxy, written, events } = await stage(mode, throwing)
    await using _ = web
    // then
    expect(written()).toContain("10.43.7.7")
    expect(written()).not.toContain("10.43.7.8")
    expect(proxy.problem?.()).toBeUndefined()
    await web.point("10.42.0.6")
    await web.cluster.advance("3s")
    expect(written()).toContain("10.42.0.6")
    expect(await events()).toEqual([["SyncFailed", "Sync", undefined]])
    // when the cause is gone, without a change of the Service
    fails = false
    await web.cluster.advance("4s")
    // then
    expect(written()).toContain("10.43.7.8")
    expect(written()).toContain("10.42.0.9")
  },
)

test("a Service that fails after it was served keeps its rules, and gets its changes when it fails no more", async () => {
  // given
  fails = false
  const { web, written } = await stage("nftables", throwing)
  await using _ = web
  expect(written()).toContain("10.42.0.9")
  // when
  fails = true
  await web.cluster.client.patch(EndpointSlice, BAD, {
    type: "merge",
    body: { endpoints: [{ addresses: ["10.42.0.10"] }] },
  })
  await web.cluster.advance("1s")
  const before = written()
  fails = false
  await web.cluster.advance("4s")
  // then
  expect(before).not.toContain("10.42.0.10")
  expect(before).not.toMatch(/delete element .*10\.43\.7\.8/)
  expect(written()).toContain("10.42.0.10")
})

test("a Service that is set aside is not served, with an Event, until it is edited or freed", async () => {
  // given
  fails = false
  const before = {
    ...NOTHING_RECORDED,
    setAside: [{ place: "kube-proxy", key: KEY, since: "2026-01-01T00:00:00Z", why: "w" }],
  }
  let quarantine: Quarantine | undefined
  const withQuarantine = (context: ComponentContext): ComponentContext => {
    const page = new Uint8Array(PAGE_BYTES)
    quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock: context.clock, log: silent })
    return { ...context, quarantine }
  }
  const { web, written, events } = await stage("nftables", withQuarantine)
  await using _ = web
  expect(written()).toContain("10.43.7.7")
  expect(written()).not.toContain("10.43.7.8")
  await web.cluster.settle()
  expect(await events()).toEqual([["SetAside", "Sync", undefined]])
  // when
  quarantine!.reread(NOTHING_RECORDED)
  await web.cluster.settle()
  // then
  expect(written()).toContain("10.43.7.8")
  quarantine!.end()
})
