import { afterAll, beforeAll, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

/** The paths of requests whose answers were not sent anew, as the log of a run tells. */
const kept = (log: string): readonly string[] =>
  [...log.matchAll(/"Request".*? url="https:\/\/[^/]+(\/[^"?]+)[^\n]*?(?=\n)[^]*?"Response"([^]*?)milliseconds=/g)]
    .filter(([, , response]) => /^\tX-From-Cache: 1$/m.test(response!))
    .map(([, path]) => path!)

test("OpenAPI and discovery are not downloaded again while they have not changed", async () => {
  // given a run that has read the fields of a kind
  const first = await cluster.kubectl("explain configmaps -v=8")
  expect([first.code, kept(first.stderr)]).toEqual([0, []])

  // when another reads them, and then one that creates an object
  const second = await cluster.kubectl("explain configmaps -v=8")
  const create = await cluster.kubectl("create -f cm.yaml -v=8", {
    files: { "cm.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}" },
  })

  // then they say the same, and the server has told only that nothing has changed
  expect(second.stdout).toBe(first.stdout)
  expect(kept(second.stderr)).toEqual(["/openapi/v3", "/openapi/v3/api/v1"])
  expect(kept(create.stderr)).toEqual(["/openapi/v3", "/openapi/v3/api/v1"])
})

test("a kind that has come since the last run is explained", async () => {
  // given a run that has read OpenAPI, and a kind that comes afterwards
  await cluster.kubectl("explain configmaps")
  await cluster.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shirts.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: shirts, singular: shirt, kind: Shirt}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: What one wears}}}
`)

  // when it is there
  await cluster.kubectl("wait --for=condition=Established crd/shirts.stable.example.com")

  // then
  expect((await cluster.kubectl("explain shirts")).stdout).toContain("What one wears")
})
