import { expect, test } from "bun:test"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"

const namespace = "default"
const TYPE = "kubernetes.io/service-account-token"
const NAME = "kubernetes.io/service-account.name"
const UID = "kubernetes.io/service-account.uid"

/** Creates a Secret for a service account, and returns it after the controller has reconciled it. */
async function token(cluster: Cluster, name: string, account: string, annotations: object = {}) {
  await cluster.client.create(Secret, {
    metadata: { name, namespace, annotations: { [NAME]: account, ...annotations } },
    type: TYPE,
  })
  await cluster.settle()
  return find(cluster, name)
}
const find = async (cluster: Cluster, name: string) =>
  (await cluster.client.list(Secret, { namespace, fieldSelector: `metadata.name=${name}` })).items[0]
const claimsOf = (secret: Secret | undefined): unknown => {
  const [, payload = ""] = Buffer.from(secret?.data?.["token"] ?? "", "base64")
    .toString()
    .split(".")
  return JSON.parse(Buffer.from(payload, "base64url").toString())
}

test("a Secret for a service account gets the token, the CA certificate and the namespace", async () => {
  // given
  await using cluster = await startCluster()
  const { metadata } = await cluster.client.create(ServiceAccount, { metadata: { name: "builder", namespace } })

  // when
  const secret = await token(cluster, "t", "builder")

  // then
  expect(secret?.metadata.annotations).toMatchObject({ [NAME]: "builder", [UID]: metadata.uid })
  expect(Object.keys(secret?.data ?? {}).toSorted()).toEqual(["ca.crt", "namespace", "token"])
  expect(Buffer.from(secret?.data?.["namespace"] ?? "", "base64").toString()).toBe(namespace)
  expect(Buffer.from(secret?.data?.["ca.crt"] ?? "", "base64").toString()).toStartWith("-----BEGIN CERTIFICATE-----")
  expect(claimsOf(secret)).toEqual({
    iss: "kubernetes/serviceaccount",
    "kubernetes.io/serviceaccount/namespace": namespace,
    "kubernetes.io/serviceaccount/secret.name": "t",
    "kubernetes.io/serviceaccount/service-account.name": "builder",
    "kubernetes.io/serviceaccount/service-account.uid": metadata.uid,
    sub: "system:serviceaccount:default:builder",
  })
})

test("data that is removed from the Secret is added again, and other data stays", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  await client.create(ServiceAccount, { metadata: { name: "builder", namespace } })
  const before = await token(cluster, "t", "builder")

  // when
  const data = { token: null, "ca.crt": "eA==", mine: "eQ==" }
  await client.patch(Secret, { name: "t", namespace }, { type: "merge", body: { data } })
  await cluster.settle()

  // then
  expect((await find(cluster, "t"))?.data).toEqual({ ...before?.data, mine: "eQ==" })
})

test("a Secret is deleted with its service account, and when it names another account or none", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  for (const name of ["builder", "other"]) await client.create(ServiceAccount, { metadata: { name, namespace } })
  expect(await token(cluster, "t", "builder")).toBeDefined()
  expect(await token(cluster, "kept", "other")).toBeDefined()

  // when
  await client.delete(ServiceAccount, { name: "builder", namespace })
  await cluster.settle()

  // then
  expect(await find(cluster, "t")).toBeUndefined()
  expect(await find(cluster, "kept")).toBeDefined()
  expect(await token(cluster, "nobody", "builder")).toBeUndefined()
  expect(await token(cluster, "stranger", "other", { [UID]: "of another account" })).toBeUndefined()
})

test("a service account loses the reference to a deleted Secret", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  const secrets = [{ name: "t" }, { name: "u" }]
  await client.create(ServiceAccount, { metadata: { name: "builder", namespace }, secrets })
  await token(cluster, "t", "builder")

  // when
  await client.delete(Secret, { name: "t", namespace })
  await cluster.settle()

  // then
  expect((await client.get(ServiceAccount, { name: "builder", namespace })).secrets).toEqual([{ name: "u" }])
})
