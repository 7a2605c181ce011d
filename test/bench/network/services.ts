import { EndpointSlice } from "../../../pkg/api/discovery/v1/endpointslice.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { addressAt, FAMILIES, parseNetwork, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { findNft } from "../../../pkg/netfilter/nft.ts"
import { startCluster } from "../../../components/cluster/testing/cluster.ts"
import { IptablesWriter } from "../../../components/kube-proxy/iptables/writer.ts"
import { NftablesWriter } from "../../../components/kube-proxy/nftables/writer.ts"
import { ANSWER_PORT } from "../../../components/kube-proxy/packets/lab-agents.fixtures.ts"
import { LAB, PacketLab } from "../../../components/kube-proxy/packets/packet-lab.fixtures.ts"
import { createKubeProxy } from "../../../components/kube-proxy/proxier.ts"
import { PROXY_MODES, type ProxyMode, type ServiceChange } from "../../../components/kube-proxy/rule-writer.ts"
import { samplePort } from "../../../components/kube-proxy/service-port.fixtures.ts"
import { cpuMs, type Benchmark, type Figure } from "../figure.ts"

/** How many Services there are already. By iptables on nf_tables the rules of 10,000 take minutes to write. */
const COUNTS: Readonly<Record<ProxyMode, Readonly<Record<Family, readonly number[]>>>> = {
  nftables: { IPv4: [10, 1000, 10_000], IPv6: [10, 1000, 10_000] },
  iptables: { IPv4: [10, 1000], IPv6: [10] },
}
/** New Services, and updates, that are measured: fewer by iptables, where each takes longer. */
const SAMPLES: Readonly<Record<ProxyMode, number>> = { nftables: 100, iptables: 10 }
const SERVICE_CIDRS: Readonly<Record<Family, string>> = { IPv4: "10.43.0.0/16", IPv6: "fd43::/112" }
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
        for (const family of FAMILIES)
          for (const count of COUNTS[mode][family]) {
            const run = { mode, family, count }
            yield* reachable(lab, run)
            yield await updateCost(lab, run)
          }
    } finally {
      await lab.stop()
    }
  },
}

interface Run {
  readonly mode: ProxyMode
  readonly family: Family
  readonly count: number
}

const nameOf = ({ mode, family, count }: Run): string => `${mode}, ${family}, ${count} Services`

const clusterIp = (family: Family, i: number): string => addressAt(parseNetwork(SERVICE_CIDRS[family])!, 256 + i)

async function* reachable(lab: PacketLab, run: Run): AsyncGenerator<Figure> {
  const { mode, family, count } = run
  const { pods, clusterCidr } = LAB[family]
  const cluster = await startCluster({
    clock: "real",
    ipFamilies: [family],
    components: { scheduler: false, controllers: false },
  })
  const create = async (i: number, name = `s${i}`) => {
    const metadata = { name, namespace: "default" }
    await cluster.client.create(EndpointSlice, {
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": name } },
      addressType: family,
      endpoints: [{ addresses: [pods["web-1"]] }, { addresses: [pods["web-2"]] }],
      ports: [{ port: ANSWER_PORT }],
    })
    await cluster.client.create(Service, { metadata, spec: { clusterIP: clusterIp(family, i), ports: [{ port: 80 }] } })
  }
  for (let i = 0; i < count; i++) await create(i)
  const proxy = createKubeProxy(cluster.contextFor("system:kube-proxy", ["system:masters"]), {
    nodeName: "node-0",
    clusterCidrs: [clusterCidr],
    mode,
    host: lab.host,
  })
  const began = performance.now()
  await proxy.start(new AbortController().signal)
  yield {
    name: `${nameOf(run)}: all rules written`,
    unit: "ms",
    value: performance.now() - began,
    better: "less",
  }
  const times: number[] = []
  for (let i = count; i < count + SAMPLES[mode]; i++) {
    const start = performance.now()
    await create(i, `new${i}`)
    await lab.reach("pod-a", clusterIp(family, i), 80)
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
      name: `${nameOf(run)}: created until reachable, ${what}`,
      unit: "ms",
      value: times[Math.min(times.length - 1, Math.floor(times.length * part))]!,
      goal: mode === "nftables" && what === "p99" ? GOALS.reachableMs : undefined,
      better: "less",
    }
}

/** Processor time, ours and that of nft or iptables-restore, of an update in which one Service moves an endpoint. */
async function updateCost(lab: PacketLab, run: Run): Promise<Figure> {
  const { mode, family, count } = run
  const { pods, clusterCidr } = LAB[family]
  const podRange = parseNetwork(clusterCidr)!
  const parts = {
    family,
    clusterCidr,
    nodePortCidrs: [],
    ownAddresses: [],
    ownPorts: [],
    host: lab.host,
    metrics: new Registry(),
  }
  const writer =
    mode === "nftables" ? new NftablesWriter({ ...parts, clock: realClock, log: silent }) : new IptablesWriter(parts)
  const portAt = (i: number, last: number) =>
    samplePort({
      name: `default/s${i}`,
      clusterIp: clusterIp(family, i),
      cluster: [pods["web-1"], addressAt(podRange, 512 + last)].map((ip) => ({ ip, port: ANSWER_PORT, local: false })),
    })
  const ports = Array.from({ length: count }, (_, i) => [portAt(i, 1)])
  const write = (changes: ReadonlyMap<string, ServiceChange>) =>
    writer.write({ ports: () => ports.flat(), changes, serviceCidrs: [SERVICE_CIDRS[family]] })
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
    name: `${nameOf(run)}: processor time of an update`,
    unit: "ms",
    value: (cpuMs() - start) / updates,
    goal: mode === "nftables" ? GOALS.updateMs : undefined,
    better: "less",
  }
}
