import { deepEqual } from "../../apimachinery/json/equal.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"

/** The parts of metadata that the server gives, and the ownership of fields, which is merged by itself. */
const OF_THE_SYSTEM: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
  "managedFields",
])

/** Returns an object without what belongs to the system: the status, and parts of the metadata. */
export function withoutSystemFields(object: KubeObject): KubeObject {
  const { status: _, metadata, ...rest } = object as KubeObject & { readonly status?: unknown }
  const annotations = ownAnnotations(object)
  const own = Object.entries({ ...metadata, annotations })
  const kept = own.filter(([name, value]) => value !== undefined && !OF_THE_SYSTEM.has(name))
  return { ...rest, metadata: Object.fromEntries(kept) }
}

/** The annotation in which a Deployment's controller counts its revisions. */
const REVISION = "deployment.kubernetes.io/revision"

/** Returns the annotations of an object but for those that belong to the system. */
function ownAnnotations({ kind, metadata: { annotations } }: KubeObject): KubeObject["metadata"]["annotations"] {
  if (kind !== "Deployment" || annotations?.[REVISION] === undefined) return annotations
  const { [REVISION]: _, ...own } = annotations
  return Object.keys(own).length === 0 ? undefined : own
}

/** Returns the annotations of an object that belong to the system. */
export const systemAnnotations = ({
  kind,
  metadata: { annotations },
}: KubeObject): Readonly<Record<string, string>> => {
  const revision = kind === "Deployment" ? annotations?.[REVISION] : undefined
  return revision === undefined ? {} : { [REVISION]: revision }
}

/** One manager of fields. */
export interface ManagerEntry {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly apiVersion?: string
}

export const managersOf = (object: KubeObject | undefined): readonly ManagerEntry[] =>
  (object?.metadata as { readonly managedFields?: readonly ManagerEntry[] } | undefined)?.managedFields ?? []

const idOf = ({ manager, operation, subresource = "", apiVersion }: ManagerEntry): string =>
  JSON.stringify([manager, operation, subresource, apiVersion])

const isOfStatus = ({ subresource }: ManagerEntry): boolean => subresource === "status"

/** Makes the change of field managers from `before` to `after` on `entries`; managers of the status are left out. */
export function rebaseManagers(
  entries: readonly ManagerEntry[],
  before: KubeObject | undefined,
  after: KubeObject,
): readonly ManagerEntry[] {
  const [old, now] = [before, after].map((each) => new Map(managersOf(each).map((entry) => [idOf(entry), entry])))
  const result = new Map(entries.filter((entry) => !isOfStatus(entry)).map((entry) => [idOf(entry), entry]))
  for (const [id, entry] of now!) if (!isOfStatus(entry) && !deepEqual(entry, old!.get(id))) result.set(id, entry)
  for (const id of old!.keys()) if (!now!.has(id)) result.delete(id)
  return [...result.values()]
}

/** Whether an object has these managers beside those of its status, whenever they have last written. */
export function sameManagers(entries: readonly ManagerEntry[], object: KubeObject): boolean {
  const byId = (all: readonly ManagerEntry[]) =>
    new Map(all.filter((entry) => !isOfStatus(entry)).map((entry) => [idOf(entry), { ...entry, time: undefined }]))
  const [wanted, there] = [byId(entries), byId(managersOf(object))]
  return wanted.size === there.size && [...wanted].every(([id, entry]) => deepEqual(entry, there.get(id)))
}

/** Returns the managers of the status of an object. */
export const statusManagersOf = (object: KubeObject | undefined): readonly ManagerEntry[] =>
  managersOf(object).filter(isOfStatus)
