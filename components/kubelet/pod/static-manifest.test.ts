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

  test("has the booleans and numbers of YAML 1.1, and of two equal keys the last counts", () => {
    const spec = "  hostNetwork: no\n  hostNetwork: yes\n  terminationGracePeriodSeconds: 010\n"
    const [found] = read(
      `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n${spec}  containers: [{name: c, image: i}]`,
    )
    expect(found!.spec).toMatchObject({ hostNetwork: true, terminationGracePeriodSeconds: 8 })
  })

  const faults = [
    { what: "a map that is not closed", text: "kind: Pod\nmetadata: {name: a", why: "line 2, column 19: did not find" },
    {
      what: "text that ends too early",
      text: "apiVersion: v1\nkind: Pod\nmetadata: {name: a\nspec:\n  containers: [{name: c, image: i}]\n",
      why: "line 4, column 5: did not find expected ',' or '}'",
    },
    {
      what: "a fault behind a good document",
      text: `${pod({})}\n---\nkind: [`,
      why: "line 3, column 8: did not find expected node content",
    },
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
