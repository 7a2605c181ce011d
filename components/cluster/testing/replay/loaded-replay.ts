import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { parseTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Recording, RecordedObject } from "../../../../pkg/replay/format.ts"
import { POD_NAME, POD_NAMESPACE } from "../../../kubelet/model/labels.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import { copied } from "../forecast/copied.ts"
import { runningNodes } from "../forecast/going-on.ts"
import { learntImages } from "../forecast/learnt-images.ts"
import { storedObjects } from "../forecast/objects-snapshot.ts"
import type { RunningNodes } from "../nodes/running-nodes.ts"
import type { ClusterSnapshot } from "../snapshot.ts"
import { milliseconds } from "../time/duration.ts"
import { authorOf } from "./authors.ts"
import { ReportedRuns } from "./container-runs.ts"
import { goingOn } from "./recorded-images.ts"
import { RecordedIdentities } from "./identities.ts"
import { keyOf, prefixOf } from "./keys.ts"
import { nodeJoins, nodeLosses, type NodeJoin, type NodeLoss } from "./node-losses.ts"
import type { PlacedWrite } from "./placed-write.ts"
import { withStandIns } from "./stand-ins.ts"
import { withDeleters } from "./unknown-authors.ts"
import type { ReplayOption } from "./replay-input.ts"

/** A recording, and what a cluster needs to play it. */
export interface LoadedReplay {
  /** With what the cluster starts. */
  readonly snapshot: ClusterSnapshot
  /** When the recording begins and ends, in milliseconds since the epoch. */
  readonly begin: number
  readonly end: number
  /** The recorded objects at the beginning, by their keys. */
  readonly objects: ReadonlyMap<string, KubeObject>
  readonly writes: readonly PlacedWrite[]
  readonly losses: readonly NodeLoss[]
  readonly joins: readonly NodeJoin[]
  readonly reported: ReportedRuns
  readonly learnt: Readonly<Record<string, ImageBehaviour>>
  readonly identities: RecordedIdentities
  /** The nodes that pods had, by namespace and name of the pods. */
  readonly nodes: ReadonlyMap<string, string>
  readonly toleranceMs: number
  /** Whether names and texts are others than in the recorded cluster. */
  readonly isAnonymous: boolean
  /** Whether the objects with a key were recorded, so that both runs have them. */
  isRecorded(key: string): boolean
  /** In words, what is not in the replay. */
  readonly left: readonly string[]
}

const TOLERANCE_MS = 5000
/** When a node was lost is only known to some seconds, and so what followed from it. */
const TOLERANCE_OF_LOSS_MS = 15_000

export interface LoadOptions {
  readonly instead: readonly string[]
  readonly tolerance: ReplayOption["tolerance"]
}

/** @throws TestClusterError for an invalid duration */
export function loadReplay(recording: Recording, { instead, tolerance }: LoadOptions): LoadedReplay {
  const begin = parseTime(recording.head.begin)!
  const end = parseTime(recording.end.time)!
  const { objects: completed, left: standIns } = withStandIns(recording, podsOf(recording))
  const objects = new Map(completed.map(({ resource, object }) => [keyOf(resource, object), object]))
  const writes = withDeleters(placed(recording, new Set(instead)), objects)
  const { snapshot, left } = copied({
    time: begin,
    revision: completed.length,
    objects: storedObjects(completed.map(listed), begin),
  })
  const observed = observedPods(recording, { begin, end })
  const all = [...objects.values()]
  const losses = nodeLosses(all.filter(isNode), writes, begin)
  return {
    snapshot: { ...snapshot, running: runningIn(all.filter(isNode), all.filter(isPod), observed, begin) },
    begin,
    end,
    objects,
    writes,
    ...observed,
    identities: identitiesOf(writes),
    losses,
    joins: nodeJoins(writes),
    toleranceMs:
      tolerance === undefined ? (losses.length > 0 ? TOLERANCE_OF_LOSS_MS : TOLERANCE_MS) : milliseconds(tolerance),
    isRecorded: recordedKeys(recording),
    isAnonymous: recording.head.anonymised,
    left: [...recording.end.left, ...standIns, ...left],
  }
}

function listed({ resource, object }: RecordedObject) {
  const { apiVersion } = object
  const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0]! : ""
  return { group, plural: resource, object }
}

/** What runs on the nodes when the recording begins; it goes on as recorded. */
function runningIn(
  nodes: readonly Node[],
  pods: readonly Pod[],
  { reported, learnt }: Pick<LoadedReplay, "reported" | "learnt">,
  now: number,
): RunningNodes {
  const running = runningNodes({ nodes, pods, images: learnt, now })
  return {
    on: (node) => running.on(node),
    behaviourOf(run) {
      const { [POD_NAMESPACE]: namespace = "", [POD_NAME]: pod = "" } = run.config.labels ?? {}
      const known = reported.of(namespace, pod, run.container.name ?? "")
      const own = known?.runs.find(({ to }) => to === undefined || to > now)
      if (known === undefined || own === undefined || own.from > now) return running.behaviourOf(run)
      const isReady = own.ready[0] !== undefined && own.ready[0].since <= now
      return { ...goingOn(own, known.readinessProbe), ...(isReady ? { listensAfterMs: 0 } : {}) }
    },
  }
}

const placed = ({ writes }: Recording, instead: ReadonlySet<string>): readonly PlacedWrite[] =>
  writes.map((write) => {
    const { resource, revision, verb, user, clients, object, time } = write
    const author = authorOf(write, instead)
    return { revision, verb, user, clients, object, key: keyOf(resource, object), time: parseTime(time)!, author }
  })

/** What the recording shows of pods: their nodes, and what their containers did. */
function observedPods(
  { objects, writes }: Recording,
  { begin, end }: Pick<LoadedReplay, "begin" | "end">,
): Pick<LoadedReplay, "reported" | "learnt" | "nodes"> {
  const reported = new ReportedRuns()
  const nodes = new Map<string, string>()
  const newest = new Map<string, Pod>()
  const take = (pod: Pod, time: number) => {
    const { namespace = "", name = "", uid = "" } = pod.metadata
    reported.take(pod, time)
    if ((pod.spec.nodeName ?? "") !== "") nodes.set(`${namespace}/${name}`, pod.spec.nodeName!)
    if (pod.metadata.deletionTimestamp === undefined) newest.set(uid, pod)
  }
  for (const { object } of objects) if (isPod(object)) take(object, begin)
  for (const { object, time, verb } of writes) if (verb !== "delete" && isPod(object)) take(object, parseTime(time)!)
  return { reported, nodes, learnt: learntImages([...newest.values()], end) }
}

const isNode = (object: KubeObject): object is Node =>
  object.kind === Node.kind && object.apiVersion === Node.apiVersion && hasStatus(object)

const hasStatus = (object: { readonly status?: unknown } & KubeObject): boolean =>
  typeof object.status === "object" && object.status !== null

/** Returns which keys are of recorded kinds, and of recorded namespaces or of none. */
function recordedKeys({ head, end }: Recording): LoadedReplay["isRecorded"] {
  const prefixes = new Set(end.resources.map((name) => `/registry/${name.startsWith("/") ? "core" : ""}${name}/`))
  const namespaces = new Set(head.namespaces)
  return (key) => {
    if (!prefixes.has(prefixOf(key))) return false
    const [, , , , namespace, name] = key.split("/")
    return namespaces.size === 0 || name === undefined || namespaces.has(namespace!)
  }
}

const podsOf = ({ objects, writes }: Recording): readonly Pod[] => [
  ...objects.map(({ object }) => object).filter(isPod),
  ...writes.flatMap(({ verb, object }) => (verb !== "delete" && isPod(object) ? [object] : [])),
]

/** Whether an object is a pod that has what every pod has. */
const isPod = (object: KubeObject): object is Pod =>
  object.kind === Pod.kind &&
  object.apiVersion === Pod.apiVersion &&
  Array.isArray((object as Partial<Pod>).spec?.containers) &&
  hasStatus(object)

function identitiesOf(writes: readonly PlacedWrite[]): RecordedIdentities {
  const identities = new RecordedIdentities()
  for (const { author, verb, key, object } of writes)
    if (author === "controlled" && verb === "create") identities.note(key, object)
  return identities
}
