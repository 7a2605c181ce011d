/** A Service whose records cannot be worked out has no names, and all others have theirs. */
import { expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { silent } from "../../pkg/log/log.ts"
import { PAGE_BYTES } from "../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED } from "../../pkg/quarantine/record.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { shown, startDns } from "./dns.fixtures.ts"

const [GOOD, BAD] = ["good.default.svc.cluster.local", "bad.default.svc.cluster.local"]

async function stage(changed: (context: ComponentContext) => ComponentContext) {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  for (const [i, name] of ["good", "bad"].entries())
    await cluster.client.create(Service, {
      metadata: { name, namespace: "default" },
      spec: { clusterIP: `10.43.0.8${i}`, ports: [{ port: 80 }] },
    })
  const dns = await startDns(cluster, {}, changed)
  return {
    cluster,
    ask: async (name: string) => {
      const { rcode, answers } = await dns.ask(name, "A")
      return [rcode, ...shown(answers)]
    },
    async [Symbol.asyncDispose]() {
      await dns.stop()
      await cluster.stop()
    },
  }
}

/** Makes the look-up of one Service throw. */
const throwing = (context: ComponentContext): ComponentContext => ({
  ...context,
  informers: new Proxy(context.informers, {
    get(informers, name) {
      if (name !== "of") return Reflect.get(informers, name) as unknown
      return (resource: Resource) => {
        const informer = informers.of(resource)
        if (resource.kind !== "Service") return informer
        return new Proxy(informer, {
          get(of, member) {
            const value = Reflect.get(of, member) as unknown
            if (typeof value !== "function") return value
            return (...args: readonly unknown[]) => {
              if (member === "get" && args[0] === "default/bad") throw new TypeError("poison")
              return Reflect.apply(value, of, args) as unknown
            }
          },
        })
      }
    },
  }),
})

test("a query that fails gets SERVFAIL at once, and others their answers", async () => {
  await using on = await stage(throwing)
  expect(await on.ask(BAD)).toEqual(["SERVFAIL"])
  expect(await on.ask(GOOD)).toEqual(["NOERROR", `A ${GOOD} 10.43.0.80`])
})

test("the names of a Service that is set aside get SERVFAIL, with one Event, until it is freed", async () => {
  // given
  const item = { place: "dns", key: "default/bad", since: "2026-01-01T00:00:00Z", why: "w" }
  const before = { ...NOTHING_RECORDED, setAside: [item] }
  let quarantine: Quarantine | undefined
  await using on = await stage((context) => {
    const page = new Uint8Array(PAGE_BYTES)
    quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock: context.clock, log: silent })
    return { ...context, quarantine }
  })
  expect(await on.ask(BAD)).toEqual(["SERVFAIL"])
  expect(await on.ask(BAD)).toEqual(["SERVFAIL"])
  expect(await on.ask(GOOD)).toEqual(["NOERROR", `A ${GOOD} 10.43.0.80`])
  await on.cluster.settle()
  const events = (await on.cluster.client.list(Event)).items.filter(({ reason }) => reason === "SetAside")
  expect(events.map(({ involvedObject, count }) => [involvedObject.name, count])).toEqual([["bad", 1]])
  // when
  quarantine!.reread(NOTHING_RECORDED)
  // then
  expect(await on.ask(BAD)).toEqual(["NOERROR", `A ${BAD} 10.43.0.81`])
  quarantine!.end()
})
