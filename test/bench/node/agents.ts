import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { besideServers, serverList } from "../../../components/cluster/agent.ts"
import { runComponents } from "../../../components/cluster/lifecycle.ts"
import { loneSimulatedNode } from "../../../components/cluster/node/simulated-node.ts"
import { AgentFiles } from "../../../components/supervisor/agent/agent-files.ts"
import { joinCluster } from "../../../components/supervisor/agent/join.ts"
import { Membership } from "../../../components/supervisor/agent/membership.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { silent } from "../../../pkg/log/log.ts"
import { agentToken, startAgent } from "../../harness/agent.ts"
import { startCluster } from "../../harness/cluster.ts"
import { machinesLack, startMachines } from "../../harness/machine.ts"
import { startServer, type TestServer } from "../../harness/server.ts"
import { median, type Benchmark } from "../figure.ts"

const JOINS = 5
const AGENTS = 100
const IDLE_MS = 60_000

/** Nodes on other machines: how soon one has joined, and what many cost the server. */
export const agents: Benchmark = {
  name: "agents",
  needs() {
    const lacks = machinesLack()
    return lacks.length === 0 ? undefined : `needs ${lacks.join(", ")}`
  },
  async *run() {
    yield {
      name: `agent joins → node Ready (median of ${JOINS})`,
      unit: "s",
      value: median(await joins()),
      goal: 1,
      better: "less",
    }
    await using server = await startServer()
    const alone = server.residentMb()
    await using many = await manyAgents(server)
    await until(server, (nodes) => nodes.length === AGENTS && nodes.every(isReady))
    await Bun.sleep(10_000)
    const [cpu, at] = [server.cpuSeconds(), performance.now()]
    await Bun.sleep(IDLE_MS)
    const value = ((server.cpuSeconds() - cpu) * 100_000) / (performance.now() - at)
    yield { name: `server's CPU, ${many.count} idle agents`, unit: "% of a core", value, goal: 10, better: "less" }
    yield {
      name: `server's memory, ${many.count} agents`,
      unit: "MB",
      value: server.residentMb(),
      limit: { what: "the server alone", value: alone },
      goal: 300,
      better: "less",
    }
  },
}

/** Seconds from the start of an agent on a new machine until its node is ready. */
async function joins(): Promise<readonly number[]> {
  await using machines = await startMachines()
  await using cluster = await startCluster({ machine: await machines.add("server") })
  const seconds: number[] = []
  for (let i = 0; i < JOINS; i++) {
    const machine = await machines.add(`agent-${i}`)
    const from = performance.now()
    const { host, port } = cluster.server
    await using _ = startAgent({ machine, server: `https://${host}:${port}`, token: agentToken(cluster.server) })
    await cluster.until(Node, machine.name, isReady)
    seconds.push((performance.now() - from) / 1000)
  }
  return seconds
}

/** Agents with simulated machines, all in this process: each has its own certificates and connections. */
async function manyAgents(server: TestServer): Promise<AsyncDisposable & { readonly count: number }> {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-agents-"))
  const ending = new AbortController()
  const { signal } = ending
  const tools = { clock: realClock, random: systemRandom, log: silent, spawn }
  const running: Promise<void>[] = []
  for (let i = 0; i < AGENTS; i++) {
    const [nodeName, dataDir, nodeIps] = [`agent-${i}`, join(folder, String(i)), [`198.19.0.${i + 1}`]]
    const membership = new Membership({
      ...tools,
      files: new AgentFiles(dataDir, join(dataDir, "password")),
      token: agentToken(server),
      nodeName,
      nodeIps: () => nodeIps,
    })
    const servers = serverList(`https://${server.host}:${server.port}`, realClock)
    await joinCluster({ ...tools, membership, servers, signal })
    const names = { nodeName, nodeIps, kubeletPort: 0 }
    const place = besideServers(tools, { membership, servers, isUninformed: false, names })
    const spec = {
      name: nodeName,
      ips: nodeIps,
      cpus: 4,
      memoryBytes: 8 * 2 ** 30,
      diskBytes: 100 * 2 ** 30,
      maxPods: 110,
      labels: {},
      taints: [],
      syncFrequencyMs: 60_000,
    }
    const { clusterCidrs, clusterDomain } = membership.remembered!.config
    const node = loneSimulatedNode(tools, place, { spec, dataDir, clusterCidrs, clusterDomain })
    running.push(runComponents(node, { ...tools, signal }))
  }
  return {
    count: AGENTS,
    async [Symbol.asyncDispose]() {
      ending.abort(new Error("the benchmark has ended"))
      await Promise.all(running)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const spawn = (name: string, run: () => Promise<void>): void =>
  void run().catch((err: unknown) => console.error(`${name} failed`, err))

const isReady = ({ status }: Pick<Node, "status">): boolean =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true

async function until(server: TestServer, wanted: (nodes: readonly Node[]) => boolean): Promise<void> {
  const deadline = performance.now() + 120_000
  while (performance.now() < deadline) {
    const { items } = JSON.parse((await server.get("/api/v1/nodes")).body.toString()) as { items: readonly Node[] }
    if (wanted(items)) return
    await Bun.sleep(200)
  }
  throw new Error("the nodes are not ready after 120 s")
}
