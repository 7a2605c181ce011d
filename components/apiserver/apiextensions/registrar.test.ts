import { expect, test } from "bun:test"
import { builtinScheme } from "../../../pkg/api/scheme.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { Registrar } from "./registrar.ts"

test("a definition that cannot be served keeps no other from being served, at a start and later", async () => {
  // given stored definitions, of which some meet a mistake
  const clock = new VirtualClock(0)
  const storage = new MemoryStorage({ clock, frozen: true })
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
  await storage.writeAll(["bad", "good"].map(define))
  const scheme = builtinScheme()
  // when the server starts
  const registrar = new Registrar({
    storage,
    scheme,
    clock,
    log: silent,
    converterOf({ metadata: { name = "" } }) {
      if (/^(?:bad|broken)/.test(name)) throw new TypeError("a mistake about one definition")
      return (objects) => Promise.resolve(objects)
    },
    changed: () => undefined,
  })
  const isServed = (plural: string) => scheme.resource("example.com", "v1", plural) !== undefined
  // then
  expect(["bad", "good"].map(isServed)).toEqual([false, true])
  // when others come in one commit
  await storage.writeAll(["broken", "fine"].map(define))
  // then
  expect(["broken", "fine"].map(isServed)).toEqual([false, true])
  registrar.close()
})
