import { expect, test } from "bun:test"
import { Deployment } from "../../pkg/api/apps/v1/deployment.ts"
import { failure, start } from "./api-core.fixtures.ts"

/** More than fit on the stack as arguments of one call, and about what fits into a request. */
const WRONG = Array.from({ length: 900_000 }, () => "")
const metadata = { name: "a", namespace: "default" }
const term = { topologyKey: "zone", namespaces: WRONG, labelSelector: {} }
const deployment = (more: object) => {
  const labels = { app: "a" }
  const spec = { containers: [{ name: "a", image: "a" }], ...more }
  return { metadata, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } } }
}

test("900,000 wrong names are refused as invalid, as one is", async () => {
  await using cluster = await start()
  const object = deployment({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } })
  const { reason, code } = await failure(cluster.client.create(Deployment, object as never))
  expect([reason, code]).toEqual(["Invalid", 422])
}, 60_000)
