import { expect, test } from "bun:test"
import { nodeNameProblem } from "./node-names.ts"

test.each([
  ["node-1", undefined],
  ["ip-10-0-0-1.ec2.internal", undefined],
  ["svc", "domain svc"],
  ["svc-1", undefined],
  ["cluster.local", "domain cluster.local"],
  ["web.shop.svc.cluster.local", "domain cluster.local"],
  ["mycluster.local", undefined],
  ["kubernetes.default.svc", "domain svc"],
  ["kubernetes", "belongs to the API server"],
  ["localhost", "domain localhost"],
  ["a.localhost", "domain localhost"],
  ["10.43.0.1", "an address"],
  ["1", "an address"],
  ["a.1", "an address"],
  ["1.0.43.10.in-addr.arpa", "domain arpa"],
  ["Web", "not a node name"],
])("a machine that is to join as %s: %p", (name, problem) => {
  const found = nodeNameProblem(name, "cluster.local")
  if (problem === undefined) expect(found).toBeUndefined()
  else expect(found).toContain(problem)
})
