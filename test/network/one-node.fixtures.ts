/**
 * The pod network of a node in the network namespace of this process: what it does while the node is alone, what it
 * repairs when a minute is over and when it starts again, and what it does with another node. Prints all as JSON.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { CONFIG_NAME } from "../../components/containerd/network/cni.ts"
import { createPodNetwork } from "../../components/containerd/network/pod-network.ts"
import { containerdPaths } from "../../components/containerd/paths.ts"
import { startCluster } from "../../components/cluster/testing/cluster.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import { UPKEEP_MS } from "../../pkg/component/upkeep.ts"

/** What the test observes of the node. */
export interface Seen {
  readonly links: readonly string[]
  readonly annotations: Readonly<Record<string, string>> | undefined
  /** Timers that were set since the start. */
  readonly timers: number
  /** Modules of the way to other nodes that were loaded. */
  readonly loaded: readonly string[]
  readonly routeMtu: number | undefined
}

/** What the node has repaired. */
export interface Repaired {
  /** The address of the pods' bridge. */
  readonly address: string
  /** Whether packets to and from pods are forwarded. */
  readonly forwards: boolean
}

for (const link of ["lo", "eth0"]) {
  if (link !== "lo") execFileSync("ip", ["link", "add", link, "type", "bridge"])
  execFileSync("ip", ["link", "set", link, "up"])
}
execFileSync("ip", ["addr", "add", "192.0.2.11/24", "dev", "eth0"])
const folder = mkdtempSync(join(tmpdir(), "k3ts-one-node-"))
const paths = containerdPaths(join(folder, "data"), join(folder, "run"))
mkdirSync(paths.cniConfig, { recursive: true })
const cluster = await startCluster({ clock: "real", components: { scheduler: false, controllers: false } })
const { client } = cluster
const context = cluster.contextFor("test:pod-network", ["system:masters"])
let timers = 0
/** What is to be done when a minute is over. */
let eachMinute: (() => void) | undefined
const clock = Object.create(context.clock, {
  setTimeout: {
    value: (...args: Parameters<Clock["setTimeout"]>) => {
      timers++
      const [callback, ms] = args
      if (ms === UPKEEP_MS) eachMinute = callback
      return context.clock.setTimeout(...args)
    },
  },
}) as Clock

async function add(name: string, i: number, annotations = {}): Promise<void> {
  const [podCIDR, address] = [`10.42.${i}.0/24`, `192.0.2.1${i}`]
  await client.create(Node, { metadata: { name, annotations }, spec: { podCIDR, podCIDRs: [podCIDR] } })
  const body = { status: { addresses: [{ type: "InternalIP", address }] } }
  await client.patch(Node, { name }, { type: "merge", body }, { subresource: "status" })
}

async function look(): Promise<Seen> {
  const { metadata } = await client.get(Node, { name: "one" })
  const config = JSON.parse(readFileSync(join(paths.cniConfig, CONFIG_NAME), "utf8")) as {
    plugins: readonly { routeMtu?: number; mtu: number }[]
  }
  return {
    links: execFileSync("ip", ["-o", "link"], { encoding: "utf8" })
      .trim()
      .split("\n")
      .map((line) => /^\d+: ([^:@]+)/.exec(line)![1]!),
    annotations: metadata.annotations,
    timers,
    loaded: Object.keys(require.cache)
      .map((path) => relative(join(import.meta.dirname, "../.."), path))
      .filter((path) => /network\/backend\/|pkg\/runtime\/netlink/.test(path)),
    routeMtu: config.plugins[0]!.routeMtu ?? (config.plugins[0]!.mtu < 1500 ? config.plugins[0]!.mtu : undefined),
  }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve))
}

const bridgeAddress = () =>
  / inet (\S+)/.exec(execFileSync("ip", ["-o", "-4", "addr", "show", "dev", "cni0"], { encoding: "utf8" }))?.[1]
const forwards = () => execFileSync("iptables", ["-S", "FORWARD"], { encoding: "utf8" }).includes("K3TS-FORWARD")

/** Takes the address from the bridge and the rules from the firewall, and waits until they are there again. */
async function repairedBy(repairs: () => Promise<void> | void): Promise<Repaired> {
  execFileSync("ip", ["addr", "flush", "dev", "cni0"])
  execFileSync("iptables", ["-F", "FORWARD"])
  await repairs()
  await until(() => bridgeAddress() !== undefined && forwards())
  return { address: bridgeAddress()!, forwards: forwards() }
}

await add("one", 1)
async function start(): Promise<Component> {
  const part = createPodNetwork(
    { ...context, clock },
    {
      paths,
      nodeName: "one",
      clusterCidrs: ["10.42.0.0/16"],
      node: client,
      maxPods: 110,
      betweenNodes: { backend: "vxlan", masqueradesIPv6: true },
    },
  )
  await part.start(new AbortController().signal)
  return part
}
let part = await start()
// Nodes are seen in the turn of their commit.
await client.patch(Node, { name: "one" }, { type: "merge", body: { metadata: { labels: { a: "b" } } } })
const alone = await look()
execFileSync("ip", ["link", "add", "cni0", "type", "bridge"])
const afterMinute = await repairedBy(() => eachMinute!())
const afterStart = await repairedBy(async () => {
  await part.stop()
  part = await start()
})
execFileSync("ip", ["link", "delete", "cni0"])
await add("two", 2, {
  "flannel.alpha.coreos.com/backend-type": "vxlan",
  "flannel.alpha.coreos.com/public-ip": "192.0.2.12",
  "flannel.alpha.coreos.com/backend-data": '{"VNI":1}',
})
let together = await look()
while (together.routeMtu === undefined || together.annotations === undefined || together.links.length < 3) {
  await new Promise((resolve) => setImmediate(resolve))
  together = await look()
}
await part.stop()
await cluster.stop()
rmSync(folder, { recursive: true })
console.log(JSON.stringify({ alone, afterMinute, afterStart, together }))
process.exit()
