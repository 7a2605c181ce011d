import { ImageBehaviours } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedDriver } from "../../kubelet/runtime/simulated/csi/simulated-driver.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { seededRandom, type Random } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import type { StorageEvent } from "../../../pkg/storage/storage.ts"
import { boundMemory } from "./bounded-memory.ts"
import { TestClusterError } from "./caller.ts"
import { Driver } from "./time/driver.ts"
import { instant, milliseconds } from "./time/duration.ts"
import { watchRevisions } from "./end/end-checks.ts"
import { endlessInstant } from "./time/endless.ts"
import { Faults } from "./faults/faults.ts"
import { checkNames } from "./options/known-names.ts"
import { OwnErrors } from "./history/own-errors.ts"
import { Nodes } from "./nodes/nodes.ts"
import {
  featuresFrom,
  isRealNetwork,
  nodeSpecs,
  serverCount,
  skipsFrom,
  type ClusterOptions,
} from "./options/options.ts"
import type { NodeSpec } from "./options/node-spec.ts"
import { frozenFrom, type Frozen } from "./own-objects.ts"
import { Assembly, type AssemblyOptions } from "./assembly.ts"
import type { ControlPlane } from "./control-plane.ts"
import { copyTo } from "./consensus/copy-to.ts"
import { Servers, TEST_MACHINE } from "./servers/servers.ts"
import { ClusterNetwork } from "./network/cluster-network.ts"
import { addressesWith } from "./network/network.ts"
import { RequestRules } from "./faults/request-rules.ts"
import { TraceCollector } from "./history/traces.ts"
import { RequestFailures } from "./report/request-failures.ts"
import { csiDrivers } from "./storage/csi-drivers.ts"
import { turns } from "./time/turns.ts"
import { defaultSeed, parseSeed, replay } from "./options/seed.ts"
import type { ReplayMaker, RunningReplay } from "./replay/running-replay.ts"
import type { ClusterSnapshot } from "./snapshot.ts"

const DEFAULT_START = "2026-01-01T00:00:00Z"
/** The user that tests act as by default. */
export const ADMIN = { name: "system:admin", groups: ["system:masters"] }
/**
 * The most turns of the event loop at one instant of virtual time. A loop without end is reported after about two
 * seconds.
 */
const TURNS = 10_000
const TURNS_OF_NODE = 20

/** Options whose code is loaded where they are used. */
export interface LoadedOptions {
  readonly snapshot?: ClusterSnapshot | undefined
  readonly scheduling?: AssemblyOptions["scheduling"]
  readonly replay?: ReplayMaker | undefined
}

/** The parts of a test cluster. */
export interface ClusterParts {
  readonly seed: number
  readonly clock: Clock
  readonly random: Random
  /** The same clock when it is virtual, so that a test can advance it; undefined for the real clock. */
  readonly virtual: VirtualClock | undefined
  readonly driver: Driver
  readonly storage: MemoryStorage
  readonly frozen: Frozen
  /** Undefined unless a recording is played. */
  readonly replay: RunningReplay | undefined
  readonly assembly: ControlPlane
  /** The servers, if there are several. */
  readonly servers: Servers | undefined
  /** Returns the user who wrote an event. */
  authorOf(event: StorageEvent): string
  readonly rules: RequestRules
  readonly nodes: Nodes
  /** The network as pods and the test use it. */
  readonly network: ClusterNetwork
  readonly faults: Faults
  readonly images: ImageBehaviours
  /** The simulated CSI drivers, by name. */
  readonly csiDrivers: ReadonlyMap<string, SimulatedDriver>
  /** Undefined unless traces are wanted. */
  readonly traces: TraceCollector | undefined
  /** The nodes that the cluster starts with. */
  readonly specs: readonly NodeSpec[]
  /** Aborted when the cluster ends. */
  readonly ending: AbortController
  /** Errors that functions of the test threw in the background and that no call has reported yet. */
  readonly thrown: Error[]
  /** Errors that controllers of the test have logged. */
  readonly ownErrors: OwnErrors
  /** Requests that failed. */
  readonly requestFailures: RequestFailures
  /** When the cluster's time began, in milliseconds since the epoch. */
  readonly began: number
  /** Stops watching the revisions of the storage, and returns the errors found in them. */
  readonly endRevisions: () => readonly string[]
  /** Whether an instant of virtual time that does not end was reported to the test. */
  isEndless(): boolean
  /** Called once the components and the first nodes run. */
  started(): void
  /** Returns the revision at which they ran. */
  startedAt(): number
}

/**
 * Makes the parts of a cluster without starting them. `alive` throws once the cluster has ended.
 * @throws TestClusterError for an invalid option
 */
export function clusterParts(
  options: ClusterOptions,
  alive: () => void,
  { snapshot, scheduling, replay: replayed }: LoadedOptions = {},
): ClusterParts {
  checkNames(options)
  const ending = new AbortController()
  const thrown: Error[] = []
  let isEndless = false
  let hasStarted = false
  let startedAt = 0
  // Each node takes some turns of its own, so the limit grows with the number of nodes.
  const mostTurns = () => TURNS + TURNS_OF_NODE * nodes.count
  const { clock: kind = "virtual", startTime = beginningOf(snapshot), history = "all", log = silent } = options
  const specs = nodesWith(snapshot, nodeSpecs(options.nodes))
  if (kind !== "virtual" && kind !== "real")
    throw new TestClusterError(`Cannot use clock: ${JSON.stringify(kind)}: expected "virtual" or "real"`)
  const seed = options.seed === undefined ? defaultSeed() : parseSeed(options.seed)
  const turn = turns.join()
  const virtual = kind === "virtual" ? new VirtualClock(instant(startTime), { mostTurns, turn: turn.take }) : undefined
  const clock: Clock = virtual ?? realClock
  const began = clock.now()
  const driver: Driver = new Driver({
    clock,
    virtual,
    skips: skipsFrom(options),
    replay: replay(seed),
    moved: turn.pass,
    hindrances: () => [...faults.inWords(), ...ownErrors.inWords()],
    delays: () => servers !== undefined || faults.inWords().length > 0,
    endless: (err) => {
      isEndless = true
      return endlessInstant(err, storage, clock.now(), replay(seed))
    },
  })
  const ownErrors = new OwnErrors(clock)
  const random = seededRandom(seed)
  const frozen = frozenFrom(options.frozen)
  const storing = { clock, frozen: frozen === "all", packs: history === "none" }
  const playing = replayed?.playing(storing, thrown)
  const storage: MemoryStorage = playing?.storage ?? new MemoryStorage(storing, snapshot?.beginning)
  const endRevisions = watchRevisions(storage)
  if (history === "none") boundMemory(storage, () => hasStarted)
  const requestFailures = new RequestFailures(clock)
  const rules = new RequestRules(
    clock,
    () => virtual?.asked(),
    (request, err) => requestFailures.note(request, err),
  )
  const traces = options.tracing === true ? new TraceCollector(clock, seed) : undefined
  const addresses = addressesWith(snapshot, options.ipFamilies, specs.length)
  const one = {
    tracing: traces?.tracing,
    isVirtual: virtual !== undefined,
    nodes: specs.length,
    random,
    log,
    rules,
    frozen,
    options,
    features: featuresFrom(options.features),
    signal: ending.signal,
    historyMs: history === "all" || history === "none" ? Infinity : milliseconds(history),
    addresses,
    scheduling: replayed === undefined ? scheduling : { ...scheduling, prefers: (pod: Pod) => replayed.nodeOf(pod) },
  }
  const count = serverCount(options)
  const servers =
    count === undefined
      ? undefined
      : new Servers({
          count,
          clock,
          seed,
          frozen,
          addresses,
          signal: ending.signal,
          agreed: (changes) => copyTo(storage, changes, clock),
          assembly: ({ name, index, ...own }) => {
            const advertiseAddress = addresses.serverIp(index)
            return new Assembly({ ...one, ...own, candidate: name, addresses: { ...addresses, advertiseAddress } })
          },
        })
  const assembly: ControlPlane = servers ?? new Assembly({ ...one, storage, clock })
  const failed = (failure: Error) => void thrown.push(failure)
  const images =
    replayed?.images({ own: options.images ?? {}, clock, failed }) ?? new ImageBehaviours(options.images ?? {}, failed)
  const drivers = csiDrivers(options.csiDrivers)
  const nodes: Nodes = new Nodes({
    assembly,
    clock,
    driver,
    images,
    csiDrivers: [...drivers.values()],
    kubelets: options.components?.kubelet !== false,
    client: assembly.clientFor(ADMIN.name, ADMIN.groups),
    signal: ending.signal,
    features: featuresFrom(options.features),
    running: snapshot?.running,
  })
  if (servers !== undefined) nodes.network.connects = (a, b) => servers.links.isOpen(a, b)
  const network = new ClusterNetwork({
    storage,
    clock,
    seed,
    addresses,
    nodes: () => nodes.names,
    ipsOf: (node) => nodes.simulated.get(node)?.spec.ips ?? [],
    network: nodes.network,
    clients: () => assembly.clientsOn(TEST_MACHINE),
    overNetwork: assembly.overNetwork,
    isReal: isRealNetwork(options.network),
    isAsked: Object.values(options.images ?? {}).some(({ run, http }) => run !== undefined || http !== undefined),
  })
  const faults: Faults = new Faults({
    clock,
    nodes: nodes.simulated,
    csiDrivers: drivers,
    network,
    rules,
    driver,
    components: assembly.components,
    signal: ending.signal,
    alive,
    kinds: () => assembly.apiServer.scheme.resources,
    // The test's own copy of what several servers have agreed on stays whole.
    forgetHistory: () => (servers === undefined ? storage.compact(storage.revision) : servers.forgetHistory()),
    servers,
  })
  return {
    seed,
    clock,
    random,
    virtual,
    driver,
    storage,
    frozen,
    replay: playing?.replay,
    assembly,
    servers,
    authorOf: ({ author, revision }) => servers?.authorOf(revision) ?? author,
    rules,
    nodes,
    network,
    faults,
    images,
    csiDrivers: drivers,
    traces,
    specs,
    ending,
    thrown,
    ownErrors,
    requestFailures,
    began,
    endRevisions,
    isEndless: () => isEndless,
    started: () => {
      hasStarted = true
      startedAt = storage.revision
    },
    startedAt: () => startedAt,
  }
}

const beginningOf = (snapshot: ClusterSnapshot | undefined): string | Date =>
  snapshot === undefined ? DEFAULT_START : new Date(snapshot.time)

/** Returns the nodes of the snapshot, then those of the test. @throws TestClusterError when both have a name */
function nodesWith(snapshot: ClusterSnapshot | undefined, own: readonly NodeSpec[]): readonly NodeSpec[] {
  const taken = (snapshot?.nodes ?? []).map(({ spec }) => spec)
  const twice = own.find(({ name }) => taken.some((other) => other.name === name))
  if (twice !== undefined)
    throw new TestClusterError(
      `Cannot add a node named ${JSON.stringify(twice.name)}: the snapshot has one; give nodes another name`,
    )
  return [...taken, ...own]
}
