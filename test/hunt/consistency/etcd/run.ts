import { newClient } from "../../../../pkg/client/new-client.ts"
import { seededRandom } from "../../../../pkg/clock/random.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { startThreeServers } from "../../../harness/three-servers.ts"
import { between, chance } from "../../chance.ts"
import { faultsOf } from "../faults-of.ts"
import { NAMES, Recording, RecordingClient } from "../recording-client.ts"
import { RecordingInformer } from "../recording-informer.ts"
import type { ConsistencyVerdict } from "../run.ts"
import { ChangeRecorder } from "./change-recorder.ts"
import { Faults } from "./faults.ts"
import { honestTransport } from "./honest-transport.ts"

const ROUNDS = 8
/** The longest pause of a client: many operations are refused while faults last. */
const PAUSE_MS = 200
/** Faults at once: with more, there is hardly ever a majority. */
const MOST_FAULTS = 2
/** How long watches may take to tell the last changes when all faults have ended, in milliseconds. */
const CALM_MS = 60_000

/**
 * The same as `runConsistency` with real servers and a real etcd on three machines, in real time: what happens depends
 * on more than the seed.
 */
export async function runOnEtcd(seed: number): Promise<ConsistencyVerdict & { readonly told: readonly string[] }> {
  const random = seededRandom(seed)
  await using cluster = await startThreeServers(["controller-manager", "scheduler", "metrics-server", "manifests"])
  const recorder = new ChangeRecorder(cluster.places.map(({ etcdUrl }) => etcdUrl))
  const recording = new Recording()
  const addresses = cluster.places.map(({ machine }) => machine.address)
  const transports = [...addresses, ...addresses, ...addresses, addresses[0]!].map((address) =>
    honestTransport(address, cluster.token),
  )
  const mayBeOld = (answer: object) => transports.some((transport) => transport.mayBeOld(answer))
  const common = { cluster: { mayBeOld }, recording, random, clock: realClock }
  const through = transports.map((transport) => newClient(transport))
  const clients = [...through.slice(0, 3), through[9]!].map(
    (client, i) => new RecordingClient({ ...common, by: `client-${i}`, client, pauseMs: PAUSE_MS }),
  )
  const informers = [3, 6].map(
    (first, i) => new RecordingInformer({ ...common, by: `informer-${i}`, clients: through.slice(first, first + 3) }),
  )
  const [ending, watching] = [new AbortController(), new AbortController()]
  const working = clients.map((client) => client.run(ending.signal))
  const following = informers.map((informer) => informer.run(watching.signal))
  const faults = new Faults(cluster, random)
  const problems: string[] = []
  try {
    for (let round = 0; round < ROUNDS; round++) {
      await Bun.sleep(between(random, 500, 5000))
      if (faults.lasting > 0 && chance(random, 0.5)) await faults.endOne()
      if (faults.lasting < MOST_FAULTS) await faults.begin()
    }
    await Bun.sleep(between(random, 500, 5000))
    await faults.endAll()
    ending.abort()
    await Promise.all(working)
    await cluster.untilReady()
    for (const client of clients) for (const name of NAMES) await client.read(name)
    problems.push(...(await faultsWhenCalm(recorder, recording, informers)))
  } catch (err) {
    problems.push(`the run threw: ${err instanceof Error ? err.stack : String(err)}`)
  }
  ending.abort()
  watching.abort()
  for (const transport of transports) transport.close()
  recorder.close()
  await Promise.all([...working, ...following])
  const count = faults.told.filter((what) => !what.startsWith("no longer")).length
  return { problems, operations: recording.count, faults: count, elections: 0, told: faults.told }
}

/** Watches need a moment to hear of the last changes, and of connections that are dead. */
async function faultsWhenCalm(
  recorder: ChangeRecorder,
  recording: Recording,
  informers: readonly RecordingInformer[],
): Promise<readonly string[]> {
  const until = performance.now() + CALM_MS
  for (;;) {
    await recorder.upToDate()
    const changes = recorder.changes.filter(({ object }) => NAMES.includes(object.metadata.name ?? ""))
    const problems = [...recorder.problems, ...faultsOf(changes, recording, informers)]
    if (problems.length === 0 || performance.now() > until) return problems
    await Bun.sleep(1000)
  }
}
