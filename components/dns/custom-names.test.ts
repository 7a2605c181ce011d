import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { startCluster, type Cluster } from "../cluster/testing/cluster.ts"
import { ADDRESS, fakeServer, shown, startDns, type Decoded, type FakeServer, type RunningDns } from "./dns.fixtures.ts"

/** The responses of the upstream server, which is outside the cluster. */
const OUTSIDE: Readonly<Record<string, string>> = { "api.example": "192.0.2.1", "mail.corp.example": "192.0.2.2" }

let cluster: Cluster
let dns: RunningDns
let outside: FakeServer
let metricsPort: number

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
const addresses = ({ answers }: Decoded) => shown(answers)

/** Writes the ConfigMap, and resolves when `name` has these answers. */
async function customise(data: Record<string, string>, name: string, wants: readonly string[]): Promise<void> {
  await cluster.client.update(ConfigMap, { metadata: { namespace: "kube-system", name: "coredns-custom" }, data })
  for (;;) {
    const got = addresses(await dns.ask(name, "A"))
    if (Bun.deepEquals(got, wants)) return
    await nextTurn()
  }
}

beforeAll(async () => {
  cluster = await startCluster({
    components: { scheduler: false, kubelet: false },
    nodes: [{ name: "worker-1" }],
  })
  outside = await fakeServer(({ name }) => {
    const data = OUTSIDE[name.toLowerCase()]
    return data === undefined ? { flags: 3 } : { answers: [{ name, type: "A", ttl: 60, class: "IN", data }] }
  })
  const { client } = cluster
  const inDefault = (name: string) => ({ name, namespace: "default" })
  await client.create(Service, { metadata: inDefault("web"), spec: { clusterIP: "10.43.0.80", ports: [{ port: 80 }] } })
  await client.create(Service, {
    metadata: inDefault("out"),
    spec: { type: "ExternalName", externalName: "api.example" },
  })
  await client.create(ConfigMap, { metadata: { namespace: "kube-system", name: "coredns-custom" } })
  // A pod with the loopback address: the test's queries count as its queries.
  await client.create(Pod, { metadata: inDefault("asker"), spec: { containers: [{ name: "a", image: "a" }] } })
  const body = { status: { podIP: ADDRESS, podIPs: [{ ip: ADDRESS }] } }
  await client.patch(Pod, inDefault("asker"), { type: "merge", body }, { subresource: "status" })
  metricsPort = await freePort()
  const upstreams = [{ address: ADDRESS, port: outside.port }]
  dns = await startDns(cluster, { upstreams, metricsPort, searches: ["corp.example"] })
})
afterAll(async () => {
  await dns.stop()
  await outside.close()
  await cluster.stop()
})

test("queries for names outside the cluster get the answers and codes of the host's servers", async () => {
  expect(addresses(await dns.ask("api.example", "A"))).toEqual(["A api.example 192.0.2.1"])
  expect((await dns.ask("nothing.example", "A")).rcode).toBe("NXDOMAIN")
})

test("the name of an ExternalName Service is answered with the records of its target", async () => {
  expect(addresses(await dns.ask("out.default.svc.cluster.local", "A"))).toEqual([
    "A api.example 192.0.2.1",
    "CNAME out.default.svc.cluster.local api.example",
  ])
})

test("the name of a node is answered with its address", async () => {
  const body = { status: { addresses: [{ type: "InternalIP", address: "10.5.0.1" }] } }
  await cluster.client.patch(Node, { name: "worker-1" }, { type: "merge", body }, { subresource: "status" })
  await customise({}, "worker-1", ["A worker-1 10.5.0.1"])
  expect(addresses(await dns.ask("1.0.5.10.in-addr.arpa", "PTR"))).toEqual(["PTR 1.0.5.10.in-addr.arpa worker-1"])
})

test("host entries of the ConfigMap are answered, also for wildcards, and other names are forwarded", async () => {
  const text = "hosts {\n 10.0.0.9 db.example\n 10.0.0.8 *.apps.example\n fallthrough\n}"
  await customise({ "hosts.override": text }, "db.example", ["A db.example 10.0.0.9"])
  expect(addresses(await dns.ask("a.b.apps.example", "A"))).toEqual(["A a.b.apps.example 10.0.0.8"])
  expect(addresses(await dns.ask("apps.example", "A"))).toEqual([])
  expect((await dns.ask("db.example", "AAAA")).rcode).toBe("NOERROR")
  expect(addresses(await dns.ask("9.0.0.10.in-addr.arpa", "PTR"))).toEqual(["PTR 9.0.0.10.in-addr.arpa db.example"])
  expect(addresses(await dns.ask("api.example", "A"))).toEqual(["A api.example 192.0.2.1"])
  await customise({}, "db.example", [])
})

test("queries for a domain with its own servers do not go to the host's servers", async () => {
  const own = await fakeServer(({ name }) => ({
    answers: [{ name, type: "A", ttl: 5, class: "IN", data: "10.7.7.7" }],
  }))
  const server = `corp.example {\n forward . ${ADDRESS}:${own.port}\n}`
  await customise({ "corp.server": server }, "mail.corp.example", ["A mail.corp.example 10.7.7.7"])
  expect(addresses(await dns.ask("api.example", "A"))).toEqual(["A api.example 192.0.2.1"])
  await customise({}, "mail.corp.example", ["A mail.corp.example 192.0.2.2"])
  await own.close()
})

test("the response to a rewritten query has the name of the query", async () => {
  const rules = "rewrite name suffix .here .default.svc.cluster.local\nrewrite name shop.example api.example"
  await customise({ "a.override": rules }, "web.here", ["A web.here 10.43.0.80"])
  expect(addresses(await dns.ask("shop.example", "A"))).toEqual(["A shop.example 192.0.2.1"])
  await customise({}, "web.here", [])
})

test("with autopath the first name of a pod's search list is answered for the whole list", async () => {
  const first = (short: string) => `${short}.default.svc.cluster.local`
  expect((await dns.ask(first("api.example"), "A")).rcode).toBe("NXDOMAIN")
  await customise({ "a.override": "autopath @kubernetes" }, first("api.example"), [
    "A api.example 192.0.2.1",
    "CNAME api.example.default.svc.cluster.local api.example",
  ])
  expect(addresses(await dns.ask(first("mail"), "A"))).toEqual([
    "A mail.corp.example 192.0.2.2",
    "CNAME mail.default.svc.cluster.local mail.corp.example",
  ])
  expect((await dns.ask(first("nothing.example"), "A")).rcode).toBe("NXDOMAIN")
  // The name is in the search list of another namespace than the client's.
  expect((await dns.ask("api.example.kube-system.svc.cluster.local", "A")).rcode).toBe("NXDOMAIN")
  await customise({}, first("api.example"), [])
})

test("ignored parts of the ConfigMap are reported in an Event", async () => {
  await customise({ "a.override": "template IN A", "b.override": "hosts {\n10.0.0.9 c.example\n}" }, "c.example", [
    "A c.example 10.0.0.9",
  ])
  for (;;) {
    const { items } = await cluster.client.list(Event, { namespace: "kube-system" })
    const told = items.find(({ reason }) => reason === "InvalidConfiguration")
    if (told !== undefined) {
      expect(told.message).toBe("Ignored: a.override: line 1: template: this plugin is not supported")
      break
    }
    await cluster.advance("1s")
  }
  await customise({}, "c.example", [])
})

test("a ConfigMap that exists at the start is reported once, and those of other namespaces are not read", async () => {
  // given
  await using started = await startCluster({ components: { scheduler: false, controllers: false } })
  const write = (namespace: string, plugin: string) =>
    started.client.create(ConfigMap, {
      metadata: { name: "coredns-custom", namespace },
      data: { "a.override": `${plugin} IN A` },
    })
  await write("kube-system", "template")
  // when
  const other = await startDns(started)
  await write("default", "erratic")
  await started.settle()
  await other.stop()
  // then
  const { items } = await started.client.list(Event)
  expect(
    items
      .filter(({ reason }) => reason === "InvalidConfiguration")
      .map(({ count, involvedObject }) => ({ count, namespace: involvedObject.namespace })),
  ).toEqual([{ count: 1, namespace: "kube-system" }])
})

test("after a change of a Service its name is answered with the new address", async () => {
  const name = "new.default.svc.cluster.local"
  expect((await dns.ask(name, "A")).rcode).toBe("NXDOMAIN")
  await cluster.client.create(Service, {
    metadata: { name: "new", namespace: "default" },
    spec: { clusterIP: "10.43.0.99", ports: [{ port: 80 }] },
  })
  await customise({}, name, [`A ${name} 10.43.0.99`])
  await cluster.client.delete(Service, { name: "new", namespace: "default" })
  await customise({}, name, [])
})

test("metrics count queries under CoreDNS' names, and have no label that a client chooses", async () => {
  await dns.ask("some-secret-name.example", "A")
  const answer = await fetch(`http://${ADDRESS}:${metricsPort}/metrics`)
  const text = await answer.text()
  for (const line of [
    /^coredns_dns_requests_total\{server="dns:\/\/:53",zone="\.",view="",proto="udp",family="1",type="A"\} \d+$/m,
    /^coredns_dns_responses_total\{server="dns:\/\/:53",zone="\.",view="",rcode="NXDOMAIN",plugin="forward"\} \d+$/m,
    /^coredns_dns_request_duration_seconds_bucket\{server="dns:\/\/:53",zone="\.",view="",le="0.00025"\} \d+$/m,
    /^coredns_cache_hits_total\{server="dns:\/\/:53",type="success",zones="\.",view=""\} \d+$/m,
    /^coredns_proxy_request_duration_seconds_count\{proxy_name="forward",to="127.0.0.1:\d+",rcode="NOERROR"\} \d+$/m,
  ])
    expect(text).toMatch(line)
  expect(text).not.toContain("some-secret-name")
  expect((await fetch(`http://${ADDRESS}:${metricsPort}/health`)).status).toBe(200)
  expect((await fetch(`http://${ADDRESS}:${metricsPort}/ready`)).status).toBe(200)
  expect((await fetch(`http://${ADDRESS}:${metricsPort}/debug`)).status).toBe(404)
})
