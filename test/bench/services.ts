import { readFileSync } from "node:fs"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { realClock } from "../../pkg/clock/real.ts"
import { silent } from "../../pkg/log/log.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { findNft } from "../../pkg/netfilter/nft.ts"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { IptablesWriter } from "../../components/kube-proxy/iptables/writer.ts"
import { NftablesWriter } from "../../components/kube-proxy/nftables/writer.ts"
import { ANSWER_PORT, LAB, PacketLab } from "../../components/kube-proxy/packet-lab.fixtures.ts"
import { createKubeProxy } from "../../components/kube-proxy/proxier.ts"
import { PROXY_MODES, type ProxyMode, type ServiceChange } from "../../components/kube-proxy/rule-writer.ts"
import { samplePort } from "../../components/kube-proxy/service-port.fixtures.ts"
import type { Benchmark, Figure } from "./figure.ts"

/** How many Services there are already. By iptables on nf_tables the rules of 10,000 take minutes to write. */
const COUNTS: Readonly<Record<ProxyMode, readonly number[]>> = {
  nftables: [10, 1000, 10_000],
  iptables: [10, 1000],
}
/** New Services, and updates, that are measured: fewer by iptables, where each takes longer. */
const SAMPLES: Readonly<Record<ProxyMode, number>> = { nftables: 100, iptables: 10 }
const CLUSTER_CIDR = "10.42.0.0/16"
const GOALS = { reachableMs: 100, updateMs: 20 }

/** Services in a network namespace: how long until a new one is reached, and what an update of the rules costs. */
export const services: Benchmark = {
  name: "services",
  needs: () => (process.getuid?.() === 0 ? undefined : "needs root"),
  async *run() {
    const lab = await PacketLab.start("bench")
    try {
      const nft = await findNft(lab.host)
      for (const mode of PROXY_MODES.filter((each) => each === "iptables" || nft.usable))
        for (const count of COUNTS[mode]) {
          yield* reachable(lab, mode, count)
          yield await updateCost(lab, mode, count)
        }
    } finally {
      await lab.stop()
    }
  },
}

const clusterIp = (i: number): string => `10.43.${(i >> 8) + 1}.${i & 255}`

async function* reachable(lab: PacketLab, mode: ProxyMode, count: number): AsyncGenerator<Figure> {
  const cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
  const create = async (i: number, name = `s${i}`) => {
    const metadata = { name, namespace: "default" }
    await cluster.client.create(EndpointSlice, {
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [{ addresses: [LAB.IPv4.pods["web-1"]] }, { addresses: [LAB.IPv4.pods["web-2"]] }],
      ports: [{ port: ANSWER_PORT }],
    })
    await cluster.client.create(Service, { metadata, spec: { clusterIP: clusterIp(i), ports: [{ port: 80 }] } })
  }
  for (let i = 0; i < count; i++) await create(i)
  const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
    nodeName: "node-0",
    clusterCidrs: [CLUSTER_CIDR],
    mode,
    host: lab.host,
  })
  const began = performance.now()
  await proxy.start(new AbortController().signal)
  yield {
    name: `${mode}, ${count} Services: all rules written`,
    unit: "ms",
    value: performance.now() - began,
    better: "less",
  }
  const times: number[] = []
  for (let i = count; i < count + SAMPLES[mode]; i++) {
    const start = performance.now()
    await create(i, `new${i}`)
    await lab.reach("pod-a", clusterIp(i), 80)
    times.push(performance.now() - start)
  }
  await proxy.stop()
  await cluster.stop()
  times.sort((a, b) => a - b)
  for (const [what, part] of [
    ["p50", 0.5],
    ["p99", 0.99],
  ] as const)
    yield {
      name: `${mode}, ${count} Services: created until reachable, ${what}`,
      unit: "ms",
      value: times[Math.min(times.length - 1, Math.floor(times.length * part))]!,
      goal: mode === "nftables" && what === "p99" ? GOALS.reachableMs : undefined,
      better: "less",
    }
}

/** Processor time, ours and that of nft or iptables-restore, of an update in which one Service moves an endpoint. */
async function updateCost(lab: PacketLab, mode: ProxyMode, count: number): Promise<Figure> {
  const parts = {
    family: "IPv4" as const,
    clusterCidr: CLUSTER_CIDR,
    nodePortCidrs: [],
    host: lab.host,
    metrics: new Registry(),
  }
  const writer =
    mode === "nftables" ? new NftablesWriter({ ...parts, clock: realClock, log: silent }) : new IptablesWriter(parts)
  const portAt = (i: number, last: number) =>
    samplePort({
      name: `default/s${i}`,
      clusterIp: clusterIp(i),
      cluster: [LAB.IPv4.pods["web-1"], `10.42.2.${last}`].map((ip) => ({ ip, port: ANSWER_PORT, local: false })),
    })
  const ports = Array.from({ length: count }, (_, i) => [portAt(i, 1)])
  const write = (changes: ReadonlyMap<string, ServiceChange>) =>
    writer.write({ ports: () => ports.flat(), changes, serviceCidrs: ["10.43.0.0/16"] })
  await write(new Map(ports.map((after, i) => [`default/s${i}`, { before: [], after }])))
  const updates = SAMPLES[mode]
  const start = cpuMs()
  for (let k = 0; k < updates; k++) {
    const i = k % count
    const before = ports[i]!
    ports[i] = [portAt(i, k + 2)]
    await write(new Map([[`default/s${i}`, { before, after: ports[i] }]]))
  }
  return {
    name: `${mode}, ${count} Services: processor time of an update`,
    unit: "ms",
    value: (cpuMs() - start) / updates,
    goal: mode === "nftables" ? GOALS.updateMs : undefined,
    better: "less",
  }
}

/** Milliseconds of processor time that this process and those that it started have used; a tick is 10 ms. */
function cpuMs(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ")
  const ofChildren = (Number(fields[13]) + Number(fields[14])) * 10
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + ofChildren
}
