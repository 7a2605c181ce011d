import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { execFileSync } from "node:child_process"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service.ts"
import { startCluster } from "../../pkg/testing/cluster.ts"
import { cleanUp, hostIn, type Host } from "./iptables.ts"
import { createKubeProxy } from "./proxier.ts"

const NETNS = `k3ts-proxy-test-${process.pid}`
const able =
  process.getuid?.() === 0 &&
  ["ip", "iptables-restore"].every(
    (program) => Bun.which(program, { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` }) !== null,
  )
if (!able) console.warn("SKIPPED: kube-proxy in a network namespace needs root, ip and iptables")

describe("kube-proxy", () => {
  test("goes on after a change that came while rules were being written", async () => {
    // given a proxy on a machine that only remembers what it is told
    await using cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    const { client } = cluster
    await client.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { clusterIP: "10.43.7.7", ports: [{ port: 80 }] },
    })
    let slice = await client.create(EndpointSlice, {
      metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.42.0.5"] }],
      ports: [{ port: 8080 }],
    })
    const point = async (address: string) => {
      const seen = Promise.withResolvers<void>()
      const off = context.informers.of(EndpointSlice).on({ updated: () => seen.resolve() })
      slice = await client.update(EndpointSlice, { ...slice, endpoints: [{ addresses: [address] }] })
      await seen.promise
      off()
    }
    const fed: string[] = []
    let meanwhile: (() => Promise<void>) | undefined
    const host: Host = {
      run: async () => "",
      async feed(_command, _args, input) {
        fed.push(input)
        const act = meanwhile
        meanwhile = undefined
        await act?.()
      },
    }
    const context = cluster.contextFor("system:kube-proxy", ["system:masters"])
    const proxy = createKubeProxy(context, { nodeName: "node-0", clusterCidr: "10.42.0.0/16", host })
    await proxy.start(new AbortController().signal)
    // when an endpoint changes while the change before it is being written
    meanwhile = () => point("10.42.0.7")
    await point("10.42.0.6")
    await cluster.settle()
    expect(fed.at(-1)).toContain("10.42.0.7:8080")
    // then later changes are written too
    await point("10.42.0.8")
    await cluster.settle()
    expect(fed.at(-1)).toContain("10.42.0.8:8080")
    await proxy.stop()
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
      clusterCidr: "10.42.0.0/16",
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
})
