import { expect, test } from "bun:test"
import type { RestClient } from "../rest/rest-client.ts"
import type { RestMapping } from "../rest/rest-mapper.ts"
import { Helper } from "./helper.ts"

const PODS = { resource: { group: "", version: "v1", resource: "pods" }, scope: "Namespaced" } as unknown as RestMapping

test("items of a list have the kind of the list, where the server leaves it out", async () => {
  // given the answer of a kube-apiserver
  const list = {
    kind: "PodList",
    apiVersion: "v1",
    metadata: { resourceVersion: "7" },
    items: [{ metadata: { name: "p" } }],
  }
  const client = { object: () => Promise.resolve(list) } as unknown as RestClient
  // when, then
  expect(await new Helper(client, PODS).list("n")).toEqual({
    ...list,
    items: [{ kind: "Pod", apiVersion: "v1", metadata: { name: "p" } }],
  })
})
