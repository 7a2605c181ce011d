/** An Ingress, a Gateway or a route that fails is left out alone. */
import { expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { silent } from "../../pkg/log/log.ts"
import { PAGE_BYTES } from "../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED, type QuarantineRecord } from "../../pkg/quarantine/record.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { Alone } from "./alone.ts"
import { gateway, http, listener, to, worldOf } from "./gateway/translate.fixtures.ts"
import type { AnyRoute } from "./gateway/watching/objects.ts"
import { ingressOf, rule } from "./ingress.fixtures.ts"
import { IngressCompiler, type Compiled } from "./routing/compile.ts"
import { serviceOf } from "./routing/target.ts"

async function stage(record: Partial<QuarantineRecord> = {}) {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const context = cluster.contextFor("test:ingress", ["system:masters"])
  const { clock } = context
  const page = new Uint8Array(PAGE_BYTES)
  const before = { ...NOTHING_RECORDED, ...record }
  const quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock, log: silent })
  let turns = 0
  const alone = new Alone({ ...context, quarantine }, () => void turns++)
  return {
    cluster,
    alone,
    quarantine,
    turns: () => turns,
    events: async () =>
      (await cluster.client.list(Event)).items.map(({ involvedObject, reason, count }) =>
        [involvedObject.name, reason, count].join(" "),
      ),
    async [Symbol.asyncDispose]() {
      await alone.stop()
      quarantine.end()
      await cluster.stop()
    },
  }
}

/** Makes an object of which a part cannot be read. */
const poisoned = <T extends { readonly spec: object }>(object: T, field: string): T => ({
  ...object,
  spec: Object.defineProperty({ ...object.spec }, field, {
    enumerable: true,
    get() {
      throw new TypeError("poison")
    },
  }),
})
const served = (compiled: Compiled, host: string) => serviceOf(compiled.table.find(host, "/")?.target.backends[0])

test("an Ingress that fails keeps no other from its routes, keeps its hosts from other namespaces, and is tried again", async () => {
  // given
  await using on = await stage()
  const { client } = on.cluster
  const good = await client.create(Ingress, ingressOf("good", { rules: [rule("good.example", "good")] }))
  const sound = await client.create(Ingress, ingressOf("bad", { rules: [rule("bad.example", "bad")] }))
  const bad = poisoned(sound, "defaultBackend")
  const thief = {
    ...good,
    metadata: { ...good.metadata, namespace: "other", creationTimestamp: "2999-01-01T00:00:00Z" },
  }
  const stolen = { ...thief, spec: { rules: [rule("bad.example", "evil")] } } as Ingress
  const compiler = new IngressCompiler(on.alone)
  // when
  const compiled = compiler.compile([good, bad, stolen])
  // then
  expect(served(compiled, "good.example")).toBe("good")
  expect(compiled.table.find("bad.example", "/")).toBeUndefined()
  await on.cluster.settle()
  expect(await on.events()).toEqual(["bad SyncFailed 1"])
  expect(on.turns()).toBe(0)
  await on.cluster.advance("1s")
  expect(on.turns()).toBe(1)
  // and one that was served keeps its routes
  expect(served(compiler.compile([good, sound, stolen]), "bad.example")).toBe("bad")
  expect(served(compiler.compile([good, bad, stolen]), "bad.example")).toBe("bad")
})

test("an Ingress that is set aside is left out, with an Event, and has its turn when it is freed", async () => {
  // given
  const item = { place: "ingress", key: "Ingress/default/bad", since: "2026-01-01T00:00:00Z", why: "w" }
  await using on = await stage({ setAside: [item] })
  const bad = await on.cluster.client.create(Ingress, ingressOf("bad", { rules: [rule("bad.example", "bad")] }))
  const compiler = new IngressCompiler(on.alone)
  expect(compiler.compile([bad]).table.find("bad.example", "/")).toBeUndefined()
  await on.cluster.settle()
  expect(await on.events()).toEqual(["bad SetAside 1"])
  // when
  on.quarantine.reread(NOTHING_RECORDED)
  // then
  expect(on.turns()).toBe(1)
  expect(served(compiler.compile([bad]), "bad.example")).toBe("bad")
})

test("a Gateway or a route that fails keeps no other from being served", async () => {
  // given
  await using on = await stage()
  const fine = gateway("fine", [listener()])
  const broken = poisoned(gateway("broken", [listener({ port: 81 })]), "listeners")
  const good = http("good", [{ name: "fine" }], { rules: [{ backendRefs: [to("one")] }], hostnames: ["good.example"] })
  const bad = http("bad", [{ name: "fine" }], { rules: [{ backendRefs: [to("two")] }], hostnames: ["bad.example"] })
  const poison = { ...bad, route: poisoned<{ readonly spec: object }>(bad.route, "rules") } as AnyRoute
  // when
  const world = worldOf({ gateways: [broken, fine], routes: [poison, good], alone: on.alone })
  // then
  expect(world.ask({ host: "good.example" })).toBe("one")
  expect(world.ask({ host: "bad.example" })).toBe(404)
  expect(world.gateway("fine")[0]).toBe("Accepted True Accepted")
})
