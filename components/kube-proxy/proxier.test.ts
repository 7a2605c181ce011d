import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import { silent } from "../../pkg/log/log.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { hostIn, type Host } from "../../pkg/netfilter/host.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { chooseMode, cleanUp } from "./mode.ts"
import { createKubeProxy } from "./proxier.ts"
import { PROXY_MODES, type ProxyMode } from "./rule-writer.ts"

const NETNS = `k3ts-proxy-test-${process.pid}`
const able =
  process.getuid?.() === 0 &&
  ["ip", "iptables-restore", "nft"].every(
    (program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null,
  )
if (!able) console.warn("SKIPPED: kube-proxy in a network namespace needs root, ip, iptables and nft")

/** A cluster without controllers, and a Service `web` at 10.43.7.7 whose one endpoint the test moves about. */
async function withService(protocol: "TCP" | "UDP" = "TCP") {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false } })
  const context = cluster.contextFor("system:kube-proxy", ["system:masters"])
  const { client } = cluster
  await client.create(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { clusterIP: "10.43.7.7", ports: [{ port: 80, protocol }] },
  })
  let slice = await client.create(EndpointSlice, {
    metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.42.0.5"] }],
    ports: [{ port: 8080, protocol }],
  })
  const registry = new Registry()
  const proxies: Component[] = []
  return {
    cluster,
    figures: () => registry.text(),
    proxy(host: Host, mode: ProxyMode = "iptables") {
      const proxy = createKubeProxy(context, {
        nodeName: "node-0",
        clusterCidrs: ["10.42.0.0/16"],
        mode,
        host,
        metrics: registry,
      })
      proxies.push(proxy)
      return proxy
    },
    /** Resolves when the proxy's informer has the new address. */
    async point(address: string, annotations: Record<string, string> = {}) {
      const seen = Promise.withResolvers<void>()
      const off = context.informers.of(EndpointSlice).on({ updated: () => seen.resolve() })
      slice = await client.update(EndpointSlice, {
        ...slice,
        metadata: { ...slice.metadata, annotations },
        endpoints: [{ addresses: [address] }],
      })
      await seen.promise
      off()
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await cluster.stop()
    },
  }
}

describe("kube-proxy", () => {
  test("goes on after a change that came while rules were being written", async () => {
    // given a proxy on a machine that only remembers what it is told
    await using web = await withService()
    const fed: string[] = []
    let meanwhile: (() => Promise<void>) | undefined
    const proxy = web.proxy({
      run: async () => "",
      async feed(_command, _args, input) {
        fed.push(input)
        const act = meanwhile
        meanwhile = undefined
        await act?.()
      },
    })
    await proxy.start(new AbortController().signal)
    // when an endpoint changes while the change before it is being written
    meanwhile = () => web.point("10.42.0.7")
    await web.point("10.42.0.6")
    await web.cluster.settle()
    expect(fed.at(-1)).toContain("10.42.0.7:8080")
    // then later changes are written too
    await web.point("10.42.0.8")
    await web.cluster.settle()
    expect(fed.at(-1)).toContain("10.42.0.8:8080")
  })

  test("ends although a change came while rules were being written", async () => {
    // given a proxy that is told to stop in the middle of a synchronisation, after another change
    await using web = await withService()
    let meanwhile: (() => Promise<void>) | undefined
    const proxy = web.proxy({
      run: async () => "",
      async feed() {
        const act = meanwhile
        meanwhile = undefined
        await act?.()
      },
    })
    await proxy.start(new AbortController().signal)
    const stopped = Promise.withResolvers<void>()
    meanwhile = async () => {
      await web.point("10.42.0.7")
      void proxy.stop().then(stopped.resolve)
    }
    // when
    await web.point("10.42.0.6")
    await web.cluster.settle()
    // then nothing goes on working for ever
    await stopped.promise
  })

  test("does not wait for the kernel to forget connections before it writes the next rules", async () => {
    // given a machine on which that takes for ever
    await using web = await withService("UDP")
    const fed: string[] = []
    const forgotten: string[] = []
    const stuck = Promise.withResolvers<string>()
    const proxy = web.proxy({
      run(command, args) {
        if (command !== "conntrack") return Promise.resolve("")
        forgotten.push(args.join(" "))
        return stuck.promise
      },
      feed: async (_command, _args, input) => void fed.push(input),
    })
    await proxy.start(new AbortController().signal)
    // when endpoints change twice
    await web.point("10.42.0.6")
    await web.cluster.settle()
    await web.point("10.42.0.7")
    await web.cluster.settle()
    // then both changes are written, and one call at a time waits
    expect(fed.at(-1)).toContain("10.42.0.7:8080")
    expect(forgotten).toHaveLength(1)
    // and what is left is done when it goes on, each once
    stuck.resolve("udp 17 src=10.42.0.9\n")
    await web.cluster.settle()
    expect(forgotten).toEqual([
      "-D -f ipv4 -p udp --orig-dst 10.43.7.7",
      "-D -f ipv4 -p udp --orig-dst 10.43.7.7 --dst-nat 10.42.0.5 --reply-port-src 8080",
      "-D -f ipv4 -p udp --orig-dst 10.43.7.7 --dst-nat 10.42.0.6 --reply-port-src 8080",
    ])
    expect(web.figures()).toContain('kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 3\n')
  })

  test("tries again a second after rules were not taken, with all of them, and tells of it", async () => {
    // given a machine that takes the first rules
    await using web = await withService()
    const fed: string[] = []
    let refusals = 0
    const proxy = web.proxy({
      run: async () => "",
      async feed(_command, _args, input) {
        fed.push(input)
        if (refusals-- > 0) throw new Error("iptables-restore failed with code 4")
      },
    })
    await proxy.start(new AbortController().signal)
    // when it does not take the next ones once
    refusals = 1
    await web.point("10.42.0.6")
    await web.cluster.settle()
    expect(proxy.problem?.()).toContain("code 4")
    fed.length = 0
    await web.cluster.advance("1s")
    // then
    expect(proxy.problem?.()).toBeUndefined()
    for (const rule of ["-A KUBE-MARK-MASQ -j MARK", "--to-destination 10.42.0.6:8080"]) expect(fed[0]).toContain(rule)
    for (const line of [
      'kubeproxy_sync_proxy_rules_iptables_restore_failures_total{ip_family="IPv4"} 1',
      'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total{ip_family="IPv4"} 1',
    ])
      expect(web.figures()).toContain(`${line}\n`)
  })

  test("measures from the change to the rules, and counts what it saw and wrote", async () => {
    // given a proxy on a machine that takes two seconds for rules
    await using web = await withService()
    let slow = false
    const proxy = web.proxy({
      run: async () => "",
      feed: () => (slow ? sleep(web.cluster.contextFor().clock, 2000) : Promise.resolve()),
    })
    await proxy.start(new AbortController().signal)
    await web.cluster.advance("10s")
    slow = true
    // when endpoints change a second after what they follow from
    const triggered = new Date(web.cluster.contextFor().clock.now()).toISOString()
    await web.cluster.advance("1s")
    await web.point("10.42.0.6", { "endpoints.kubernetes.io/last-change-trigger-time": triggered })
    await web.cluster.advance("5s")
    // then
    const figures = web.figures()
    for (const line of [
      'kubeproxy_network_programming_duration_seconds_sum{ip_family="IPv4"} 3',
      'kubeproxy_network_programming_duration_seconds_count{ip_family="IPv4"} 1',
      'kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 2',
      'kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1',
      'kubeproxy_sync_partial_proxy_rules_duration_seconds_sum{ip_family="IPv4"} 2',
      // The API's own Service is there too.
      "kubeproxy_sync_proxy_rules_endpoint_changes_total 3",
      "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
      "kubeproxy_sync_proxy_rules_service_changes_total 2",
      'kubeproxy_sync_proxy_rules_iptables_last{table="nat",ip_family="IPv4"} 4',
      'kubeproxy_sync_proxy_rules_no_local_endpoints_total{traffic_policy="internal",ip_family="IPv4"} 0',
      `kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} ${Date.parse(triggered) / 1000 + 3}`,
      `kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"} ${Date.parse(triggered) / 1000 + 1}`,
    ])
      expect(figures).toContain(`${line}\n`)
  })
})

describe("the mode of kube-proxy", () => {
  const answering = (nft: string | undefined): Host => ({
    run: (command) =>
      command === "nft" && nft === undefined ? Promise.reject(new Error("ENOENT")) : Promise.resolve(nft ?? ""),
    feed: async () => undefined,
  })
  const NEW = "nftables v1.0.6 (X)"
  const OLD = "nftables v0.9.8 (X)"
  test.each([
    { title: "nftables where the machine allows it", nft: NEW, asked: undefined, wants: "nftables" },
    { title: "iptables where nft is too old", nft: OLD, asked: undefined, wants: "iptables" },
    { title: "iptables where there is no nft", nft: undefined, asked: undefined, wants: "iptables" },
    { title: "iptables where it is asked for", nft: NEW, asked: "iptables" as const, wants: "iptables" },
    { title: "nftables where it is asked for", nft: NEW, asked: "nftables" as const, wants: "nftables" },
  ])("is $title", async ({ nft, asked, wants }) => {
    expect(await chooseMode(asked, ["IPv4", "IPv6"], answering(nft), silent)).toBe(wants as ProxyMode)
  })

  test("is refused, with the mend, where it is asked for and cannot be", async () => {
    await expect(chooseMode("nftables", ["IPv4"], answering(undefined), silent)).rejects.toThrow(
      "Cannot serve Services by nftables: nft is not on the PATH; apt-get install nftables",
    )
  })
})

describe("kube-proxy by nftables", () => {
  test("tries again to remove the rules of another mode, until that is done", async () => {
    // given a machine with rules of iptables that are held by somebody for a while
    await using web = await withService()
    const restores: string[] = []
    const proxy = web.proxy(
      {
        run: async (command, args) =>
          command === "iptables-save" && args[1] === "nat" ? ":KUBE-SERVICES - [0:0]\n" : "nftables v1.0.6 (X)",
        async feed(command, _args, input) {
          if (command === "iptables-restore" && restores.push(input) === 1) throw new Error("resource busy")
        },
      },
      "nftables",
    )
    await proxy.start(new AbortController().signal)
    await web.cluster.settle()
    expect(restores).toHaveLength(1)
    // when
    await web.cluster.advance("1s")
    // then
    expect(restores).toHaveLength(2)
    expect(restores[1]).toContain("-X KUBE-SERVICES")
  })

  test("writes everything a second after a transaction was not taken, and counts that", async () => {
    // given a machine that takes the first rules
    await using web = await withService()
    const fed: string[] = []
    let refusals = 0
    const host: Host = {
      run: async (_command, args) => (args[0] === "--version" ? "nftables v1.0.6 (X)" : ""),
      async feed(_command, _args, input) {
        fed.push(input)
        if (refusals-- > 0) throw new Error("nft failed with code 1")
      },
    }
    const proxy = web.proxy(host, "nftables")
    await proxy.start(new AbortController().signal)
    // when it does not take a change once
    refusals = 1
    await web.point("10.42.0.6")
    await web.cluster.settle()
    expect(proxy.problem?.()).toContain("code 1")
    expect(fed.at(-1)).toBe(
      [
        "delete element ip k3ts-proxy endpoint-ips-tcp { 10.43.7.7 . 80 . 0 }",
        'add element ip k3ts-proxy endpoint-ips-tcp { 10.43.7.7 . 80 . 0 comment "default/web -> 10.42.0.6:8080" ' +
          ": 10.42.0.6 . 8080 }",
        "",
      ].join("\n"),
    )
    await web.cluster.advance("1s")
    // then
    expect(proxy.problem?.()).toBeUndefined()
    for (const command of ["add chain ip k3ts-proxy nat-prerouting", ": 10.42.0.6 . 8080"])
      expect(fed.at(-1)).toContain(command)
    expect(web.figures()).toContain('kubeproxy_sync_proxy_rules_nftables_sync_failures_total{ip_family="IPv4"} 1\n')
  })
})

describe.skipIf(!able)("kube-proxy in a network namespace", () => {
  const host = hostIn(NETNS)
  beforeAll(() => void execFileSync("ip", ["netns", "add", NETNS]))
  afterAll(() => void execFileSync("ip", ["netns", "del", NETNS]))

  test("writes rules for a Service, follows its endpoints, and leaves nothing behind when cleaned up", async () => {
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

  test("refuses a port that a Service does not have, and lets nothing out to an address that no Service has", async () => {
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
    "has 99 of 100 changes in the kernel within five seconds by %s, while many come at once and flows are forgotten",
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
})
