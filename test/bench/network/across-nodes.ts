import { execFile, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { createKubeProxy } from "../../../components/kube-proxy/proxier.ts"
import { createNetworkPolicy } from "../../../components/network-policy/network-policy.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import type { Component } from "../../../pkg/component/component.ts"
import {
  addressOf,
  CLUSTER_CIDRS,
  NODES,
  nodeOf,
  NodesLab,
  nodesLabLacks,
  PODS,
} from "../../network/nodes-lab.fixtures.ts"
import { networkBetween } from "../../network/nodes.fixtures.ts"
import { median, type Benchmark, type Figure } from "../figure.ts"

const run = promisify(execFile)
const PORT = 7070
const ROUNDS = 16
const MS = 500
/** Each side has a processor, since where the kernel puts them matters more than what lies between. */
const on = (cpu: number): readonly string[] => ["taskset", "-c", String(cpu % availableParallelism())]
const STREAM = join(import.meta.dirname, "stream.ts")
/** The least share of the raw limit. */
const GOAL = 0.9

/**
 * One TCP stream from a pod to one on another node: by the pod network with the rules of kube-proxy and of a
 * NetworkPolicy, and by a VXLAN interface that `ip` makes between the same pods and bridges, without any rule. The
 * processor time shows what the rules cost also where other programs take their part of the processors.
 */
export const acrossNodes: Benchmark = {
  name: "across-nodes",
  needs() {
    const lacks = nodesLabLacks()
    return lacks === undefined ? undefined : `needs ${lacks}`
  },
  async *run() {
    await using ours = await NodesLab.start()
    await using raw = await NodesLab.start()
    await byHand(raw)
    await using network = await networkBetween(ours, "vxlan", ["IPv4"])
    const parts = await withRules(ours, network)
    const takers = [await taker(ours), await taker(raw)]
    try {
      const rates = new Map<NodesLab, Rate[]>([
        [ours, []],
        [raw, []],
      ])
      // In turns, as other programs take their part of the processors too.
      for (let round = 0; round < ROUNDS; round++)
        for (const lab of round % 2 === 0 ? [raw, ours] : [ours, raw]) rates.get(lab)!.push(await rate(lab))
      const what = "the same veths, bridges and VXLAN by ip, without rules"
      for (const [of, name] of [
        ["second", "TCP from a pod to one on another node"],
        ["processorSecond", "the same, for each second of processor time"],
      ] as const) {
        const middle = (lab: NodesLab) => median(rates.get(lab)!.map((each) => each[of]))
        const limit = middle(raw)
        yield {
          name,
          unit: "MB/s",
          value: middle(ours),
          goal: limit * GOAL,
          better: "more",
          limit: { what, value: limit },
        } satisfies Figure
      }
    } finally {
      for (const child of takers) child.kill()
      await Promise.all(parts.map((part) => part.stop()))
    }
  },
}

/** Makes the way between the nodes of a lab as an administrator would. */
async function byHand(lab: NodesLab): Promise<void> {
  for (const [i, node] of NODES.entries()) {
    const other = NODES[1 - i]!
    const [local, remote] = [addressOf(node, "IPv4"), addressOf(other, "IPv4")]
    const vxlan = ["type", "vxlan", "id", "1", "local", local, "remote", remote, "dstport", "8472", "dev", "eth0"]
    await lab.run(node, "ip", "link", "add", "raw", ...vxlan)
    await lab.run(node, "ip", "addr", "add", `10.99.0.${i + 1}/24`, "dev", "raw")
    await lab.run(node, "ip", "link", "set", "raw", "up")
    await lab.run(node, "ip", "route", "add", `10.42.${2 - i}.0/24`, "via", `10.99.0.${2 - i}`)
  }
}

/** Starts kube-proxy and network policies on the nodes, with a policy that lets the stream through. */
async function withRules(
  lab: NodesLab,
  { client, cluster }: Awaited<ReturnType<typeof networkBetween>>,
): Promise<readonly Component[]> {
  for (const name of PODS) {
    const spec = { nodeName: nodeOf(name), containers: [{ name: "only", image: "web" }] }
    await client.create(Pod, { metadata: { namespace: "default", name, labels: { pod: name } }, spec })
    const podIP = addressOf(name, "IPv4")
    const body = { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] } }
    await client.patch(Pod, { namespace: "default", name }, { type: "merge", body }, { subresource: "status" })
  }
  const peer = { podSelector: { matchLabels: { pod: "one-a" } } }
  const spec = { podSelector: {}, policyTypes: ["Ingress" as const], ingress: [{ from: [peer] }] }
  await client.create(NetworkPolicy, { metadata: { namespace: "default", name: "from-one-a" }, spec })
  const parts = NODES.flatMap((nodeName) => {
    const [context, host] = [cluster.contextFor("bench", ["system:masters"]), lab.host(nodeName)]
    return [
      createNetworkPolicy(context, { nodeName, families: ["IPv4"], bridge: "cni0", host }),
      createKubeProxy(context, { nodeName, clusterCidrs: [CLUSTER_CIDRS.IPv4], host }),
    ]
  })
  for (const part of parts) await part.start(new AbortController().signal)
  return parts
}

async function taker(lab: NodesLab): Promise<ChildProcess> {
  const child = spawn("ip", [
    "netns",
    "exec",
    lab.netns("two-a"),
    ...on(1),
    process.execPath,
    STREAM,
    "take",
    String(PORT),
  ])
  await once(child.stdout, "data")
  return child
}

/** The MB of one stream. */
interface Rate {
  readonly second: number
  readonly processorSecond: number
}

async function rate(lab: NodesLab): Promise<Rate> {
  const send = [...on(0), process.execPath, STREAM, "send", addressOf("two-a", "IPv4"), String(PORT), String(MS)]
  const { stdout } = await run("ip", ["netns", "exec", lab.netns("one-a"), ...send])
  const [second = NaN, processorSecond = NaN] = stdout.trim().split(" ").map(Number)
  return { second, processorSecond }
}
