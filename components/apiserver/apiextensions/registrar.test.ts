import { expect, test } from "bun:test"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { PAGE_BYTES } from "../../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED } from "../../../pkg/quarantine/record.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { Registrar } from "./registrar.ts"

const define = (plural: string) => {
  const kind = plural[0]!.toUpperCase() + plural.slice(1)
  const schema = { openAPIV3Schema: { type: "object" } }
  const names = { plural, singular: plural, kind, listKind: `${kind}List` }
  const object = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com`, uid: plural },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names,
      versions: [{ name: "v1", served: true, storage: true, schema }],
      conversion: { strategy: "Webhook" },
    },
    status: {
      acceptedNames: names,
      storedVersions: ["v1"],
      conditions: ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" })),
    },
  }
  const key = `/registry/apiextensions.k8s.io/customresourcedefinitions/${plural}.example.com`
  return { key, object, expected: undefined, time: 0, author: "x" }
}

test("a definition that cannot be served keeps no other from being served, at a start and later", async () => {
  // given stored definitions, of which some meet a mistake
  const clock = new VirtualClock(0)
  const storage = new MemoryStorage({ clock, frozen: true })
  let isMended = false
  const told: string[] = []
  await storage.writeAll(["bad", "good"].map(define))
  const scheme = builtinScheme()
  // when the server starts
  const registrar = new Registrar({
    storage,
    scheme,
    clock,
    log: silent,
    converterOf({ metadata: { name = "" } }) {
      if (!isMended && /^(?:bad|broken)/.test(name)) throw new TypeError("a mistake about one definition")
      return (objects) => Promise.resolve(objects)
    },
    changed: () => undefined,
    leftOut: (definition, reason) => void told.push(`${definition?.metadata.name} ${reason}`),
  })
  const isServed = (plural: string) => scheme.resource("example.com", "v1", plural) !== undefined
  // then
  expect(["bad", "good"].map(isServed)).toEqual([false, true])
  // when others come in one commit
  await storage.writeAll(["broken", "fine"].map(define))
  // then
  expect(["broken", "fine"].map(isServed)).toEqual([false, true])
  expect(told).toEqual(["bad.example.com SyncFailed", "broken.example.com SyncFailed"])
  // and when the cause is gone, they are served without a change
  isMended = true
  await clock.advance(2000)
  expect(["bad", "broken"].map(isServed)).toEqual([true, true])
  registrar.close()
})

test.each(["apiextensions", "custom-objects"])(
  "a definition that %s has set aside is not served until it is freed, and all others are",
  async (place) => {
    // given
    const clock = new VirtualClock(0)
    const storage = new MemoryStorage({ clock, frozen: true })
    await storage.writeAll(["bad", "good"].map(define))
    const scheme = builtinScheme()
    const item = { place, key: "bad.example.com", since: "2026-01-01T00:00:00Z", why: "w" }
    const page = new Uint8Array(PAGE_BYTES)
    const before = { ...NOTHING_RECORDED, setAside: [item] }
    const quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock, log: silent })
    const told: string[] = []
    // when
    const registrar = new Registrar({
      storage,
      scheme,
      clock,
      log: silent,
      quarantine,
      converterOf: () => (objects) => Promise.resolve(objects),
      changed: () => undefined,
      leftOut: (definition, reason) => void told.push(`${definition?.metadata.name} ${reason}`),
    })
    const isServed = (plural: string) => scheme.resource("example.com", "v1", plural) !== undefined
    expect(["bad", "good"].map(isServed)).toEqual([false, true])
    expect(told).toEqual(["bad.example.com SetAside"])
    quarantine.reread(NOTHING_RECORDED)
    // then
    expect(["bad", "good"].map(isServed)).toEqual([true, true])
    registrar.close()
    quarantine.end()
  },
)
