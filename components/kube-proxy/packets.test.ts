import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { findNft } from "../../pkg/netfilter/nft.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import type { Component } from "../../pkg/component/component.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { cleanUp } from "./mode.ts"
import {
  ANSWER_PORT,
  ECHO_PORT,
  LAB_PODS,
  NODE_IP,
  NODE_POD_IP,
  OUTSIDE_IP,
  PacketLab,
  type LabMember,
} from "./packet-lab.fixtures.ts"
import { createKubeProxy } from "./proxier.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

const canRunLab =
  process.getuid?.() === 0 &&
  ["ip", "iptables-restore"].every(
    (program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null,
  )
const canNft = canRunLab && (await findNft(hostIn())).usable
if (!canRunLab) console.warn("SKIPPED: packets through Services need root, ip and iptables")
else if (!canNft) console.warn("SKIPPED: packets through Services by nftables need nft and a kernel for it")

type Web = "web-1" | "web-2" | "web-3"
interface Ask {
  readonly from: LabMember
  readonly to: string
  readonly port?: number
  readonly protocol?: "udp"
  /** Who may answer, seeing which address; or what happens instead. */
  readonly wants: readonly string[]
}

const NODE_PORT = 30_080
const VIP = "10.43.7.7"
const EXTERNAL = "203.0.113.5"
const as = (ip: string, ...webs: readonly Web[]) => webs.map((web) => `${web} as ${ip}`)
const POD = LAB_PODS["pod-a"]

type Spec = Partial<Service["spec"]>
const NODE_PORT_SPEC: Spec = { type: "NodePort", ports: [{ port: 80, nodePort: NODE_PORT, protocol: "TCP" }] }

const CASES: readonly {
  readonly title: string
  readonly spec?: Spec
  /** Ready ones. */
  readonly endpoints: readonly Web[]
  readonly ending?: readonly Web[]
  /** Addresses of the load balancer in the Service's status. */
  readonly loadBalancer?: string
  readonly asks: readonly Ask[]
}[] = [
  {
    title: "spreads over all endpoints; pods keep their address, others are masqueraded",
    endpoints: ["web-1", "web-2", "web-3"],
    asks: [
      { from: "pod-a", to: VIP, wants: as(POD, "web-1", "web-2", "web-3") },
      { from: "outside", to: VIP, wants: as(NODE_POD_IP, "web-1", "web-2", "web-3") },
      { from: "node", to: VIP, wants: as(NODE_POD_IP, "web-1", "web-2", "web-3") },
    ],
  },
  {
    title: "leads a pod back to itself",
    endpoints: ["web-1"],
    asks: [{ from: "web-1", to: VIP, wants: as(NODE_POD_IP, "web-1") }],
  },
  {
    title: "refuses a port that the Service does not have, and drops what goes to an address that no Service has",
    endpoints: ["web-1"],
    asks: [
      { from: "pod-a", to: VIP, port: 81, wants: ["refused"] },
      { from: "node", to: VIP, port: 81, wants: ["refused"] },
      { from: "pod-a", to: "10.43.7.8", wants: ["dropped"] },
      { from: "node", to: "10.43.7.8", wants: ["dropped"] },
    ],
  },
  {
    title: "answers on a node port at each address of the node, masqueraded",
    spec: NODE_PORT_SPEC,
    endpoints: ["web-1", "web-3"],
    asks: [
      { from: "outside", to: NODE_IP, port: NODE_PORT, wants: as(NODE_POD_IP, "web-1", "web-3") },
      { from: "pod-a", to: NODE_IP, port: NODE_PORT, wants: as(NODE_POD_IP, "web-1", "web-3") },
      { from: "node", to: NODE_IP, port: NODE_PORT, wants: as(NODE_POD_IP, "web-1", "web-3") },
      { from: "node", to: "127.0.0.1", port: NODE_PORT, wants: as(NODE_POD_IP, "web-1", "web-3") },
    ],
  },
  {
    title: "keeps what comes from outside here, with its address, under externalTrafficPolicy Local",
    spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local", externalIPs: [EXTERNAL] },
    endpoints: ["web-1", "web-3"],
    asks: [
      { from: "outside", to: NODE_IP, port: NODE_PORT, wants: as(OUTSIDE_IP, "web-1") },
      { from: "outside", to: EXTERNAL, wants: as(OUTSIDE_IP, "web-1") },
      { from: "pod-a", to: NODE_IP, port: NODE_PORT, wants: as(POD, "web-1", "web-3") },
      { from: "pod-a", to: EXTERNAL, wants: as(POD, "web-1", "web-3") },
      { from: "node", to: NODE_IP, port: NODE_PORT, wants: as(NODE_POD_IP, "web-1", "web-3") },
    ],
  },
  {
    title: "drops what comes from outside where no endpoint is here, under externalTrafficPolicy Local",
    spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local", externalIPs: [EXTERNAL] },
    endpoints: ["web-3"],
    asks: [
      { from: "outside", to: NODE_IP, port: NODE_PORT, wants: ["dropped"] },
      { from: "outside", to: EXTERNAL, wants: ["dropped"] },
      { from: "pod-a", to: NODE_IP, port: NODE_PORT, wants: as(POD, "web-3") },
    ],
  },
  {
    title: "stays on the node under internalTrafficPolicy Local",
    spec: { internalTrafficPolicy: "Local" },
    endpoints: ["web-1", "web-3"],
    asks: [{ from: "pod-a", to: VIP, wants: as(POD, "web-1") }],
  },
  {
    title: "drops what may not leave a node without endpoints, under internalTrafficPolicy Local",
    spec: { internalTrafficPolicy: "Local" },
    endpoints: ["web-3"],
    asks: [{ from: "pod-a", to: VIP, wants: ["dropped"] }],
  },
  {
    title: "refuses at every address while nobody serves",
    spec: { ...NODE_PORT_SPEC, externalIPs: [EXTERNAL] },
    endpoints: [],
    asks: [
      { from: "pod-a", to: VIP, wants: ["refused"] },
      { from: "node", to: VIP, wants: ["refused"] },
      { from: "outside", to: EXTERNAL, wants: ["refused"] },
      { from: "outside", to: NODE_IP, port: NODE_PORT, wants: ["refused"] },
    ],
  },
  {
    title: "lets endpoints serve that end, while none is ready",
    endpoints: [],
    ending: ["web-2"],
    asks: [{ from: "pod-a", to: VIP, wants: as(POD, "web-2") }],
  },
  {
    title: "prefers ready endpoints to those that end",
    endpoints: ["web-1"],
    ending: ["web-2"],
    asks: [{ from: "pod-a", to: VIP, wants: as(POD, "web-1") }],
  },
  {
    title: "lets an endpoint here serve that ends, under externalTrafficPolicy Local, though another node's is ready",
    spec: { ...NODE_PORT_SPEC, externalTrafficPolicy: "Local" },
    endpoints: ["web-3"],
    ending: ["web-1"],
    asks: [
      { from: "outside", to: NODE_IP, port: NODE_PORT, wants: as(OUTSIDE_IP, "web-1") },
      { from: "pod-a", to: VIP, wants: as(POD, "web-3") },
    ],
  },
  {
    title: "answers at a load balancer's address",
    spec: { type: "LoadBalancer" },
    endpoints: ["web-1"],
    loadBalancer: NODE_IP,
    asks: [{ from: "outside", to: NODE_IP, wants: as(NODE_POD_IP, "web-1") }],
  },
  {
    title: "lets only sources of loadBalancerSourceRanges to a load balancer, and all to the cluster IP",
    spec: { type: "LoadBalancer", loadBalancerSourceRanges: ["198.51.100.0/24", "10.42.0.2/32", "fd00::/8"] },
    endpoints: ["web-1"],
    loadBalancer: EXTERNAL,
    asks: [
      { from: "outside", to: EXTERNAL, wants: ["dropped"] },
      { from: "pod-a", to: EXTERNAL, wants: as(NODE_POD_IP, "web-1") },
      { from: "outside", to: VIP, wants: as(NODE_POD_IP, "web-1") },
    ],
  },
  {
    title: "leads UDP",
    spec: { ports: [{ port: 80, protocol: "UDP" }] },
    endpoints: ["web-1"],
    asks: [{ from: "pod-a", to: VIP, protocol: "udp", wants: as(POD, "web-1") }],
  },
]

/** A proxy on the lab's node, and one Service `web` at a time. */
async function proxyOn(lab: PacketLab, mode: ProxyMode) {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const { client } = cluster
  const proxies: Component[] = []
  const underWay = new Set<Promise<unknown>>()
  function track<T>(work: Promise<T>): Promise<T> {
    underWay.add(work)
    return work.finally(() => underWay.delete(work))
  }
  const { host: real } = lab
  const host: Host = {
    run: (command, args) => track(real.run(command, args)),
    feed: (command, args, input) => track(real.feed(command, args, input)),
  }
  /** Until all that follows from what was written is in the kernel. */
  async function settle(): Promise<void> {
    await cluster.settle()
    while (underWay.size > 0) {
      await Promise.allSettled(underWay)
      await cluster.settle()
    }
  }
  const make = async (of: ProxyMode) => {
    const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
      nodeName: "node-0",
      clusterCidr: "10.42.0.0/16",
      mode: of,
      host,
    })
    await proxy.start(new AbortController().signal)
    proxies.push(proxy)
  }
  await make(mode)
  const stopProxies = async () => void (await Promise.all(proxies.splice(0).map((proxy) => proxy.stop())))
  const metadata = { name: "web", namespace: "default" }
  let hasSlice = false
  return {
    cluster,
    async service(spec: Spec, loadBalancer?: string): Promise<void> {
      const service = await client.create(Service, {
        metadata,
        spec: { clusterIP: VIP, ports: [{ port: 80, protocol: "TCP" }], ...spec },
      })
      if (loadBalancer !== undefined)
        await client.updateStatus(Service, {
          ...service,
          status: { loadBalancer: { ingress: [{ ip: loadBalancer }] } },
        })
    },
    /** Replaces the endpoints. */
    async serve(
      ready: readonly Web[],
      {
        ending = [],
        protocol = "TCP",
        port = ANSWER_PORT,
      }: { ending?: readonly Web[]; protocol?: string; port?: number } = {},
    ): Promise<void> {
      const endpoint = (web: Web) => ({
        addresses: [LAB_PODS[web]],
        nodeName: web === "web-3" ? "node-1" : "node-0",
      })
      const slice = {
        metadata: { ...metadata, labels: { "kubernetes.io/service-name": "web" } },
        addressType: "IPv4" as const,
        endpoints: [
          ...ready.map((web) => ({ ...endpoint(web), conditions: { ready: true } })),
          ...ending.map((web) => ({
            ...endpoint(web),
            conditions: { ready: false, serving: true, terminating: true },
          })),
        ],
        ports: [{ port, protocol: protocol as "TCP" }],
      }
      await (hasSlice ? client.update(EndpointSlice, slice) : client.create(EndpointSlice, slice))
      hasSlice = true
      await settle()
    },
    async clear(): Promise<void> {
      hasSlice = false
      await client.delete(EndpointSlice, metadata)
      await client.delete(Service, metadata)
      await settle()
    },
    /** As k3ts does when it is started anew, perhaps in another mode. */
    async restart(of: ProxyMode): Promise<void> {
      await stopProxies()
      await make(of)
    },
    async [Symbol.asyncDispose]() {
      await stopProxies()
      await cluster.stop()
    },
  }
}

const MODES = PROXY_MODES.filter((mode) => mode === "iptables" || canNft)

describe.skipIf(!canRunLab).each(MODES)("a Service by %s", (mode) => {
  let lab: PacketLab
  let proxy: Awaited<ReturnType<typeof proxyOn>>
  beforeAll(async () => {
    lab = await PacketLab.start(mode)
    proxy = await proxyOn(lab, mode)
  })
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]()
    await lab.stop()
  })

  test.each(CASES)(
    "$title",
    async ({ spec = {}, endpoints, ending = [], loadBalancer, asks }) => {
      // given
      await proxy.service(spec, loadBalancer)
      await proxy.serve(endpoints, { ending, protocol: spec.ports?.[0]?.protocol ?? "TCP" })
      // when
      const answers = await Promise.all(
        asks.map(async ({ from, to, port = 80, protocol, wants }) =>
          protocol === "udp" ? [await lab.ask(from, to, port, "udp")] : lab.askAll(from, to, port, wants.length),
        ),
      )
      await proxy.clear()
      // then
      expect(asks.map((ask, i) => ({ ...ask, wants: answers[i]! }))).toEqual([...asks])
    },
    30_000,
  )

  test("brings a client back to its endpoint under ClientIP affinity, for as long as that is there", async () => {
    // given
    await proxy.service({ sessionAffinity: "ClientIP" })
    await proxy.serve(["web-1", "web-2"])
    // when
    const first = await lab.ask("pod-a", VIP, 80)
    // then it stays, also after a restart
    expect(await lab.askAll("pod-a", VIP, 80, 2)).toEqual([first])
    await proxy.restart(mode)
    expect(await lab.askAll("pod-a", VIP, 80, 2)).toEqual([first])
    // and when that endpoint goes, another takes its place
    const [gone, other] = first.startsWith("web-1") ? (["web-1", "web-2"] as const) : (["web-2", "web-1"] as const)
    await proxy.serve([other])
    expect(await lab.askAll("pod-a", VIP, 80, 2)).toEqual(as(POD, other))
    await proxy.serve([gone, other])
    expect(await lab.askAll("pod-a", VIP, 80, 2)).toEqual(as(POD, other))
    await proxy.clear()
  }, 30_000)

  test("keeps connections over a restart, and over a change of the mode and back", async () => {
    // given
    await proxy.service(NODE_PORT_SPEC)
    await proxy.serve(["web-1"], { port: ECHO_PORT })
    const connections = [lab.connect("pod-a", VIP, 80), lab.connect("outside", NODE_IP, NODE_PORT)]
    const said = async (word: string) => Promise.all(connections.map((connection) => connection.say(word)))
    expect(await said("before")).toEqual(["before", "before"])
    // when, then
    for (const next of [mode, ...MODES, mode]) {
      await proxy.restart(next)
      expect(await said(next)).toEqual([next, next])
    }
    await proxy.clear()
  }, 30_000)

  test("leaves nothing of the mode before, and nothing at all when it is cleaned up", async () => {
    const rules = async () =>
      [
        ...(await lab.host.run("iptables-save", [])).split("\n").filter((line) => /^(:KUBE|-A)/.test(line)),
        ...(canNft ? await lab.host.run("nft", ["list", "tables"]) : "")
          .split("\n")
          .filter((line) => line.endsWith("k3ts-proxy")),
      ].map((line) => (line.startsWith("table") ? "nftables" : "iptables"))
    // given the other modes were there before
    await proxy.service({ ...NODE_PORT_SPEC, sessionAffinity: "ClientIP" })
    await proxy.serve(["web-1"])
    for (const other of MODES) await proxy.restart(other)
    // when
    await proxy.restart(mode)
    await proxy.restart(mode)
    // then
    expect(new Set(await rules())).toEqual(new Set([mode]))
    await cleanUp(lab.host)
    expect(await rules()).toEqual([])
    await proxy.restart(mode)
    await proxy.clear()
  }, 30_000)
})
