import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { RESOURCES } from "../../../../pkg/api/resources.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { SnapshotObject } from "../../../../pkg/snapshot/records.ts"

/** An object as a list of the API has it, and the resource of which it is. */
export interface ListedObject {
  readonly group: string
  readonly plural: string
  readonly object: KubeObject
}

/** Kinds that a copy of a cluster makes by itself, or that are no objects of a store. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "events",
  "leases",
  "componentstatuses",
  "bindings",
  "certificatesigningrequests",
])

/** The kinds that are listed for a copy of a cluster, each in the version in which it is stored. */
export const COPIED: readonly Resource[] = RESOURCES.filter(
  ({ verbs, storedAs, plural, group }) =>
    verbs.includes("list") &&
    verbs.includes("create") &&
    storedAs === undefined &&
    !LEFT_OUT.has(plural) &&
    group !== "metrics.k8s.io",
)

/** Returns objects of lists as those of a store, with revisions in the order in which they were written. */
export function storedObjects(listed: readonly ListedObject[], time: number): readonly SnapshotObject[] {
  const version = ({ object }: ListedObject) => Number(object.metadata.resourceVersion ?? "0")
  return listed
    .toSorted((a, b) => version(a) - version(b))
    .map(({ group, plural, object }, index) => {
      const revision = index + 1
      const { namespace, name = "" } = object.metadata
      const place = namespace === undefined || namespace === "" ? name : `${namespace}/${name}`
      const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } }
      return {
        key: `/registry/${group === "" ? "core" : group}/${plural}/${place}`,
        revision,
        created: revision,
        time,
        transient: false,
        seldomRead: false,
        value: Buffer.from(JSON.stringify(stored)),
      }
    })
}

/** Whether a key is that of a Node. */
export const isNode = ({ key }: SnapshotObject): boolean => key.startsWith(Node.prefix)
