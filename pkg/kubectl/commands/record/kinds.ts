import { RESOURCES } from "../../../api/resources.ts"
import type { GroupsAndResources } from "../../rest/discovery.ts"
import { parseGroupVersion, type Unstructured } from "../../rest/json.ts"

/** A kind that is recorded, in the version in which it is stored. */
export interface RecordedKind {
  readonly group: string
  readonly version: string
  /** Plural. */
  readonly resource: string
  readonly kind: string
  readonly namespaced: boolean
}

/** Kinds that every cluster makes for itself, or that tell only what others tell too. */
const LEFT_OUT: ReadonlySet<string> = new Set(["events", "leases", "componentstatuses", "certificatesigningrequests"])
/** Groups whose objects are measured, and not stored. */
const MEASURED = /(?:^|\.)metrics\.k8s\.io$/

const DEFINITIONS = "customresourcedefinitions"

interface Definition {
  readonly spec?: {
    readonly group?: string
    readonly names?: { readonly plural?: string }
    readonly versions?: readonly { readonly name?: string; readonly storage?: boolean }[]
  }
}

/** Returns the kinds of a server whose objects can be listed, each once. `definitions` tell how custom ones are stored. */
export function recordedKinds(
  { groups, lists }: GroupsAndResources,
  definitions: readonly Unstructured[],
): readonly RecordedKind[] {
  const found = new Map<string, RecordedKind>()
  const stored = storedVersions(definitions)
  const preferred = new Map(groups.map(({ name, preferredVersion }) => [name, preferredVersion.version]))
  for (const { groupVersion, resources } of lists) {
    const { group, version } = parseGroupVersion(groupVersion)
    if (MEASURED.test(group)) continue
    for (const { name, kind, namespaced, verbs } of resources) {
      if (name.includes("/") || LEFT_OUT.has(name) || !verbs.includes("list") || !verbs.includes("watch")) continue
      const id = `${group}/${name}`
      if (!found.has(id) || version === (stored.get(id) ?? preferred.get(group)))
        found.set(id, { group, version, resource: name, kind, namespaced })
    }
  }
  return [...found.values()]
}

/** The versions in which kinds are stored, by group and plural. */
function storedVersions(definitions: readonly Unstructured[]): ReadonlyMap<string, string> {
  const known = new Map<string, string>()
  for (const { group, version, plural, storedAs } of RESOURCES)
    if (storedAs === undefined) known.set(`${group}/${plural}`, version)
  for (const { spec } of definitions as readonly Definition[]) {
    const name = spec?.versions?.find(({ storage }) => storage === true)?.name
    if (name !== undefined) known.set(`${spec?.group}/${spec?.names?.plural}`, name)
  }
  return known
}

/** Returns the path of a list: of one namespace, or of all where it is empty. */
export function listPath({ group, version, resource, namespaced }: RecordedKind, namespace: string): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  return `${root}${namespaced && namespace !== "" ? `/namespaces/${namespace}` : ""}/${resource}`
}

/** The path of the definitions of custom kinds. */
export const DEFINITIONS_PATH = `/apis/apiextensions.k8s.io/v1/${DEFINITIONS}`

export const apiVersionOf = ({ group, version }: RecordedKind): string =>
  group === "" ? version : `${group}/${version}`
