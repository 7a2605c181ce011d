import { expect, test } from "bun:test"
import { startServer } from "../harness/server.ts"

/** More than fit on the stack as arguments of one call, and about what fits into a request. */
const WRONG = Array.from({ length: 900_000 }, () => "")

// In a server of its own: such a list leaves a process with a gigabyte of heap, in which Bun's hooks of tests are slow.
test("900,000 wrong names are refused as invalid, as one is", async () => {
  // given
  await using server = await startServer()
  const term = { topologyKey: "zone", namespaces: WRONG, labelSelector: {} }
  const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
  const labels = { app: "a" }
  // when
  const { status, body } = await server.send("POST", "/apis/apps/v1/namespaces/default/deployments", {
    metadata: { name: "a" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { affinity, containers: [{ name: "a", image: "a" }] } },
    },
  })
  // then
  expect([status, (JSON.parse(body.toString()) as { reason: string }).reason]).toEqual([422, "Invalid"])
}, 60_000)
