import { expect, test } from "bun:test"
import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import { LimitRange } from "../../../../pkg/api/core/v1/limitrange/limitrange.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../../pkg/api/core/v1/serviceaccount.ts"
import { startCluster } from "../../../cluster/testing/testing.ts"

test("an object with a resourceVersion is refused, after all that admission and validation refuse", async () => {
  // given a namespace that limits the CPU of containers
  await using cluster = await startCluster({ components: { controllers: false, scheduler: false } })
  const { client } = cluster
  const metadata = { name: "web", namespace: "default", resourceVersion: "5" }
  await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
  await client.create(LimitRange, {
    metadata: { name: "limits", namespace: "default" },
    spec: { limits: [{ type: "Container", max: { cpu: "1" } }] },
  })
  const container = { name: "c", image: "i", resources: { requests: { cpu: "2" }, limits: { cpu: "2" } } }
  // then admission and validation answer first
  await expect(client.create(Pod, { metadata, spec: { containers: [container] } })).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining("maximum cpu usage per Container is 1, but limit is 2"),
  })
  await expect(client.create(ConfigMap, { metadata: { ...metadata, name: "No" } })).rejects.toMatchObject({ code: 422 })
  // and the store refuses the rest
  await expect(client.create(ConfigMap, { metadata })).rejects.toMatchObject({
    code: 500,
    message: "resourceVersion should not be set on objects to be created",
  })
  expect((await client.list(ConfigMap, { namespace: "default" })).items).toEqual([])
})
