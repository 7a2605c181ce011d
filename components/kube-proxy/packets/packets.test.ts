import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { findNft } from "../../../pkg/netfilter/nft.ts"
import { hostIn, type Host } from "../../../pkg/netfilter/host.ts"
import type { Component } from "../../../pkg/component/component.ts"
import { joinHostPort, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import { cleanUp } from "../mode.ts"
import { ANSWER_PORT, ECHO_PORT } from "./lab-agents.fixtures.ts"
import { LAB, PacketLab } from "./packet-lab.fixtures.ts"
import { as, casesFor, NODE_PORT, NODE_PORT_SPEC, OWN_PORT, SERVICE, type Spec, type Web } from "./packets.fixtures.ts"
import { createKubeProxy } from "../proxier.ts"
import { PROXY_MODES, type ProxyMode } from "../rule-writer.ts"
import { askSctp, sctpProblem, serveSctp } from "./sctp.fixtures.ts"

const canRunLab =
  process.getuid?.() === 0 &&
  ["ip", "iptables-restore"].every(
    (program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null,
  )
const canNft = canRunLab && (await findNft(hostIn())).usable
if (!canRunLab) console.warn("SKIPPED: packets through Services need root, ip and iptables")
else if (!canNft) console.warn("SKIPPED: packets through Services by nftables need nft and a kernel for it")

const noSctp = canRunLab ? sctpProblem() : "the packets of Services are not tried"
if (canRunLab && noSctp !== undefined) console.warn(`SKIPPED: SCTP through Services: ${noSctp}`)

/** A proxy on the lab's node in a cluster of these families, and one Service `web` of all of them at a time. */
async function proxyOn(lab: PacketLab, mode: ProxyMode, families: readonly Family[]) {
  const cluster = await startCluster({ ipFamilies: families, components: { scheduler: false, controllers: false } })
  const { client } = cluster
  const addresses = families.map((family) => ({ type: "InternalIP", address: SERVICE[family].ofOtherNode }))
  await client.create(Node, { metadata: { name: "node-1" }, status: { addresses } })
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
  const make = async (of: ProxyMode, nodePortCidrs: readonly string[] = []) => {
    const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
      nodeName: "node-0",
      clusterCidrs: families.map((family) => LAB[family].clusterCidr),
      mode: of,
      nodePortCidrs,
      ownAddresses: families.map((family) => SERVICE[family].own),
      ownPorts: [{ port: OWN_PORT, protocol: "TCP", holder: "the API server" }],
      host,
    })
    await proxy.start(new AbortController().signal)
    proxies.push(proxy)
  }
  await make(mode)
  const stopProxies = async () => void (await Promise.all(proxies.splice(0).map((proxy) => proxy.stop())))
  const metadata = { name: "web", namespace: "default" }
  const sliceOf = (family: Family) => ({ ...metadata, name: `web-${family.toLowerCase()}` })
  const clusterIPs = families.map((family) => SERVICE[family].vip)
  let hasSlices = false
  return {
    cluster,
    async service(spec: Spec, loadBalancers: readonly string[] = []): Promise<void> {
      const service = await client.create(Service, {
        metadata,
        spec: {
          clusterIP: clusterIPs[0]!,
          clusterIPs,
          ipFamilies: families,
          ipFamilyPolicy: families.length > 1 ? "RequireDualStack" : "SingleStack",
          ports: [{ port: 80, protocol: "TCP" }],
          ...spec,
        },
      })
      if (loadBalancers.length > 0)
        await client.updateStatus(Service, {
          ...service,
          status: { loadBalancer: { ingress: loadBalancers.map((ip) => ({ ip })) } },
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
      for (const family of families) {
        const endpoint = (web: Web) => ({
          addresses: [LAB[family].pods[web]],
          nodeName: web === "web-3" ? "node-1" : "node-0",
        })
        const slice = {
          metadata: { ...sliceOf(family), labels: { "kubernetes.io/service-name": "web" } },
          addressType: family,
          endpoints: [
            ...ready.map((web) => ({ ...endpoint(web), conditions: { ready: true } })),
            ...ending.map((web) => ({
              ...endpoint(web),
              conditions: { ready: false, serving: true, terminating: true },
            })),
          ],
          ports: [{ port, protocol: protocol as "TCP" }],
        }
        await (hasSlices ? client.update(EndpointSlice, slice) : client.create(EndpointSlice, slice))
      }
      hasSlices = true
      await settle()
    },
    async clear(): Promise<void> {
      hasSlices = false
      for (const family of families) await client.delete(EndpointSlice, sliceOf(family))
      await client.delete(Service, metadata)
      await settle()
    },
    /** Restarts the proxy as k3ts does, optionally in another mode or with ranges for node ports. */
    async restart(of: ProxyMode, nodePortCidrs?: readonly string[]): Promise<void> {
      await stopProxies()
      await make(of, nodePortCidrs)
    },
    async [Symbol.asyncDispose]() {
      await stopProxies()
      await cluster.stop()
    },
  }
}

const MODES = PROXY_MODES.filter((mode) => mode === "iptables" || canNft)
/** A cluster of both families has all that those of one have: `K3TS_PACKETS=all` takes them all. */
const CLUSTERS: readonly (readonly Family[])[] =
  process.env["K3TS_PACKETS"] === "all" ? [["IPv4"], ["IPv6"], ["IPv6", "IPv4"]] : [["IPv4", "IPv6"]]

describe
  .skipIf(!canRunLab)
  .each(MODES.flatMap((mode) => CLUSTERS.map((families) => ({ mode, families, of: families.join(" and ") }))))(
  "a Service of $of by $mode",
  ({ mode, families }) => {
    let lab: PacketLab
    let proxy: Awaited<ReturnType<typeof proxyOn>>
    beforeAll(async () => {
      lab = await PacketLab.start(`${mode}-${families.length}-${families[0]!.toLowerCase()}`)
      proxy = await proxyOn(lab, mode, families)
    })
    afterAll(async () => {
      await proxy[Symbol.asyncDispose]()
      await lab.stop()
    })

    /** A case is the same in each family but for its addresses. */
    const [primary, ...others] = families.map(casesFor)
    const cases = primary!.map((first, i) => ({ ...first, all: [first, ...others.map((table) => table[i]!)] }))
    test.each(cases)(
      "$title",
      async ({ spec = {}, endpoints, ending = [], all }) => {
        // given
        const asks = all.flatMap((each) => each.asks)
        const externalIPs = all.flatMap((each) => each.spec?.externalIPs ?? [])
        await proxy.service(
          { ...spec, ...(externalIPs.length > 0 ? { externalIPs } : {}) },
          all.flatMap(({ loadBalancer }) => loadBalancer ?? []),
        )
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
      60_000,
    )

    test("sends a client to its earlier endpoint under ClientIP affinity, as long as the endpoint exists", async () => {
      for (const family of families) {
        const { vip } = SERVICE[family]
        const client = LAB[family].pods["pod-a"]
        const answers = () => lab.askAll("pod-a", vip, 80, 2)
        // given
        await proxy.service({ sessionAffinity: "ClientIP" })
        await proxy.serve(["web-1", "web-2"])
        // when
        const first = await lab.ask("pod-a", vip, 80)
        // then it stays, also after a restart
        expect(await answers()).toEqual([first])
        await proxy.restart(mode)
        expect(await answers()).toEqual([first])
        // and when that endpoint goes, another takes its place
        const [gone, other] = first.startsWith("web-1") ? (["web-1", "web-2"] as const) : (["web-2", "web-1"] as const)
        await proxy.serve([other])
        expect(await answers()).toEqual(as(client, other))
        await proxy.serve([gone, other])
        expect(await answers()).toEqual(as(client, other))
        await proxy.clear()
      }
    }, 60_000)

    test("moves the UDP packets of a client that continues to send away from a removed endpoint", async () => {
      for (const family of families) {
        const { vip } = SERVICE[family]
        const client = LAB[family].pods["pod-a"]
        // given a client that keeps its socket, and with it its port
        await proxy.service({ ports: [{ port: 80, protocol: "UDP" }] })
        await proxy.serve(["web-1"], { protocol: "UDP" })
        const socket = lab.connect("pod-a", vip, 80, "udp")
        expect(await socket.say("hello")).toBe(as(client, "web-1")[0]!)
        // when
        await proxy.serve(["web-2"], { protocol: "UDP" })
        // then
        expect(await socket.say("hello")).toBe(as(client, "web-2")[0]!)
        await proxy.clear()
      }
    }, 60_000)

    test.skipIf(noSctp !== undefined)(
      "forwards SCTP in both directions, from pods and from outside",
      async () => {
        // given servers that listen for SCTP in each family
        await proxy.service({ ...NODE_PORT_SPEC, ports: [{ port: 80, nodePort: NODE_PORT, protocol: "SCTP" }] })
        await proxy.serve(["web-1"], { protocol: "SCTP" })
        for (const family of families) {
          const [{ vip }, { pods, node, nodeForPods }] = [SERVICE[family], LAB[family]]
          await using server = await serveSctp(lab.netns("web-1"), vip, ANSWER_PORT)
          // then each is answered by the address that it asked
          expect(await askSctp(lab.netns("pod-a"), vip, 80)).toBe(`${vip} 80`)
          expect(await askSctp(lab.netns("outside"), node, NODE_PORT)).toBe(`${node} ${NODE_PORT}`)
          // and pods keep their address, others are masqueraded
          expect([...new Set(server.askedBy)]).toEqual([pods["pod-a"], nodeForPods])
        }
        await proxy.clear()
      },
      60_000,
    )

    test("keeps packets to the node's own listeners from rules of other programs, such as host ports", async () => {
      for (const family of families) {
        const { node, pods } = LAB[family]
        const { own } = SERVICE[family]
        await lab.host.run("ip", ["address", "add", own, "dev", "lo"])
        // given what the CNI plugin portmap writes for a pod with the host ports 6443 and 8443
        const to = joinHostPort(pods["web-1"], ANSWER_PORT)
        const program = family === "IPv6" ? "ip6tables" : "iptables"
        const rule = (port: number) =>
          `PREROUTING -p tcp --dport ${port} -m addrtype --dst-type LOCAL -j DNAT --to-destination ${to}`.split(" ")
        for (const port of [OWN_PORT, 8443]) await lab.host.run(program, ["-t", "nat", "-A", ...rule(port)])
        // when, then
        expect(await lab.ask("outside", node, 8443)).toStartWith("web-1")
        expect(await lab.ask("outside", node, OWN_PORT)).toBe("refused")
        expect(await lab.ask("pod-a", own, 8443)).toBe("refused")
        await lab.host.run("ip", ["address", "delete", `${own}/${family === "IPv6" ? 128 : 32}`, "dev", "lo"])
        for (const port of [OWN_PORT, 8443]) await lab.host.run(program, ["-t", "nat", "-D", ...rule(port)])
      }
    }, 60_000)

    test.skipIf(!families.includes("IPv4"))(
      "keeps other hosts from the node's listeners on loopback",
      async () => {
        // given a host that sends packets for 127.0.0.1 to the node, where they are no martians
        const outside = (...args: readonly string[]) =>
          lab.host.run("ip", ["netns", "exec", lab.netns("outside"), ...args])
        const localnet = "/proc/sys/net/ipv4/conf/all/route_localnet"
        await outside("sh", "-c", `echo 1 > ${localnet}`)
        await outside("ip", "link", "set", "lo", "down")
        await outside("ip", "route", "add", "127.0.0.1", "via", LAB.IPv4.node)
        // when, then
        for (const port of [OWN_PORT, 8443]) expect(await lab.ask("outside", "127.0.0.1", port)).toBe("dropped")
        await outside("ip", "route", "delete", "127.0.0.1")
        await outside("ip", "link", "set", "lo", "up")
      },
      60_000,
    )

    test("is served at node ports only at the addresses that are configured for them", async () => {
      // given
      await proxy.service(NODE_PORT_SPEC)
      await proxy.serve(["web-1"])
      const asked = () =>
        Promise.all(
          families.flatMap((family) =>
            [LAB[family].node, LAB[family].nodeForPods].map(async (ip) =>
              (await lab.ask("pod-a", ip, NODE_PORT)).replace(/ as .*/, ""),
            ),
          ),
        )
      expect(new Set(await asked())).toEqual(new Set(["web-1"]))
      // when
      await proxy.restart(
        mode,
        families.map((family) => `${LAB[family].node}/${family === "IPv6" ? 128 : 32}`),
      )
      // then
      expect(await asked()).toEqual(families.flatMap(() => ["web-1", "refused"]))
      // and everywhere again without ranges, or with one of all addresses
      await proxy.restart(mode, ["0.0.0.0/0", "::/0"])
      expect(new Set(await asked())).toEqual(new Set(["web-1"]))
      await proxy.clear()
    }, 60_000)

    test("keeps connections open over a restart, and over a change of the mode and back", async () => {
      // given
      await proxy.service(NODE_PORT_SPEC)
      await proxy.serve(["web-1"], { port: ECHO_PORT })
      const connections = families.flatMap((family) => [
        lab.connect("pod-a", SERVICE[family].vip, 80),
        lab.connect("outside", LAB[family].node, NODE_PORT),
      ])
      const said = async (word: string) => [...new Set(await Promise.all(connections.map(({ say }) => say(word))))]
      expect(await said("before")).toEqual(["before"])
      // when, then
      for (const next of [mode, ...MODES, mode]) {
        await proxy.restart(next)
        expect(await said(next)).toEqual([next])
      }
      await proxy.clear()
    }, 60_000)

    test("leaves no rules of the earlier mode, and no rules at all after the clean-up", async () => {
      /** Returns an entry like `nftables ip` for each mode and family that has rules. */
      const rules = async () => {
        const saved = async (program: string, family: string) =>
          (await lab.host.run(program, []))
            .split("\n")
            .filter((line) => /^(:KUBE|-A)/.test(line))
            .map(() => `iptables ${family}`)
        const tables = canNft ? await lab.host.run("nft", ["list", "tables"]) : ""
        return new Set([
          ...(await saved("iptables-save", "ip")),
          ...(await saved("ip6tables-save", "ip6")),
          ...[...tables.matchAll(/^table (\S+) k3ts-proxy$/gm)].map(([, family]) => `nftables ${family}`),
        ])
      }
      // given the other modes were there before
      await proxy.service({ ...NODE_PORT_SPEC, sessionAffinity: "ClientIP" })
      await proxy.serve(["web-1"])
      for (const other of MODES) await proxy.restart(other)
      // when
      await proxy.restart(mode)
      await proxy.restart(mode)
      // then
      expect(await rules()).toEqual(new Set(families.map((family) => `${mode} ${family === "IPv6" ? "ip6" : "ip"}`)))
      await cleanUp(lab.host)
      expect(await rules()).toEqual(new Set())
      await proxy.restart(mode)
      await proxy.clear()
    }, 60_000)
  },
)
