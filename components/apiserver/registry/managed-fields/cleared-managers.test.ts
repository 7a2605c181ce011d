import { expect, test } from "bun:test"
import { body, definition, DEFINITIONS } from "../../apiextensions/widgets.fixtures.ts"
import { CONFIGMAPS, json, startHttpServer, type Answer } from "../../serving/http-server.fixtures.ts"

const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true }

const managersIn = (answer: Answer): unknown =>
  (body(answer)["metadata"] as { readonly managedFields?: readonly unknown[] }).managedFields?.length

test("an empty list of managers removes those of a built-in object, and not those of a custom one", async () => {
  // given
  const server = await startHttpServer()
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: OPEN } }
  await server.call("POST", DEFINITIONS, json(definition("opens", "Open", version)))
  const places = [
    { at: CONFIGMAPS, made: { apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } } },
    { at: "/apis/example.com/v1/namespaces/default/opens", made: { apiVersion: "example.com/v1", kind: "Open", a: 1 } },
  ]
  for (const { at, made } of places) {
    // when
    const managedFields: readonly unknown[] = []
    const created = await server.call("POST", at, json({ ...made, metadata: { name: "m", managedFields } }))
    const { resourceVersion } = body(created)["metadata"] as { readonly resourceVersion: string }
    const cleared = { ...made, metadata: { name: "m", resourceVersion, managedFields } }
    const updated = await server.call("PUT", `${at}/m`, json(cleared))
    // then
    const kept = at === CONFIGMAPS ? undefined : 1
    expect([created, updated].map(managersIn)).toEqual([1, kept])
  }
  await server.stop()
})
