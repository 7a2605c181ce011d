import { describe, expect, test } from "bun:test"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../../pkg/api/networking/v1/ingressclass.ts"
import { INGRESS_CONTROLLER } from "../../../pkg/api/networking/v1/k3ts-class.ts"
import { startController } from "../../../pkg/controller/start.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"
import { grants } from "./grants.ts"
import { serviceLbController } from "./servicelb.ts"

type Spec = Partial<Service["spec"]>
const lb = (name: string, port: number, spec: Spec = {}, labels: Record<string, string> = {}) => ({
  metadata: { name, namespace: "default", labels },
  spec: { type: "LoadBalancer" as const, ports: [{ port, protocol: "TCP" as const }], ...spec },
})
const ref = (name: string) => ({ name, namespace: "default" })

/** Returns the addresses in status.loadBalancer, by Service. */
async function addresses({ client }: Cluster): Promise<Record<string, readonly (string | undefined)[]>> {
  const services = (await client.list(Service)).items.filter(({ metadata }) => metadata.name !== "kubernetes")
  return Object.fromEntries(
    services.map(({ metadata, status }) => [metadata.name, (status.loadBalancer.ingress ?? []).map(({ ip }) => ip)]),
  )
}
async function warnings({ client }: Cluster): Promise<readonly string[]> {
  return (await client.list(Event)).items
    .filter(({ reason }) => reason === "PortConflict")
    .map(({ message, involvedObject }) => `${involvedObject.name}: ${message}`)
}
const twoNodes = () => startCluster({ nodes: [{ name: "a" }, { name: "b" }] })
async function label({ client }: Cluster, name: string, labels: Record<string, string>): Promise<void> {
  const node = await client.get(Node, { name })
  await client.update(Node, { ...node, metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...labels } } })
}

describe("a Service of type LoadBalancer", () => {
  test("gets the addresses of all nodes, and loses them when its type changes", async () => {
    await using cluster = await twoNodes()
    const made = await cluster.client.create(Service, lb("web", 80))
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: ["192.168.0.2", "192.168.0.3"] })
    const { status } = await cluster.client.get(Service, ref("web"))
    expect(status.loadBalancer.ingress?.[0]).toEqual({
      ip: "192.168.0.2",
      ipMode: "VIP",
      ports: [{ port: 80, protocol: "TCP" }],
    })
    // and when the type changes
    const now = await cluster.client.get(Service, ref("web"))
    await cluster.client.update(Service, { ...now, spec: { ...made.spec, type: "ClusterIP" } })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: [] })
  })

  test("has the finalizer for its load balancer until it is deleted or gets another type", async () => {
    await using cluster = await twoNodes()
    const finalizers = async (name: string) => (await cluster.client.get(Service, ref(name))).metadata.finalizers ?? []
    const more = { finalizers: ["example.com/hold"] }
    // given one with a finalizer of its own, one of a class, and one without a load balancer
    const { metadata, spec } = lb("web", 80)
    await cluster.client.create(Service, { metadata: { ...metadata, ...more }, spec })
    await cluster.client.create(Service, lb("classy", 81, { loadBalancerClass: "example.com/lb" }))
    await cluster.client.create(Service, lb("plain", 82, { type: "ClusterIP" }))
    await cluster.client.create(Service, lb("goes", 83))
    // and one that got its type while nobody saw it
    const changed = lb("changed", 84, { type: "ClusterIP" })
    const cleanup = ["service.kubernetes.io/load-balancer-cleanup"]
    await cluster.client.create(Service, { ...changed, metadata: { ...changed.metadata, finalizers: cleanup } })
    await cluster.settle()
    expect(await finalizers("web")).toEqual(["example.com/hold", "service.kubernetes.io/load-balancer-cleanup"])
    for (const name of ["classy", "plain", "changed"]) expect(await finalizers(name)).toEqual([])
    // when one gets another type, and one is deleted
    const now = await cluster.client.get(Service, ref("web"))
    await cluster.client.update(Service, { ...now, spec: { ...now.spec, type: "ClusterIP" } })
    await cluster.client.delete(Service, ref("goes"))
    await cluster.settle()
    // then
    expect(await finalizers("web")).toEqual(["example.com/hold"])
    expect(Object.keys(await addresses(cluster)).toSorted()).toEqual(["changed", "classy", "plain", "web"])
  })

  test("loses the finalizer where load balancers are off, unless another controller has set it", async () => {
    // given a cluster without this controller, and finalizers of it and of another one
    await using cluster = await startCluster({ components: { controllers: { disabled: ["service-lb-controller"] } } })
    const finalizers = ["service.kubernetes.io/load-balancer-cleanup"]
    for (const [name, port, fieldManager] of [
      ["web", 80, "service-controller"],
      ["cloudy", 81, "cloud-controller-manager"],
    ] as const) {
      const { metadata, spec } = lb(name, port)
      await cluster.client.create(Service, { metadata: { ...metadata, finalizers }, spec }, { fieldManager })
    }
    // when
    await cluster.settle()
    // then
    const left = (name: string) => cluster.client.get(Service, ref(name)).then(({ metadata }) => metadata.finalizers)
    expect([await left("web"), await left("cloudy")]).toEqual([undefined, finalizers])
  })

  test("with a loadBalancerClass is left to the implementation of the class", async () => {
    await using cluster = await twoNodes()
    const service = await cluster.client.create(Service, lb("web", 80, { loadBalancerClass: "example.com/lb" }))
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: [] })
    // and what that implementation has written stays
    const ingress = [{ ip: "203.0.113.5" }]
    await cluster.client.updateStatus(Service, { ...service, status: { loadBalancer: { ingress } } })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: ["203.0.113.5"] })
  })

  test("gets only Ready nodes that exist, and only labelled nodes if any node has the label", async () => {
    await using cluster = await twoNodes()
    await cluster.client.create(Service, lb("web", 80))
    await cluster.client.create(Service, lb("pool", 81, {}, { "svccontroller.k3s.cattle.io/lbpool": "p" }))
    // when a node is labelled
    await label(cluster, "b", { "svccontroller.k3s.cattle.io/enablelb": "true" })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: ["192.168.0.3"], pool: [] })
    // when both are, and one is of the pool
    await label(cluster, "a", {
      "svccontroller.k3s.cattle.io/enablelb": "true",
      "svccontroller.k3s.cattle.io/lbpool": "p",
    })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: ["192.168.0.2", "192.168.0.3"], pool: ["192.168.0.2"] })
    // when one is not ready, then back, then gone
    const b = await cluster.client.get(Node, { name: "b" })
    const setReady = async (status: "True" | "Unknown") => {
      const now = await cluster.client.get(Node, { name: "b" })
      await cluster.client.updateStatus(Node, {
        ...now,
        status: {
          ...now.status,
          conditions: (b.status.conditions ?? []).map((each) => (each.type === "Ready" ? { ...each, status } : each)),
        },
      })
      await cluster.settle()
    }
    await setReady("Unknown")
    expect((await addresses(cluster))["web"]).toEqual(["192.168.0.2"])
    await setReady("True")
    expect((await addresses(cluster))["web"]).toEqual(["192.168.0.2", "192.168.0.3"])
    await label(cluster, "b", { "node.kubernetes.io/exclude-from-external-load-balancers": "" })
    await cluster.settle()
    expect((await addresses(cluster))["web"]).toEqual(["192.168.0.2"])
    await cluster.client.delete(Node, { name: "a" })
    await cluster.settle()
    expect((await addresses(cluster))["web"]).toEqual([])
  })

  test("gets no address that a node cannot have, though the node reports it", async () => {
    // given a node that poses as a cluster IP, and has addresses within itself
    await using cluster = await twoNodes()
    await cluster.client.create(Service, lb("web", 80))
    const node = await cluster.client.get(Node, { name: "b" })
    const poses = ["10.43.0.1", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "192.168.0.9"]
    // when
    await cluster.client.updateStatus(Node, {
      ...node,
      status: { ...node.status, addresses: poses.map((address) => ({ type: "ExternalIP", address })) },
    })
    await cluster.settle()
    // then
    expect(await addresses(cluster)).toEqual({ web: ["192.168.0.2", "192.168.0.9"] })
  })

  test("gets only nodes with a ready endpoint under externalTrafficPolicy Local", async () => {
    await using cluster = await twoNodes()
    await cluster.client.create(Service, lb("web", 80, { externalTrafficPolicy: "Local" }))
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: [] })
    await cluster.client.create(EndpointSlice, {
      metadata: { ...ref("web-1"), labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [
        { addresses: ["10.42.0.5"], nodeName: "a", conditions: { ready: false } },
        { addresses: ["10.42.1.5"], nodeName: "b", conditions: { ready: true } },
      ],
      ports: [{ port: 8080 }],
    })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: ["192.168.0.3"] })
  })

  test("waits while another Service has its port, names that Service, and gets the port when it is free", async () => {
    // given
    await using cluster = await twoNodes()
    await cluster.client.create(Service, lb("first", 80))
    await cluster.advance("2s")
    await cluster.client.create(Service, lb("second", 80))
    await cluster.client.create(Service, lb("udp", 80, { ports: [{ port: 80, protocol: "UDP" }] }))
    await cluster.settle()
    const both = ["192.168.0.2", "192.168.0.3"]
    expect(await addresses(cluster)).toEqual({ first: both, second: [], udp: both })
    expect(await warnings(cluster)).toEqual(["second: Port 80/TCP of the nodes is taken by Service default/first"])
    // when
    await cluster.client.delete(Service, ref("first"))
    await cluster.settle()
    // then
    expect(await addresses(cluster)).toEqual({ second: both, udp: both })
  })
})

describe("the port at which Ingresses are served", () => {
  const defaultBackend = { service: { name: "web", port: { number: 80 } } }
  const both = ["192.168.0.2", "192.168.0.3"]
  /** A cluster whose Ingresses of the class `mine` are served at port 80, with a Service that has this port. */
  async function servingIngresses() {
    const cluster = await startCluster({
      nodes: [{ name: "a" }, { name: "b" }],
      components: { controllers: { disabled: ["service-lb-controller"] } },
    })
    await cluster.client.create(IngressClass, { metadata: { name: "mine" }, spec: { controller: INGRESS_CONTROLLER } })
    await cluster.client.create(IngressClass, { metadata: { name: "other" }, spec: { controller: "example.com/x" } })
    await cluster.client.create(Service, lb("web", 80))
    const context = cluster.contextFor("system:serviceaccount:kube-system:test", ["system:masters"])
    await startController(serviceLbController({ always: new Map(), ingress: ["80/TCP"] }), context)
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: both })
    return cluster
  }

  test.each([
    { title: "ingressClassName", annotations: {}, spec: { ingressClassName: "mine" } },
    { title: "the older annotation", annotations: { "kubernetes.io/ingress.class": "mine" }, spec: {} },
  ])("is released by a Service when an Ingress names the class by $title", async ({ annotations, spec }) => {
    await using cluster = await servingIngresses()
    // when
    await cluster.client.create(Ingress, {
      metadata: { ...ref("shop"), annotations },
      spec: { ...spec, defaultBackend },
    })
    await cluster.settle()
    // then
    expect(await addresses(cluster)).toEqual({ web: [] })
    expect(await warnings(cluster)).toEqual(["web: Port 80/TCP of the nodes is taken by Ingresses"])
    // and when the class is another controller's
    await cluster.client.delete(IngressClass, { name: "mine" })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: both })
  })

  test("is kept by a Service while all Ingresses have other classes, until one gets the class", async () => {
    await using cluster = await servingIngresses()
    const spec = { ingressClassName: "other", defaultBackend }
    const shop = await cluster.client.create(Ingress, { metadata: ref("shop"), spec })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: both })
    // when
    await cluster.client.update(Ingress, { ...shop, spec: { ...spec, ingressClassName: "mine" } })
    await cluster.settle()
    expect(await addresses(cluster)).toEqual({ web: [] })
  })
})

describe("ports of load balancers", () => {
  const service = (name: string, created: string, ports: readonly number[], held: readonly number[] = []): Service =>
    ({
      metadata: { namespace: "ns", name, creationTimestamp: created },
      spec: { ports: ports.map((port) => ({ port, protocol: "TCP" })) },
      status: {
        loadBalancer:
          held.length === 0
            ? {}
            : { ingress: [{ ip: "192.0.2.1", ports: held.map((port) => ({ port, protocol: "TCP" })) }] },
      },
    }) as unknown as Service
  const CASES = [
    {
      title: "belong to the oldest Service",
      given: [service("new", "2026-01-02", [80]), service("old", "2026-01-01", [80])],
      wants: { old: undefined, new: "80/TCP: Service ns/old" },
    },
    {
      title: "stay with the Service that has them, though an older one asks for them now",
      given: [service("new", "2026-01-02", [80], [80]), service("old", "2026-01-01", [80], [81])],
      wants: { new: undefined, old: "80/TCP: Service ns/new" },
    },
    {
      title: "are all given to a Service, or none of them",
      given: [
        service("a", "2026-01-01", [80]),
        service("b", "2026-01-02", [80, 443]),
        service("c", "2026-01-03", [443]),
      ],
      wants: { a: undefined, b: "80/TCP: Service ns/a", c: undefined },
    },
    {
      title: "cannot be those at which a node itself listens",
      given: [service("a", "2026-01-01", [6443], [6443])],
      wants: { a: "6443/TCP: the API server" },
    },
  ]
  test.each(CASES)("$title", ({ given, wants }) => {
    const found = grants(given, new Map([["6443/TCP", "the API server"]]))
    expect(
      Object.fromEntries(
        [...found].map(([key, refusal]) => [
          key.slice("ns/".length),
          refusal === undefined ? undefined : `${refusal.port}: ${refusal.holder}`,
        ]),
      ),
    ).toEqual(wants as Record<string, string | undefined>)
  })
})
