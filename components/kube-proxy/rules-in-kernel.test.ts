/** kube-proxy with the real programs, in a network namespace of its own. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn } from "../../pkg/netfilter/host.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { IptablesWriter, type IptablesWriterConfig } from "./iptables/writer.ts"
import { cleanUp } from "./mode.ts"
import { NftablesWriter, type NftablesWriterConfig } from "./nftables/writer.ts"
import { samplePort } from "./service-port.fixtures.ts"
import type { ServicePort } from "./service-ports.ts"
import { createKubeProxy } from "./proxier.ts"
import { withService } from "./proxier.fixtures.ts"
import { PROXY_MODES, type RuleWriter } from "./rule-writer.ts"

type WriterOptions = NftablesWriterConfig & IptablesWriterConfig

const NETNS = `k3ts-proxy-test-${process.pid}`
const able =
  process.getuid?.() === 0 &&
  ["ip", "iptables-restore", "nft"].every(
    (program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null,
  )
if (!able) console.warn("SKIPPED: kube-proxy in a network namespace needs root, ip, iptables and nft")

describe.skipIf(!able)("kube-proxy in a network namespace", () => {
  const host = hostIn(NETNS)
  beforeAll(() => void execFileSync("ip", ["netns", "add", NETNS]))
  afterAll(() => void execFileSync("ip", ["netns", "del", NETNS]))

  test("writes rules for a Service, follows its endpoints, and leaves nothing behind after the clean-up", async () => {
    // given a Service with an endpoint, and a rule of somebody else
    await host.run("iptables", ["-A", "INPUT", "-p", "icmp", "-j", "ACCEPT"])
    await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    const { client } = cluster
    await client.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { clusterIP: "10.43.7.7", type: "NodePort", ports: [{ port: 80, nodePort: 30_777 }] },
    })
    const slice = await client.create(EndpointSlice, {
      metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.42.0.5"] }],
      ports: [{ port: 8080 }],
    })
    const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
      nodeName: "node-0",
      clusterCidrs: ["10.42.0.0/16"],
      mode: "iptables",
      host,
    })

    // when it starts
    await proxy.start(new AbortController().signal)

    // then the kernel has the rules
    const nat = await host.run("iptables-save", ["-t", "nat"])
    expect(nat).toMatch(/-A PREROUTING .* -j KUBE-SERVICES/)
    expect(nat).toMatch(/-A KUBE-SERVICES -d 10\.43\.7\.7\/32 .* --dport 80 -j KUBE-SVC-/)
    expect(nat).toMatch(/--dport 30777 -j KUBE-EXT-/)
    expect(nat).toContain("--to-destination 10.42.0.5:8080")

    // when the endpoint changes
    await client.update(EndpointSlice, { ...slice, endpoints: [{ addresses: ["10.42.0.6"] }] })
    await cluster.settle()
    await proxy.stop()

    // then the rules follow
    const later = await host.run("iptables-save", ["-t", "nat"])
    expect(later).toContain("--to-destination 10.42.0.6:8080")
    expect(later).not.toContain("10.42.0.5")

    // when it is cleaned up, then only the other's rule is left
    await cleanUp(host)
    const left = (await host.run("iptables-save", []))
      .split("\n")
      .filter((line) => /^[-:]/.test(line) && !/^:(INPUT|OUTPUT|FORWARD|PREROUTING|POSTROUTING) /.test(line))
    expect(left).toEqual(["-A INPUT -p icmp -j ACCEPT"])
  })

  test("refuses a port that a Service does not have, and lets no packet out to an address without a Service", async () => {
    // given a machine with a way out, which a packet to a Service must never take
    await using web = await withService()
    for (const command of [
      "link set lo up",
      "link add out type veth peer name far",
      "link set out up",
      "link set far up",
      "addr add 192.0.2.1/24 dev out",
      "route add default via 192.0.2.2 dev out",
      "neigh add 192.0.2.2 lladdr 02:00:00:00:00:01 dev out",
      "addr add 10.43.0.10/32 dev lo",
    ])
      await host.run("ip", command.split(" "))
    const knock = async (address: string, port: number) => {
      const began = performance.now()
      const said = await host
        .run("/bin/busybox", ["nc", "-w", "2", address, String(port)])
        .catch((err: unknown) => String(err))
      return { said, seconds: Math.round((performance.now() - began) / 1000) }
    }
    // when the proxy runs
    await web.proxy(host).start(new AbortController().signal)
    // then
    expect((await knock("10.43.7.7", 81)).said).toContain("Connection refused")
    expect(await knock("10.43.7.8", 80)).toMatchObject({ said: expect.stringContaining("timed out"), seconds: 2 })
    // and the machine's own addresses of that range are not touched: nobody listens there, so the machine itself
    // refuses
    expect((await knock("10.43.0.10", 53)).said).toContain("Connection refused")
    expect(await host.run("iptables", ["-nvL", "KUBE-CLUSTER-IPS"])).toMatch(/^\s*[1-9]\d* .*DROP/m)
    await cleanUp(host)
  })

  test.each(PROXY_MODES)(
    "has 99 of 100 changes in the kernel within five seconds by %s, while many changes come and connections are deleted",
    async (mode) => {
      // given a proxy on the machine's own time
      await using cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
      const { client } = cluster
      const registry = new Registry()
      const context = cluster.contextFor("system:kube-proxy", ["system:masters"])
      const proxy = createKubeProxy(context, {
        nodeName: "node-0",
        clusterCidrs: ["10.42.0.0/16"],
        mode,
        host,
        metrics: registry,
      })
      await proxy.start(new AbortController().signal)
      await Bun.sleep(2) // times are counted from after its start
      const programmed = (upTo: string) =>
        Number(
          registry
            .text()
            .split("\n")
            .find(
              (line) =>
                line.startsWith("kubeproxy_network_programming_duration_seconds_bucket") &&
                line.includes(`le="${upTo}"`),
            )
            ?.split(" ")[1],
        )
      // when 60 Services of UDP get endpoints, and each moves twice
      const metadata = (name: string) => ({
        name,
        namespace: "default",
        labels: { "kubernetes.io/service-name": name },
        annotations: { "endpoints.kubernetes.io/last-change-trigger-time": new Date().toISOString() },
      })
      const names = Array.from({ length: 60 }, (_, i) => `s${i}`)
      await Promise.all(
        names.map(async (name, i) => {
          await client.create(Service, {
            metadata: { name, namespace: "default" },
            spec: { clusterIP: `10.43.8.${i + 1}`, ports: [{ port: 53, protocol: "UDP" }] },
          })
          let slice: EndpointSlice | undefined
          for (const hop of [1, 2, 3]) {
            const endpoints = [{ addresses: [`10.42.${hop}.${i + 1}`] }]
            slice =
              slice === undefined
                ? await client.create(EndpointSlice, {
                    metadata: metadata(name),
                    addressType: "IPv4",
                    endpoints,
                    ports: [{ port: 53, protocol: "UDP" }],
                  })
                : await client.update(EndpointSlice, {
                    ...slice,
                    metadata: { ...slice.metadata, ...metadata(name) },
                    endpoints,
                  })
            await Bun.sleep(hop * 40)
          }
        }),
      )
      await cluster.eventually(() => programmed("+Inf") === 180)
      // then
      expect(programmed("5")).toBeGreaterThanOrEqual(178)
      await proxy.stop()
      await cleanUp(host)
    },
    60_000,
  )

  test.each([
    ["nftables", (options: WriterOptions) => new NftablesWriter(options)],
    ["iptables", (options: WriterOptions) => new IptablesWriter(options)],
  ] as const)("is told by the kernel which Services it would take, which changes nothing: %s", async (_mode, make) => {
    // given a writer that has written a Service
    const own = { nodePortCidrs: [], ownAddresses: [], ownPorts: [], clusterCidr: "10.42.0.0/16" }
    const context = { host, clock: realClock, log: silent, metrics: new Registry() }
    const writer: RuleWriter = make({ ...own, ...context, family: "IPv4" })
    const serviceCidrs = ["10.43.0.0/16"]
    const port = samplePort()
    const changes = new Map([["default/web", { before: [], after: [port] }]])
    await writer.write({ ports: () => [port], changes, serviceCidrs })
    const rules = async () =>
      [await host.run("nft", ["list", "ruleset"]), await host.run("iptables-save", [])].join("\n")
    const before = (await rules()).replace(/^#.*$/gm, "")
    // when it is asked about others
    const isTaken = (ports: readonly ServicePort[]) => writer.accepts(new Map([["default/other", ports]]), serviceCidrs)
    const answers = [
      await isTaken([]),
      await isTaken([port]),
      await isTaken([samplePort({ clusterIp: "10.43.0.77" })]),
      await isTaken([port, samplePort({ clusterIp: "300.1.1.1" })]),
    ]
    // then
    expect(answers).toEqual([true, true, true, false])
    expect((await rules()).replace(/^#.*$/gm, "")).toBe(before)
    await cleanUp(host)
  })
})
