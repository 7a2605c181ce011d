import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { LogEntry } from "../../../history/entry.ts"
import { pushAll } from "../../../lists/push-all.ts"
import { objectWords } from "../history/history-source.ts"

/** Objects by their words: `Pod default/web-0`, `Node vm`. */
export type Concerned = ReadonlySet<string>

interface Telling {
  readonly spec?: PodSpec & {
    readonly template?: { readonly spec?: PodSpec; readonly metadata?: { readonly labels?: Labels } }
    readonly selector?: Labels | { readonly matchLabels?: Labels }
    readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string }
  }
}
type Labels = Readonly<Record<string, string>>

interface PodSpec {
  readonly nodeName?: string
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly volumes?: readonly unknown[]
  readonly imagePullSecrets?: readonly unknown[]
  readonly serviceAccountName?: string
}
interface Container {
  readonly env?: readonly unknown[]
  readonly envFrom?: readonly unknown[]
}

/**
 * Returns which objects concern one: what it owns, what its pods refer to, the nodes that they are on, and what selects
 * or scales it. `entries` has the writes to all of these, oldest first.
 */
export function concernedBy(subject: LogEntry, entries: readonly LogEntry[]): Concerned {
  const found = new Set([objectWords(subject)])
  const uids = new Set([subject.object?.metadata.uid])
  const labels: Labels[] = []
  for (const { object, kind, namespace, name } of entries) {
    if (object === undefined) continue
    const own = objectWords({ kind, namespace, name })
    const isOwned = object.metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) ?? false
    if (!found.has(own) && !isOwned) continue
    found.add(own)
    uids.add(object.metadata.uid)
    for (const word of needsOf(object)) found.add(word)
    pushAll(labels, labelsOf(object))
  }
  for (const entry of entries) if (followsLabels(entry, labels) || scales(entry, found)) found.add(objectWords(entry))
  return found
}

/** What an object refers to, in words. */
function needsOf(object: KubeObject): readonly string[] {
  const { spec } = object as KubeObject & Telling
  const namespace = object.metadata.namespace ?? ""
  const pods = [spec, spec?.template?.spec].filter((each) => each !== undefined)
  return pods.flatMap((pod) => {
    const containers = [...(pod.initContainers ?? []), ...(pod.containers ?? [])]
    const text = JSON.stringify([
      pod.volumes,
      pod.imagePullSecrets,
      containers.map(({ env, envFrom }) => [env, envFrom]),
    ])
    const named = NEEDS.flatMap(([kind, pattern]) =>
      [...text.matchAll(pattern)].map(([, name = ""]) => objectWords({ kind, namespace, name })),
    )
    return pod.nodeName === undefined ? named : [...named, `Node ${pod.nodeName}`]
  })
}

/** How JSON of a pod's spec names the objects that it needs. */
const NEEDS = [
  ["ConfigMap", /"configMap(?:Ref|KeyRef)?":\{[^{}]*?"name":"([^"]+)"/g],
  ["Secret", /"secret(?:Ref|KeyRef)?":\{[^{}]*?"(?:secretN|n)ame":"([^"]+)"/g],
  ["PersistentVolumeClaim", /"claimName":"([^"]+)"/g],
] as const

const labelsOf = (object: KubeObject): readonly Labels[] => {
  const { kind, metadata, spec } = object as KubeObject & Telling
  const template = spec?.template?.metadata?.labels
  return [...(template === undefined ? [] : [template]), ...(kind === "Pod" ? [metadata.labels ?? {}] : [])]
}

/** Whether a Service or a disruption budget selects pods with one of these sets of labels. */
function followsLabels({ kind, object }: LogEntry, all: readonly Labels[]): boolean {
  if (kind !== "Service" && kind !== "PodDisruptionBudget") return false
  const selector = (object as (KubeObject & Telling) | undefined)?.spec?.selector
  const labels = (kind === "Service" ? selector : selector?.["matchLabels" as never]) as Labels | undefined
  const wanted = Object.entries(labels ?? {})
  return wanted.length > 0 && all.some((own) => wanted.every(([key, value]) => own[key] === value))
}

function scales({ kind, namespace, object }: LogEntry, found: Concerned): boolean {
  if (kind !== "HorizontalPodAutoscaler") return false
  const { kind: scaled = "", name = "" } = (object as (KubeObject & Telling) | undefined)?.spec?.scaleTargetRef ?? {}
  return found.has(objectWords({ kind: scaled, namespace, name }))
}
