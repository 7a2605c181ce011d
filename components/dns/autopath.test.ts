import { expect, test } from "bun:test"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Informer } from "../../pkg/client/informer.ts"
import { nextNames } from "./autopath.ts"

const pods = { by: () => [{ metadata: { namespace: "shop" } }] } as unknown as Informer<Pod>
const namesAfter = (name: string) => nextNames(name, "10.42.0.5", { pods, domain: "cluster.local", searches: ["lan"] })

test("the first name of a search list leads to the other ones", () => {
  expect(namesAfter("web.shop.svc.cluster.local")).toEqual([
    "web.svc.cluster.local",
    "web.cluster.local",
    "web.lan",
    "web",
  ])
})

test.each([
  { title: "of another namespace", name: "web.other.svc.cluster.local" },
  { title: "that has a label with a dot", name: "a\\046b.shop.svc.cluster.local" },
])("a name $title leads to no other", ({ name }) => {
  expect(namesAfter(name)).toEqual([])
})
