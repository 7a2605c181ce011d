import type { LogEntry, LogPage } from "../../../history/entry.ts"
import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { Invocation } from "../../command/command.ts"
import type { Factory } from "../../factory/factory.ts"
import { isNotFound, NO_HISTORY } from "../../errors/status-error.ts"
import { mappingFor } from "../../resource/mapping-for.ts"
import { pathSegment, type RestClient } from "../../rest/rest-client.ts"
import type { RestMapping } from "../../rest/rest-mapper.ts"

/** Whose history a command line asks for. */
export type HistoryTarget =
  /** One object, or all objects of a kind where `name` is empty. */
  | { readonly mapping: RestMapping; readonly namespace: string; readonly name: string }
  /** All kinds, in a namespace or, if it is empty, in all. */
  | { readonly mapping: undefined; readonly namespace: string }

/** Which writes; points are as `--at` takes them. */
export interface HistoryQuery {
  readonly user?: string
  readonly since?: string
  readonly until?: string
  readonly limit?: number
  readonly objects?: boolean
}

/** Returns what arguments name: `deployment/web …`, `deployment web …`, `deployments`, or nothing for all kinds. */
export async function historyTargets(
  { args, factory }: Pick<Invocation, "args" | "factory">,
  allNamespaces: boolean,
): Promise<readonly HistoryTarget[]> {
  const own = allNamespaces ? "" : (await factory.namespace()).namespace
  if (args.length === 0) return [{ mapping: undefined, namespace: own }]
  const mapper = await factory.restMapper()
  const target = async (type: string, name: string): Promise<HistoryTarget> => {
    const mapping = await mappingFor(mapper, type)
    return { mapping, namespace: mapping.namespaced ? own : "", name }
  }
  if (args.some((arg) => arg.includes("/")))
    return Promise.all(
      args.map((arg) => {
        const [type = "", name = ""] = arg.split("/")
        if (type === "" || name === "") throw new Error(`arguments must be TYPE/NAME: ${arg} is not`)
        return target(type, name)
      }),
    )
  const [type = "", ...names] = args
  return Promise.all(names.length === 0 ? [target(type, "")] : names.map((name) => target(type, name)))
}

/**
 * Reads the history of a target. An answer of the server ends before the limit where objects are large; then the older
 * entries are asked for again.
 * @throws Error for a server that has none
 */
export async function readHistory(factory: Factory, target: HistoryTarget, query: HistoryQuery): Promise<LogPage> {
  let page = await readPage(factory, target, query)
  while (page.more && query.limit !== undefined && page.entries.length < query.limit) {
    const until = String(page.entries[0]!.revision - 1)
    const older = await readPage(factory, target, { ...query, until, limit: query.limit - page.entries.length })
    page = { ...page, entries: [...older.entries, ...page.entries], more: older.more }
  }
  return page
}

async function readPage(
  factory: Factory,
  target: HistoryTarget,
  { user, since, until, limit, objects }: HistoryQuery,
): Promise<LogPage> {
  const client = await factory.client()
  const ofKind = target.mapping !== undefined
  const query = {
    user,
    since,
    until,
    limit: limit === undefined ? undefined : String(limit),
    objects: objects === true ? "true" : undefined,
    namespace: ofKind || target.namespace === "" ? undefined : target.namespace,
  }
  const path = ofKind ? objectPath(target.mapping, target) : ""
  try {
    return (await client.object({
      method: "GET",
      path: `/k3ts/history${path}`,
      query: definedOf(query),
    })) as unknown as LogPage
  } catch (err) {
    if (isNotFound(err)) throw new Error(NO_HISTORY, { cause: err })
    throw err
  }
}

const definedOf = (query: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(query).filter((pair): pair is [string, string] => (pair[1] ?? "") !== ""))

/** Returns the path of an object, or of all of its kind where it has no name. */
export function objectPath(
  { resource: { group, version, resource } }: Pick<RestMapping, "resource">,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
  const inNamespace = namespace === "" ? "" : `/namespaces/${pathSegment(namespace)}`
  return `${root}${inNamespace}/${resource}${name === "" ? "" : `/${pathSegment(name)}`}`
}

/** Reads one object as it is now; undefined when it is not there. */
export async function currentObject(client: RestClient, path: string): Promise<KubeObject | undefined> {
  try {
    return (await client.object({ method: "GET", path })) as unknown as KubeObject
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}

/** Returns an object in words: `Deployment default/web`. */
export const objectWords = ({ kind, namespace, name }: Pick<LogEntry, "kind" | "namespace" | "name">): string =>
  `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`
