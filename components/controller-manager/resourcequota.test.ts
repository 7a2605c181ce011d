import { expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { PersistentVolumeClaim } from "../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
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

test.each<[entry: string, used: string]>([
  ["services.nodeports", "1"],
  ["count/persistentvolumeclaims", "1"],
  ["persistentvolumeclaims", "1"],
  ["requests.storage", "1Gi"],
  ["gold.storageclass.storage.k8s.io/requests.storage", "1Gi"],
  ["cpu", "300m"],
  ["requests.example.com/chips", "2"],
])("an entry %s that stands alone counts its kind", async (entry, used) => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  const namespace = "default"
  await client.create(ResourceQuota, { metadata: { name: "one", namespace }, spec: { hard: { [entry]: "9Gi" } } })
  // when
  const requests = { cpu: "300m", "example.com/chips": "2" }
  await client.create(Pod, {
    metadata: { name: "a", namespace },
    spec: { containers: [{ name: "c", image: "c", resources: { requests, limits: { "example.com/chips": "2" } } }] },
  })
  await client.create(PersistentVolumeClaim, {
    metadata: { name: "a", namespace },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "gold",
      resources: { requests: { storage: "1Gi" } },
    },
  })
  const ports = [{ port: 80 }]
  await client.create(Service, { metadata: { name: "a", namespace }, spec: { type: "NodePort", ports } })
  await cluster.settle()
  // then
  expect((await cluster.get(ResourceQuota, "one")).status.used).toEqual({ [entry]: used })
})

test("a pod that leaves the scope of a quota is counted no more", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  const place = { namespace: "default" }
  await client.create(ResourceQuota, {
    metadata: { name: "long", ...place },
    spec: { hard: { pods: "9" }, scopes: ["NotTerminating"] },
  })
  await client.create(Pod, { metadata: { name: "a", ...place }, spec: { containers: [{ name: "c", image: "c" }] } })
  await cluster.settle()
  const used = async () => (await cluster.get(ResourceQuota, "long")).status.used
  expect(await used()).toEqual({ pods: "1" })
  // when it gets a deadline
  await client.patch(Pod, "a", { type: "merge", body: { spec: { activeDeadlineSeconds: 3600 } } })
  await cluster.settle()
  // then
  expect(await used()).toEqual({ pods: "0" })
})
