import { expect, test } from "bun:test"
import { secretOfToken } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { Secret } from "../../pkg/api/core/v1/secret/secret.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

test("bootstrap tokens are deleted when they expire, and no other Secrets", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  const expires = cluster.now.getTime() + 60_000
  const token = { secret: "0123456789abcdef", usages: ["authentication"], groups: [] } as const
  const short = secretOfToken({ ...token, id: "short0", expires })
  const forever = secretOfToken({ ...token, id: "always" })
  const broken = secretOfToken({ ...token, id: "broken" })
  await client.create(Secret, short)
  await client.create(Secret, forever)
  await client.create(Secret, { ...broken, data: { ...broken.data, expiration: btoa("tomorrow") } })
  await client.create(Secret, { ...short, metadata: { name: "other", namespace: "kube-system" }, type: "Opaque" })
  const names = async () =>
    (await client.list(Secret, { namespace: "kube-system" })).items.map(({ metadata }) => metadata.name)
  // when
  await cluster.advance(59_000)
  // then
  expect(await names()).toEqual(["bootstrap-token-always", "bootstrap-token-short0", "other"])
  // when
  await cluster.advance(2000)
  // then
  expect(await names()).toEqual(["bootstrap-token-always", "other"])
})
