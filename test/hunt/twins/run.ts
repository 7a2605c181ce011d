import {
  Node,
  Pod,
  startCluster,
  StatefulSet,
  TestClusterError,
  type Cluster,
  type ContainerHandle,
  type Fault,
} from "../../../components/cluster/testing/testing.ts"
import { seededRandom, type Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../chance.ts"

const ROUNDS = 12
const NODES = 4
const REPLICAS = 3
const IMAGE = "database"

/** What a run found, and how much it did. */
export interface TwinsVerdict {
  readonly problems: readonly string[]
  /** How many containers were started. */
  readonly starts: number
  readonly faults: number
}

/**
 * Runs a StatefulSet on several nodes and servers while nodes, servers and the network between them fail at random, and
 * pods are deleted, scaled and updated, but never by force. Whenever a container starts, no other one of a pod of the
 * same name may run on any node, also on one that nobody can reach.
 */
export async function runTwins(seed: number): Promise<TwinsVerdict> {
  const random = seededRandom(seed)
  const cluster = await startCluster({ seed, servers: 3, nodes: NODES })
  const problems: string[] = []
  const started: ContainerHandle[] = []
  cluster.setImage(IMAGE, {
    run(container) {
      const { name, uid } = container.pod
      for (const other of started)
        if (other.pod.name === name && isRunning(other))
          problems.push(`${name} starts on ${container.node} (${uid}) and runs on ${other.node} (${other.pod.uid})`)
      started.push(container)
      return new Promise<void>((resolve) => container.stopping.addEventListener("abort", () => resolve()))
    },
  })
  let faults = 0
  try {
    await cluster.apply(databases(chance(random, 0.5)))
    await untilRunning(cluster, REPLICAS)
    faults = await disturb(cluster, random)
    await cluster.client.patch(StatefulSet, SET, { type: "merge", body: { spec: { replicas: REPLICAS } } })
    await cluster.advance("10m")
    await untilRunning(cluster, REPLICAS)
    await cluster.eventually(Node, {}, (nodes) => nodes.filter(isReady).length === NODES)
    await cluster.stop()
  } catch (err) {
    problems.push(`the run threw: ${err instanceof Error ? err.stack : String(err)}`)
    await cluster.stop().catch(() => undefined)
  }
  return { problems, starts: started.length, faults }
}

const SET = { namespace: "default", name: "db" }

const databases = (parallel: boolean) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: SET.name },
  spec: {
    replicas: REPLICAS,
    serviceName: SET.name,
    podManagementPolicy: parallel ? "Parallel" : "OrderedReady",
    selector: { matchLabels: { app: SET.name } },
    template: {
      metadata: { labels: { app: SET.name } },
      spec: { terminationGracePeriodSeconds: 10, containers: [{ name: "main", image: IMAGE }] },
    },
  },
})

const isReady = ({ status }: Node): boolean =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true

const isRunning = (container: ContainerHandle): boolean => "running" in container && container.running === true

const untilRunning = (cluster: Cluster, count: number) =>
  cluster.eventually(Pod, { labels: `app=${SET.name}`, phase: "Running" }, (pods) => pods.length === count)

/** Begins and ends faults at random, and changes the StatefulSet meanwhile. Returns how many faults there were. */
async function disturb(cluster: Cluster, random: Random): Promise<number> {
  let lasting: Fault[] = []
  const ends: Promise<void>[] = []
  let count = 0
  for (let round = 0; round < ROUNDS; round++) {
    // Some faults are shorter than it takes a node to be given up, some longer than its pods are tolerated there.
    await cluster.advance(chance(random, 0.5) ? between(random, 500, 20_000) : between(random, 60_000, 420_000))
    if (lasting.length > 0 && chance(random, 0.6)) {
      const ended = pick(random, lasting)
      lasting = lasting.filter((fault) => fault !== ended)
      // Not awaited: a server or a kubelet may start only when another fault has ended, too.
      ends.push(endOf(ended))
    }
    lasting.push(await begin(cluster, random))
    count++
    // Without a majority this fails, as it must.
    await change(cluster, random).catch(() => undefined)
  }
  await cluster.advance(between(random, 500, 20_000))
  for (const fault of lasting) ends.push(endOf(fault))
  await Promise.all(ends)
  await cluster.advance("1m")
  return count
}

/** Ends a fault. What it stopped may start later than a test waits for; whether it did is checked at the end. */
const endOf = (fault: Fault): Promise<void> =>
  fault.end().catch((err: unknown) => {
    if (!(err instanceof TestClusterError) || err.reason !== "Timeout") throw err
  })

function begin({ faults, servers, nodes }: Cluster, random: Random): Promise<Fault> {
  const [node, server] = [pick(random, nodes), pick(random, servers)]
  const near = nodes.filter(() => chance(random, 0.5))
  const far = nodes.filter((name) => !near.includes(name))
  const kinds: readonly (() => Promise<Fault>)[] = [
    () => faults.nodePartitioned(node),
    () => faults.nodePartitioned(node),
    () => faults.nodeLost(node),
    () => faults.crashed({ kubelet: node }),
    () => faults.serverLost(server),
    () => faults.partitioned([server, ...near], [...servers.filter((name) => name !== server), ...far]),
    () => faults.messagesLost(0.02 + random.next() * 0.2),
  ]
  return pick(random, kinds)()
}

async function change(cluster: Cluster, random: Random): Promise<void> {
  const { client } = cluster.contextFor()
  const patch = (spec: object) => client.patch(StatefulSet, SET, { type: "merge", body: { spec } })
  const pod = { namespace: SET.namespace, name: `${SET.name}-${between(random, 0, REPLICAS - 1)}` }
  const kinds: readonly (() => Promise<unknown>)[] = [
    async () => undefined,
    () => client.delete(Pod, pod),
    () => patch({ replicas: between(random, 1, REPLICAS) }),
    () => patch({ template: { metadata: { annotations: { turn: String(random.next()) } } } }),
  ]
  const changing = pick(random, kinds)()
  // Without an answer it goes on beside the next fault.
  await Promise.race([changing, cluster.advance("20s")])
}
