import { expect, test } from "bun:test"
import { RuntimeClass } from "../../../pkg/api/node/v1/runtimeclass.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

test("the containers of a pod are started again though its RuntimeClass was deleted", async () => {
  // given a pod of a RuntimeClass, whose container runs for a minute
  await using node = await simulatedKubelet({ web: { runsMs: 60_000 } })
  await node.cluster.client.create(RuntimeClass, { metadata: { name: "own" }, handler: "own" })
  await node.create("web", { runtimeClassName: "own", containers: [{ name: "c", image: "web" }] })
  expect(node.status("web").phase).toBe("Running")
  // when
  await node.cluster.delete(RuntimeClass, "own")
  await node.cluster.advance(90_000)
  // then
  expect(node.status("web").containerStatuses![0]).toMatchObject({ restartCount: 1, state: { running: {} } })
})
