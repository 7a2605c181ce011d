import { expect, test } from "bun:test"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import { startCluster } from "../cluster/testing/testing.ts"

const service = (name: string, clusterIP?: string) => ({
  metadata: { name, namespace: "default" },
  spec: { ports: [{ port: 80 }], ...(clusterIP === undefined ? {} : { clusterIP }) },
})
const cidr = (name: string, range: string) => ({ metadata: { name }, spec: { cidrs: [range] } })
const ready = ({ status }: ServiceCIDR) =>
  status.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`.trim())

/** Starts a cluster with a ServiceCIDR `more`, and a Service `a` that has an address of it. */
async function withServiceInRange() {
  const cluster = await startCluster()
  await cluster.client.create(ServiceCIDR, cidr("more", "10.99.0.0/24"))
  await cluster.settle()
  await cluster.client.create(Service, service("a", "10.99.0.7"))
  return cluster
}

test("a ServiceCIDR becomes Ready, and addresses are allocated from it then", async () => {
  // given
  await using cluster = await startCluster()
  const { client } = cluster
  // when
  await client.create(ServiceCIDR, cidr("more", "10.99.0.0/24"))
  await cluster.settle()
  // then
  const made = await client.get(ServiceCIDR, { name: "more" })
  expect([made.metadata.finalizers, ready(made)]).toEqual([
    ["networking.k8s.io/service-cidr-finalizer"],
    ["Ready=True"],
  ])
  expect((await client.create(Service, service("a", "10.99.0.7"))).spec.clusterIP).toBe("10.99.0.7")
  expect(ready(await client.get(ServiceCIDR, { name: "kubernetes" }))).toEqual(["Ready=True"])
})

test("a ServiceCIDR that is deleted stays until no Service has an address of it", async () => {
  // given a Service in a range of its own
  await using cluster = await withServiceInRange()
  const { client } = cluster
  // when the range is deleted
  await client.delete(ServiceCIDR, { name: "more" })
  await cluster.advance("1m")
  // then it says what it waits for
  expect(ready(await client.get(ServiceCIDR, { name: "more" }))).toEqual(["Ready=False Terminating"])
  // and when the Service goes
  await client.delete(Service, { namespace: "default", name: "a" })
  await cluster.settle()
  // then so does the range
  expect((await client.list(ServiceCIDR)).items.map(({ metadata }) => metadata.name)).toEqual(["kubernetes"])
})

test("a ServiceCIDR with addresses in use is deleted once a wider one contains them", async () => {
  // given
  await using cluster = await withServiceInRange()
  const { client } = cluster
  await client.delete(ServiceCIDR, { name: "more" })
  await cluster.advance("1m")
  // when
  await client.create(ServiceCIDR, cidr("wider", "10.99.0.0/16"))
  await cluster.settle()
  // then
  expect((await client.list(ServiceCIDR)).items.map(({ metadata }) => metadata.name)).toEqual(["kubernetes", "wider"])
})

test("the default ServiceCIDR is not removed when it is deleted", async () => {
  await using cluster = await startCluster()
  await cluster.client.delete(ServiceCIDR, { name: "kubernetes" })
  await cluster.advance("1m")
  expect(ready(await cluster.client.get(ServiceCIDR, { name: "kubernetes" }))).toEqual(["Ready=False Terminating"])
})
