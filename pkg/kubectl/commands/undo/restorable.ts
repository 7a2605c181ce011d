import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { LogEntry } from "../../../history/entry.ts"
import type { Target } from "../../../history/undo/targets.ts"
import { isPerson } from "./chosen.ts"

/** What controllers make again for whoever is there. */
const MADE_BY_CONTROLLERS: ReadonlySet<string> = new Set([
  "discovery.k8s.io EndpointSlice",
  "core Endpoints",
  "core Node",
  "apiregistration.k8s.io APIService",
])
const IN_EVERY_NAMESPACE: ReadonlySet<string> = new Set(["ConfigMap kube-root-ca.crt", "ServiceAccount default"])

/** Kinds that their owner adopts by its selector, and whose history the owner shows. */
const ADOPTED: ReadonlySet<string> = new Set(["ReplicaSet", "ControllerRevision"])

export const groupOf = ({ apiVersion }: Pick<LogEntry, "apiVersion">): string =>
  apiVersion.includes("/") ? apiVersion.split("/")[0]! : "core"

/** Whether an object is restored before its owner, which then adopts it instead of making another one. */
export const isAdopted = ({ kind }: Pick<LogEntry, "kind">): boolean => ADOPTED.has(kind)

const isControlled = (object: KubeObject | undefined): boolean =>
  object?.metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false

/** Returns why an object is left to the cluster; undefined where undoing concerns it. `isThere`: as it is now. */
export function leftTo({ last, undone, object, before }: Target, isThere: boolean): string | undefined {
  if (MADE_BY_CONTROLLERS.has(`${groupOf(last)} ${last.kind}`)) return "its controller makes it again"
  if (IN_EVERY_NAMESPACE.has(`${last.kind} ${last.name}`)) return "every namespace gets it again"
  if (!isControlled(before ?? last.object)) return undefined
  // What a person has changed in it is undone; that it is there is the controller's business.
  if (object !== undefined && isThere && undone.some(({ user }) => isPerson(user))) return undefined
  if (object !== undefined && !isThere && isAdopted(last)) return undefined
  return "its controller decides about it"
}

type Fields = Readonly<Record<string, unknown>>

/** Returns an object as it can be created again: without what names things that are gone. */
export function creatable(object: KubeObject): { readonly object: KubeObject; readonly notes: readonly string[] } {
  const { spec } = object as KubeObject & { readonly spec?: Fields }
  switch (object.kind) {
    case "Pod": {
      const { nodeName: _, ...rest } = spec ?? {}
      return made(object, rest, [])
    }
    case "Job": {
      if (spec?.["manualSelector"] === true) return { object, notes: ["it runs again"] }
      const { selector: _, ...rest } = spec ?? {}
      return made(withoutLabels(object), { ...rest, template: withoutJobLabels(rest["template"]) }, ["it runs again"])
    }
    case "PersistentVolumeClaim": {
      const { volumeName, ...rest } = spec ?? {}
      const notes = volumeName === undefined ? [] : ["it gets a new volume, where the old one was deleted with it"]
      return made(withoutBinding(object), rest, notes)
    }
    default:
      return { object, notes: [] }
  }
}

const made = (object: KubeObject, spec: Fields, notes: readonly string[]) => ({
  object: { ...object, spec } as KubeObject,
  notes,
})

const JOB_LABELS: ReadonlySet<string> = new Set(
  ["controller-uid", "job-name"].flatMap((name) => [name, `batch.kubernetes.io/${name}`]),
)

const without = (map: Fields | undefined, names: ReadonlySet<string>): Fields | undefined =>
  map === undefined ? undefined : Object.fromEntries(Object.entries(map).filter(([name]) => !names.has(name)))

function withoutLabels(object: KubeObject): KubeObject {
  const labels = without(object.metadata.labels, JOB_LABELS) as Readonly<Record<string, string>> | undefined
  return { ...object, metadata: { ...object.metadata, ...(labels === undefined ? {} : { labels }) } }
}

function withoutJobLabels(template: unknown): unknown {
  const { metadata, ...rest } = (template ?? {}) as { readonly metadata?: Fields }
  return { ...rest, metadata: { ...metadata, labels: without(metadata?.["labels"] as Fields | undefined, JOB_LABELS) } }
}

const BINDING: ReadonlySet<string> = new Set([
  "pv.kubernetes.io/bind-completed",
  "pv.kubernetes.io/bound-by-controller",
])

function withoutBinding(object: KubeObject): KubeObject {
  const annotations = without(object.metadata.annotations, BINDING) as Readonly<Record<string, string>> | undefined
  return { ...object, metadata: { ...object.metadata, ...(annotations === undefined ? {} : { annotations }) } }
}
