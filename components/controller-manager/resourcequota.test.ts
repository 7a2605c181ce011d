import { expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { ResourceQuota } from "../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

test("a quota's status shows the usage of its namespace", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  const namespace = "team"
  await client.create(Namespace, { metadata: { name: namespace } })
  await client.create(ResourceQuota, {
    metadata: { name: "all", namespace },
    spec: {
      hard: {
        pods: "5",
        "requests.cpu": "2",
        "limits.memory": "1Gi",
        services: "3",
        "services.nodeports": "2",
        "count/configmaps": "10",
        "count/deployments.apps": "1",
      },
    },
  })
  await client.create(ResourceQuota, {
    metadata: { name: "small", namespace },
    spec: { hard: { pods: "9" }, scopes: ["BestEffort"] },
  })
  await cluster.settle()
  const used = async (name: string): Promise<unknown> =>
    (await client.get(ResourceQuota, { name, namespace })).status.used
  // the namespace comes with its root CA
  expect(await used("all")).toEqual({
    pods: "0",
    "requests.cpu": "0",
    "limits.memory": "0",
    services: "0",
    "services.nodeports": "0",
    "count/configmaps": "1",
    "count/deployments.apps": "0",
  })
  // when
  const pod = {
    metadata: { name: "one", namespace },
    spec: {
      containers: [
        {
          name: "main",
          image: "busybox",
          resources: { requests: { cpu: "300m" }, limits: { cpu: "300m", memory: "64Mi" } },
        },
      ],
    },
  }
  await client.create(Pod, pod)
  await client.create(Pod, { ...pod, metadata: { name: "two", namespace } })
  await client.create(Service, {
    metadata: { name: "web", namespace },
    spec: { type: "NodePort", ports: [{ port: 80 }] },
  })
  await client.create(ConfigMap, { metadata: { name: "more", namespace } })
  await cluster.settle()
  // then
  expect(await used("all")).toEqual({
    pods: "2",
    "requests.cpu": "600m",
    "limits.memory": "128Mi",
    services: "1",
    "services.nodeports": "1",
    "count/configmaps": "2",
    "count/deployments.apps": "0",
  })
  expect(await used("small")).toEqual({ pods: "0" })
  // when one pod ends and the Service goes
  await client.patch(
    Pod,
    { name: "one", namespace },
    { type: "merge", body: { status: { phase: "Succeeded" } } },
    { subresource: "status" },
  )
  await client.delete(Service, { name: "web", namespace })
  await cluster.settle()
  // then
  expect(await used("all")).toMatchObject({
    pods: "1",
    "requests.cpu": "300m",
    services: "0",
    "services.nodeports": "0",
  })
})
