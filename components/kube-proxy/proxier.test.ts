import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { sleep } from "../../pkg/clock/clock.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { Event } from "../../pkg/api/events/v1/event.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { ServiceCIDR } from "../../pkg/api/networking/v1/servicecidr.ts"
import type { Host } from "../../pkg/netfilter/host.ts"
import type { ProxyHealthReport } from "./health/proxy-health.ts"
import { withService } from "./proxier.fixtures.ts"

describe("kube-proxy", () => {
  test("applies a change that comes while it writes rules", async () => {
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

  test.each([
    ["is given to another Service", { "kubernetes.io/service-name": "other" }],
    [
      "becomes that of a headless Service",
      { "kubernetes.io/service-name": "web", "service.kubernetes.io/headless": "" },
    ],
    [
      "is given to another proxy",
      { "kubernetes.io/service-name": "web", "service.kubernetes.io/service-proxy-name": "other" },
    ],
    ["loses its Service", {}],
  ])("forgets the endpoints of an EndpointSlice at once that %s", async (_title, labels) => {
    // given
    await using web = await withService()
    const fed: string[] = []
    const proxy = web.proxy({ run: async () => "", feed: async (_command, _args, input) => void fed.push(input) })
    await proxy.start(new AbortController().signal)
    expect(fed.join()).toContain("10.42.0.5:8080")
    // when
    const slice = await web.cluster.client.get(EndpointSlice, { namespace: "default", name: "web-1" })
    await web.cluster.client.update(EndpointSlice, { ...slice, metadata: { ...slice.metadata, labels } })
    await web.cluster.settle()
    // then
    expect(fed.at(-1)).toContain("default/web has no endpoints")
  })

  test("serves an external address while no node and no range of cluster IPs has it, and heeds no other change of nodes", async () => {
    // given a Service with an external address
    await using web = await withService()
    const { client } = web.cluster
    const [service, external] = [{ namespace: "default", name: "web" }, "203.0.113.5"]
    await client.patch(Service, service, { type: "merge", body: { spec: { externalIPs: [external] } } })
    const fed: string[] = []
    const proxy = web.proxy({ run: async () => "", feed: async (_command, _args, input) => void fed.push(input) })
    await proxy.start(new AbortController().signal)
    const isServed = async () => {
      await web.cluster.settle()
      // A chain is written whole.
      return fed.findLast((text) => text.includes("default/web cluster IP"))!.includes("default/web external IP")
    }
    const runs = () => Number(/sync_proxy_rules_duration_seconds_count\S* (\d+)/.exec(web.figures())![1])
    expect(await isServed()).toBe(true)
    const report = (status: object) =>
      client.patch(Node, { name: "node-1" }, { type: "merge", body: { status } }, { subresource: "status" })
    // when, then
    const addresses = [{ type: "ExternalIP", address: external }]
    await client.create(Node, { metadata: { name: "node-1" }, status: { addresses } })
    expect(await isServed()).toBe(false)
    await report({ addresses: [{ type: "ExternalIP", address: "203.0.113.6" }] })
    expect(await isServed()).toBe(true)
    await report({ addresses })
    expect(await isServed()).toBe(false)
    const before = runs()
    await report({ conditions: [{ type: "Ready", status: "True" }] })
    expect([await isServed(), runs()]).toEqual([false, before])
    await client.delete(Node, { name: "node-1" })
    expect(await isServed()).toBe(true)
    await client.create(ServiceCIDR, { metadata: { name: "more" }, spec: { cidrs: ["203.0.113.0/24"] } })
    expect(await isServed()).toBe(false)
  })

  test("stops although a change came while it was writing rules", async () => {
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

  test("does not wait for the kernel to delete connections before it writes the next rules", async () => {
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

  test("writes all rules again a second after a write failed, and reports the failure", async () => {
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

  test("is unhealthy while a change has waited for its rules for a minute, and serves that until it stops", async () => {
    // given a proxy that has written rules
    await using web = await withService()
    await web.cluster.client.create(Node, { metadata: { name: "node-0" } })
    const slow = Promise.withResolvers<void>()
    let isSlow = false
    const host: Host = { run: async () => "", feed: () => (isSlow ? slow.promise : Promise.resolve()) }
    const [healthzPort, statusPort] = [await freePort(), await freePort()]
    const proxy = web.proxy(host, "iptables", {
      serving: {
        health: [{ host: "127.0.0.1", port: healthzPort }],
        status: [{ host: "127.0.0.1", port: statusPort }],
      },
    })
    await proxy.start(new AbortController().signal)
    const healthz = async () => {
      const answer = await fetch(`http://127.0.0.1:${healthzPort}/healthz`)
      return { code: answer.status, ...((await answer.json()) as ProxyHealthReport) }
    }
    await web.cluster.advance("1h")
    expect(await healthz()).toMatchObject({ code: 200, status: { IPv4: { healthy: true } } })
    // when the kernel does not take the next ones
    isSlow = true
    await web.point("10.42.0.6")
    await web.cluster.advance("59s")
    expect((await healthz()).code).toBe(200)
    await web.cluster.advance("1s")
    // then
    expect(await healthz()).toMatchObject({ code: 503, nodeEligible: true, status: { IPv4: { healthy: false } } })
    // and when it does again
    slow.resolve()
    await web.cluster.settle()
    expect((await healthz()).code).toBe(200)
    await proxy.stop()
    await expect(healthz()).rejects.toThrow()
  })

  test("says in an Event about the Node that it has started", async () => {
    // given
    await using web = await withService()
    const proxy = web.proxy({ run: async () => "", feed: () => Promise.resolve() })
    // when
    await proxy.start(new AbortController().signal)
    await web.cluster.settle()
    // then
    const { items } = await web.cluster.client.list(Event, { namespace: "default" })
    expect(items.map(({ metadata: _, eventTime: __, ...event }) => event)).toMatchObject([
      {
        type: "Normal",
        reason: "Starting",
        action: "StartKubeProxy",
        regarding: { kind: "Node", name: "node-0", apiVersion: "v1" },
        reportingController: "kube-proxy",
        reportingInstance: "kube-proxy-node-0",
        deprecatedSource: {},
      },
    ])
    expect(items[0]!.regarding).not.toHaveProperty("uid")
  })

  test("measures the time from the change to the rules, and counts what it has read and written", async () => {
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

describe("kube-proxy by nftables", () => {
  test("retries the removal of the other mode's rules until it succeeds", async () => {
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

  test("writes all rules a second after a transaction failed, and counts the failure", async () => {
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

  test("drops packets to addresses of a range of cluster IPs that was added later", async () => {
    // given
    await using web = await withService()
    const fed: string[] = []
    const host: Host = {
      run: async (_command, args) => (args[0] === "--version" ? "nftables v1.0.6 (Lester Gooch #5)" : ""),
      feed: async (_command, _args, input) => void fed.push(input),
    }
    await web.proxy(host, "nftables").start(new AbortController().signal)
    expect(fed.at(-1)).not.toContain("203.0.113.0/24")
    // when
    const more = { metadata: { name: "more" }, spec: { cidrs: ["203.0.113.0/24"] } }
    await web.cluster.client.create(ServiceCIDR, more)
    await web.cluster.settle()
    // then
    expect(fed.at(-1)).toContain("203.0.113.0/24")
  })
})
