import { describe, expect, test } from "bun:test"
import { ControllerRevision } from "../../../pkg/api/apps/v1/controllerrevision.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { startCluster } from "../../cluster/testing/testing.ts"

const start = () => startCluster({ components: { controllers: false, scheduler: false } })
const POD = { metadata: { name: "web", namespace: "default" }, spec: { containers: [{ name: "c", image: "i" }] } }
const withMessage = (length: number) => ({
  conditions: [{ type: "Large", status: "True" as const, message: "x".repeat(length) }],
})
const REFUSAL = { code: 500, message: "etcdserver: request is too large" }

describe("an object of more than 1.5 MiB", () => {
  test("is refused with etcd's message, whichever kind of request writes it", async () => {
    await using cluster = await start()
    const { client } = cluster
    const data = (length: number) => ({ text: "x".repeat(length) })
    const revision = { metadata: { name: "r", namespace: "default" }, revision: 1 }
    await client.create(ServiceAccount, { metadata: { name: "default", namespace: "default" } })
    const pod = await client.create(Pod, POD)

    await expect(client.create(ControllerRevision, { ...revision, data: data(1_600_000) })).rejects.toMatchObject(
      REFUSAL,
    )
    await expect(
      client.updateStatus(Pod, { ...pod, status: { ...pod.status, ...withMessage(1_600_000) } }),
    ).rejects.toMatchObject(REFUSAL)
    await expect(
      client.patch(
        Pod,
        POD.metadata,
        { type: "merge", body: { status: withMessage(1_600_000) } },
        { subresource: "status" },
      ),
    ).rejects.toMatchObject(REFUSAL)
    // Nothing of it was stored.
    expect(deepEqual(await client.get(Pod, POD.metadata), pod)).toBe(true)
    // What is just small enough is taken.
    await client.create(ControllerRevision, { ...revision, data: data(1_500_000) })
    await client.updateStatus(Pod, { ...pod, status: { ...pod.status, ...withMessage(1_500_000) } })
  })

  test("is measured in the encoding in which upstream stores it", async () => {
    await using cluster = await start()
    const { client } = cluster
    const metadata = { name: "large", namespace: "default" }
    // Twice as large in JSON, which escapes each of them.
    await client.create(ConfigMap, { metadata, data: { lines: "\n".repeat(1_048_000) } })
    // A third larger in JSON, which has it in base64.
    const annotations = { note: "x".repeat(262_000) }
    await client.create(Secret, {
      metadata: { ...metadata, annotations },
      data: { key: Buffer.alloc(1_048_000).toString("base64") },
    })
  })
})
