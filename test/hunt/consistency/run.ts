import { ConfigMap, startCluster, type Cluster, type Fault } from "../../../components/cluster/testing/testing.ts"
import { seededRandom, type Random } from "../../../pkg/clock/random.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { between, chance, pick } from "../chance.ts"
import { faultsOf } from "./faults-of.ts"
import { NAMES, NAMESPACE, Recording, RecordingClient } from "./recording-client.ts"
import { RecordingInformer } from "./recording-informer.ts"

const SERVERS = 3
const ROUNDS = 8

/** What a run found, and how much it did. */
export interface ConsistencyVerdict {
  readonly problems: readonly string[]
  readonly operations: number
  readonly faults: number
  readonly elections: number
}

/**
 * Lets clients of several servers read, write and watch the same objects while servers are lost and the network is
 * parted at random, and checks what they were told.
 */
export async function runConsistency(seed: number): Promise<ConsistencyVerdict> {
  const random = seededRandom(seed)
  const cluster = await startCluster({
    seed,
    servers: SERVERS,
    components: { scheduler: false, controllers: false },
  })
  const recording = new Recording()
  const { clock } = cluster.contextFor()
  const common = { cluster, recording, random, clock }
  const through = cluster.servers.map((server) => cluster.through(server))
  const clients = [...through, cluster.client].map(
    (client, i) => new RecordingClient({ ...common, by: `client-${i}`, client }),
  )
  const informers = [0, 1].map((i) => new RecordingInformer({ ...common, by: `informer-${i}`, clients: through }))
  const [ending, watching] = [new AbortController(), new AbortController()]
  const working = clients.map((client) => client.run(ending.signal))
  const following = informers.map((informer) => informer.run(watching.signal))
  const problems: string[] = []
  let faults = 0
  try {
    faults = await disturb(cluster, random)
    ending.abort()
    await cluster.advance("1m")
    await Promise.all(working)
    for (const client of clients) for (const name of NAMES) await client.read(name)
    await cluster.advance("10s")
    const changes = cluster
      .history({ kind: ConfigMap.kind, namespace: NAMESPACE })
      .filter(({ object }) => NAMES.includes(object.metadata.name ?? ""))
    problems.push(...faultsOf(changes, recording, informers))
  } catch (err) {
    problems.push(`the run threw: ${err instanceof Error ? err.stack : String(err)}`)
  }
  ending.abort()
  watching.abort()
  try {
    await Promise.all([...working, ...following, cluster.settle()])
    await cluster.stop()
  } catch (err) {
    problems.push(`the end threw: ${errorMessage(err)}`)
  }
  return { problems, operations: recording.count, faults, elections: cluster.elections }
}

/** Begins and ends faults at random, then ends all. Returns how many there were. */
async function disturb(cluster: Cluster, random: Random): Promise<number> {
  let lasting: Fault[] = []
  const ends: Promise<void>[] = []
  let count = 0
  for (let round = 0; round < ROUNDS; round++) {
    await cluster.advance(between(random, 500, 8000))
    if (lasting.length > 0 && chance(random, 0.5)) {
      const ended = pick(random, lasting)
      lasting = lasting.filter((fault) => fault !== ended)
      // Not awaited: a server may start only when a majority is back.
      ends.push(ended.end())
    }
    if (chance(random, 0.1)) cluster.faults.forgetHistory()
    else lasting.push(await begin(cluster, random))
    count++
  }
  await cluster.advance(between(random, 500, 8000))
  for (const fault of lasting) ends.push(fault.end())
  await Promise.all(ends)
  return count
}

function begin({ faults, servers }: Cluster, random: Random): Promise<Fault> {
  const [server, other] = [pick(random, servers), pick(random, servers)]
  const rest = servers.filter((name) => name !== server)
  const kinds: readonly (() => Promise<Fault>)[] = [
    () => faults.serverLost(server),
    () => faults.partitioned([server], rest),
    () => faults.partitioned([server], [rest[0]!]),
    () => faults.partitioned([servers[0]!], [servers[1]!], [servers[2]!]),
    () => faults.latency(server, other, between(random, 5, 900)),
    () => faults.messagesLost(0.02 + random.next() * 0.3),
    () => faults.clockSkewed(server, between(random, -60_000, 60_000)),
    () => faults.requests({ verb: "update", delay: between(random, 100, 4000), times: 3 }),
  ]
  return pick(random, kinds)()
}
