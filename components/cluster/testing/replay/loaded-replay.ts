import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { parseTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Recording, RecordedObject } from "../../../../pkg/replay/format.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import { copied } from "../forecast/copied.ts"
import { learntImages } from "../forecast/learnt-images.ts"
import { storedObjects } from "../forecast/objects-snapshot.ts"
import type { ClusterSnapshot } from "../snapshot.ts"
import { milliseconds } from "../time/duration.ts"
import { authorOf } from "./authors.ts"
import { beforeStart } from "./beginning.ts"
import { ReportedRuns } from "./container-runs.ts"
import { RecordedIdentities } from "./identities.ts"
import { keyOf } from "./keys.ts"
import type { PlacedWrite } from "./placed-write.ts"
import type { ReplayOption } from "./replay-input.ts"

/** A recording, and what a cluster needs to play it. */
export interface LoadedReplay {
  /** With what the cluster starts, some time before the recording begins. */
  readonly snapshot: ClusterSnapshot
  /** When the recording begins and ends, in milliseconds since the epoch. */
  readonly begin: number
  readonly end: number
  /** The recorded objects at the beginning, by their keys. */
  readonly objects: ReadonlyMap<string, KubeObject>
  readonly writes: readonly PlacedWrite[]
  readonly reported: ReportedRuns
  readonly learnt: Readonly<Record<string, ImageBehaviour>>
  readonly identities: RecordedIdentities
  /** The nodes that pods had, by namespace and name of the pods. */
  readonly nodes: ReadonlyMap<string, string>
  readonly toleranceMs: number
  /** In words, what is not in the replay. */
  readonly left: readonly string[]
}

/** How long kubelets get to start what runs when the recording begins. */
const STARTING_MS = 60_000
const TOLERANCE_MS = 5000

export interface LoadOptions {
  readonly instead: readonly string[]
  readonly tolerance: ReplayOption["tolerance"]
}

/** @throws TestClusterError for an invalid duration */
export function loadReplay(recording: Recording, { instead, tolerance }: LoadOptions): LoadedReplay {
  const begin = parseTime(recording.head.begin)!
  const end = parseTime(recording.end.time)!
  const objects = new Map(recording.objects.map(({ resource, object }) => [keyOf(resource, object), object]))
  const writes = placed(recording, new Set(instead))
  const { snapshot, left } = copied({
    time: begin - STARTING_MS,
    revision: recording.objects.length,
    objects: storedObjects(recording.objects.map(listed), begin - STARTING_MS),
  })
  return {
    snapshot,
    begin,
    end,
    objects,
    writes,
    ...observedPods(recording, { begin, end }),
    identities: identitiesOf(writes),
    toleranceMs: tolerance === undefined ? TOLERANCE_MS : milliseconds(tolerance),
    left: [...recording.end.left, ...left],
  }
}

function listed(recorded: RecordedObject) {
  const object = beforeStart(recorded)
  const { apiVersion } = object
  const group = apiVersion.includes("/") ? apiVersion.split("/", 1)[0]! : ""
  return { group, plural: recorded.resource, object }
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
  const take = (object: KubeObject, time: number) => {
    const pod = object as Pod
    const { namespace = "", name = "", uid = "" } = pod.metadata
    reported.take(pod, time)
    if ((pod.spec.nodeName ?? "") !== "") nodes.set(`${namespace}/${name}`, pod.spec.nodeName!)
    if (pod.metadata.deletionTimestamp === undefined) newest.set(uid, pod)
  }
  for (const { object } of objects) if (isPod(object)) take(object, begin)
  for (const { object, time, verb } of writes) if (verb !== "delete" && isPod(object)) take(object, parseTime(time)!)
  return { reported, nodes, learnt: learntImages([...newest.values()], end) }
}

/** Whether an object is a pod that has what every pod has. */
const isPod = (object: KubeObject): boolean =>
  object.kind === Pod.kind &&
  object.apiVersion === Pod.apiVersion &&
  Array.isArray((object as Partial<Pod>).spec?.containers) &&
  typeof (object as Partial<Pod>).status === "object"

function identitiesOf(writes: readonly PlacedWrite[]): RecordedIdentities {
  const identities = new RecordedIdentities()
  for (const { author, verb, key, object } of writes)
    if (author === "controlled" && verb === "create") identities.note(key, object)
  return identities
}
