import { expect, test } from "bun:test"
import { Endpoints } from "../../pkg/api/core/v1/service/endpoints.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { startCluster } from "../cluster/testing/cluster.ts"

const at = (name: string) => ({ name, namespace: "default" })
const outside = (name: string) => ({
  metadata: at(name),
  subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ port: 80 }] }],
})
const ports = [{ port: 80 }]

test("the Endpoints of a Service are deleted with it, whoever created them", async () => {
  // given a Service with a selector, one without, and Endpoints without a Service, such as a lock
  await using cluster = await startCluster()
  const { client } = cluster
  await client.create(Service, { metadata: at("inside"), spec: { selector: { app: "a" }, ports } })
  await client.create(Service, { metadata: at("outside"), spec: { ports } })
  for (const name of ["outside", "lock"]) await client.create(Endpoints, outside(name))
  await cluster.settle()
  expect(await cluster.list(Endpoints, { namespace: "default" })).toHaveLength(4)
  // when
  for (const name of ["inside", "outside"]) await client.delete(Service, at(name))
  await cluster.settle()
  // then
  const left = await cluster.list(Endpoints, { namespace: "default" })
  expect(left.map(({ metadata }) => metadata.name)).toEqual(["kubernetes", "lock"])
})

test("Endpoints for a Service that comes back before its Endpoints are deleted stay", async () => {
  // given a controller that is slow
  await using cluster = await startCluster()
  const { client } = cluster
  await client.create(Service, { metadata: at("outside"), spec: { ports } })
  await client.create(Endpoints, outside("outside"))
  await cluster.settle()
  await using slow = await cluster.faults.crashed("controller-manager")
  await client.delete(Service, at("outside"))
  await client.create(Service, { metadata: at("outside"), spec: { ports } })
  // when
  await slow.end()
  await cluster.settle()
  // then
  expect(await cluster.get(Endpoints, "outside")).toMatchObject({ subsets: outside("outside").subsets })
})

test("a port that all pods have is listed once, also where the numbers of a named port differ", async () => {
  // given pods whose port http has different numbers, and one that has none
  await using cluster = await startCluster({ nodes: 1 })
  const pod = (name: string, ports: readonly object[]) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: "web" } },
    spec: { containers: [{ name: "c", image: "web:1", ports }] },
  })
  await cluster.apply([
    pod("a", [{ name: "http", containerPort: 8080 }]),
    pod("b", [{ name: "http", containerPort: 9090 }]),
    pod("c", []),
  ])
  // when a Service has the named port and one with a number
  const spec = {
    selector: { app: "web" },
    ports: [
      { name: "web", port: 80, targetPort: "http" },
      { name: "metrics", port: 81, targetPort: 9000 },
    ],
  }
  await cluster.apply([{ apiVersion: "v1", kind: "Service", metadata: { name: "web" }, spec }])
  await cluster.settle()
  // then each port is listed with the pods that have it
  const { subsets = [] } = await cluster.get(Endpoints, "web")
  const shown = subsets.map(({ addresses = [], ports = [] }) => [
    ports.map(({ name, port }) => `${name} ${port}`).join(),
    addresses.map(({ targetRef }) => targetRef?.name).join(),
  ])
  expect(shown).toEqual([
    ["metrics 9000", "a,b,c"],
    ["web 8080", "a"],
    ["web 9090", "b"],
  ])
})
