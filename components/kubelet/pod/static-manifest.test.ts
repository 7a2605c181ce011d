import { describe, expect, test } from "bun:test"
import { staticPodsIn } from "./static-manifest.ts"

const read = (text: string) => staticPodsIn({ path: "/m/web.yaml", text }, "node-0", "2026-01-01T00:00:00Z")
const pod = (spec: object) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web" },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  })

describe("the manifest of static pods", () => {
  test("may have several documents", () => {
    const found = read(`${pod({})}\n---\n# nothing\n---\n${pod({}).replace("web", "db")}`)
    expect(found.map(({ metadata }) => metadata.name)).toEqual(["web-node-0", "db-node-0"])
  })

  const faults = [
    {
      what: "text that ends too early",
      text: "apiVersion: v1\nkind: Pod\nmetadata: {name: a\nspec:\n  containers: [{name: c, image: i}]\n",
      why: "not YAML: line 4, column 1: ",
    },
    { what: "a fault behind a good document", text: `${pod({})}\n---\nkind: [`, why: "not YAML: line 3, column 8: " },
    { what: "an object of another kind", text: "apiVersion: v1\nkind: Secret", why: "cannot be handled as a Pod" },
    { what: "a pod without a name", text: "apiVersion: v1\nkind: Pod\nspec: {}", why: "name is needed for the pod" },
    { what: "a pod that the API would refuse", text: pod({ containers: [] }), why: "spec.containers: Required value" },
    {
      what: "a service account",
      text: pod({ serviceAccountName: "admin" }),
      why: "static pods may not reference serviceaccounts",
    },
    {
      what: "a Secret",
      text: pod({ volumes: [{ name: "v", secret: { secretName: "s" } }] }),
      why: "static pods may not reference secrets",
    },
  ]
  test.each(faults)("is refused as a whole for $what", ({ text, why }) => {
    expect(() => read(text)).toThrow(why)
  })
})
