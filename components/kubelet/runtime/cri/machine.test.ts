import { expect, test } from "bun:test"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { startCluster } from "../../../cluster/testing/cluster.ts"
import { hostMachine } from "./machine.ts"

test("the reported facts about this machine make a valid Node, with swap or without", async () => {
  await using cluster = await startCluster()
  const { info } = hostMachine()
  const node = await cluster.client.create(Node, {
    metadata: { name: "here" },
    status: {
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: { ...info, containerRuntimeVersion: "", kubeletVersion: "", kubeProxyVersion: "" },
    },
  })
  expect(node.status.nodeInfo.kernelVersion).not.toBe("")
})
