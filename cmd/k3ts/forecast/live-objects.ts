import {
  COPIED,
  storedObjects,
  type ListedObject,
} from "../../../components/cluster/testing/forecast/objects-snapshot.ts"
import type { SnapshotContent } from "../../../components/cluster/testing/snapshot.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { OptionalKind } from "../../../pkg/component/optional-kinds.ts"
import { Pages } from "../../../pkg/lists/pages.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

/** Reads a path of the API; undefined for one that is not there or not allowed. */
export type ReadPath = (path: string) => Promise<unknown>

/** How many lists are read at once, and how many objects an answer has. */
const AT_ONCE = 6
const PAGE = 1000

interface ListAnswer {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata?: { readonly continue?: string }
  readonly items?: readonly KubeObject[]
}

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string; readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly storage: boolean }[]
  }
}

/** A kind to list: the parts of its path, and its name. */
interface Listed {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
}

/**
 * Reads all objects of a cluster that one may list, custom ones too. Says in `left` of which kinds there are none.
 * @param optional the kinds that are off by default, and that the cluster serves
 */
export async function liveObjects(
  read: ReadPath,
  now: number,
  optional: readonly OptionalKind[] = [],
): Promise<SnapshotContent & { readonly left: readonly string[] }> {
  const left: string[] = []
  const listed: ListedObject[] = []
  const kinds = [...COPIED, ...(await declared(optional))].map(({ group, version, plural, kind }): Listed => ({
    group,
    version,
    plural,
    kind,
  }))
  await eachOf(kinds)
  const definitions = listed.filter(({ plural }) => plural === "customresourcedefinitions")
  await eachOf(
    definitions.flatMap(({ object }) => {
      const { group, names, versions } = (object as Definition).spec
      const stored = versions.find(({ storage }) => storage)
      return stored === undefined ? [] : [{ group, version: stored.name, ...names }]
    }),
  )
  const objects = storedObjects(listed, now)
  return { time: now, revision: objects.length, objects, left }

  async function eachOf(all: readonly Listed[]): Promise<void> {
    const waiting = all.toReversed()
    const work = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const found = await listOf(read, next)
        if (found === undefined) left.push(`${next.kind} objects: there are none, or you may not list them`)
        else
          pushAll(
            listed,
            found.map((object) => ({ group: next.group, plural: next.plural, object })),
          )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }
}

/** Returns the declarations of kinds that are off by default: few clusters need them. */
async function declared(kinds: readonly OptionalKind[]): Promise<readonly Resource[]> {
  if (kinds.length === 0) return []
  const { OPTIONAL_RESOURCES } = await import("../../../pkg/api/optional-resources.ts")
  return OPTIONAL_RESOURCES.filter(
    ({ group, plural }) =>
      plural !== "leasecandidates" && kinds.some((kind) => kind.group === group && kind.plural === plural),
  )
}

async function listOf(read: ReadPath, { group, version, plural, kind }: Listed): Promise<KubeObject[] | undefined> {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  const found: KubeObject[] = []
  for (const pages = new Pages(); ;) {
    const more = pages.token === "" ? "" : `&continue=${encodeURIComponent(pages.token)}`
    const answer = (await read(`${root}/${plural}?limit=${PAGE}${more}`)) as ListAnswer | undefined
    if (answer === undefined) return undefined
    const apiVersion = group === "" ? version : `${group}/${version}`
    const items = answer.items ?? []
    for (const item of items) found.push({ ...item, apiVersion, kind })
    if (!pages.hasMore(answer.metadata?.continue, items.length, plural)) return found
  }
}
