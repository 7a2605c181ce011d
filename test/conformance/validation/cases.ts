import { RESOURCES } from "../../../pkg/api/resources.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Base, Json } from "./base.ts"
import { mutated, mutationsOf, type Seen } from "./mutations.ts"
import { leavesOf, verdictOf, type Answer, type Leaves } from "./verdict.ts"

export type Verb = "create" | "update" | "status"

/** One request: the base with one change, or unchanged if there is no path. */
export interface Case {
  readonly verb: Verb
  readonly path: string
  readonly change: string
}

/** A server that the cases are sent to. Requests without `dryRun` prepare cases and clean up. */
export interface Target {
  send(request: {
    readonly verb: "create" | "update" | "delete" | "get"
    readonly resource: Resource
    readonly namespace: string | undefined
    readonly name?: string
    readonly subresource?: string
    readonly body?: Json
    readonly dryRun: boolean
  }): Promise<Answer>
}

export const NAMESPACE = "differential"

export function resourceOf({ kind: text }: Base): Resource {
  const [apiVersion, kind] = text.split(" ")
  return RESOURCES.find((resource) => resource.apiVersion === apiVersion && resource.kind === kind)!
}

/** Returns the cases of each base, without those that an earlier base of the kind has. */
export function casesOf(bases: readonly Base[]): readonly { readonly base: Base; readonly cases: readonly Case[] }[] {
  const seenOf = new Map<string, Seen>()
  return bases.map((base) => {
    const seen = seenOf.get(base.kind) ?? new Set<string>()
    seenOf.set(base.kind, seen)
    const { status, ...object } = objectOf(base, 0)
    const unchanged = { path: "", change: "" }
    const mutations = mutationsOf(resourceOf(base).schema, status === undefined ? object : { ...object, status }, seen)
    const isOfStatus = (path: string) => path === "/status" || path.startsWith("/status/")
    const ofVerb = (verb: Verb, wanted: typeof mutations): readonly Case[] =>
      wanted.length === 0 ? [] : [unchanged, ...wanted].map(({ path, change }) => ({ verb, path, change }))
    const main = mutations.filter(({ path }) => !isOfStatus(path))
    return {
      base,
      cases: [
        ...ofVerb("create", main),
        ...ofVerb(
          "update",
          main.filter(({ onUpdate }) => onUpdate),
        ),
        ...ofVerb("status", status === undefined ? [] : mutations.filter(({ path }) => isOfStatus(path))),
      ],
    }
  })
}

/** Returns the object of a base with its nth name. */
export function objectOf({ kind: text, body, status, nameOf }: Base, n: number): Json {
  const [apiVersion, kind] = text.split(" ")
  const metadata = { ...(body["metadata"] as Json | undefined), name: nameOf?.(n) ?? `n${n}` }
  return { apiVersion, kind, ...body, metadata, ...(status === undefined ? {} : { status }) }
}

/** Sends the cases of a base to a server and returns the verdict on each. `n` makes the names of bases different. */
export async function verdictsOn(
  target: Target,
  base: Base,
  cases: readonly Case[],
  n: number,
  inParallel = 1,
): Promise<readonly string[]> {
  const resource = resourceOf(base)
  const namespace = resource.scope === "Namespaced" ? NAMESPACE : undefined
  const stored = cases.some(({ verb }) => verb !== "create") ? await store(target, base, n) : undefined
  const unchanged = new Map<Verb, Leaves>()
  const put = async ({ verb, path, change }: Case): Promise<string> => {
    const start = verb === "create" ? objectOf(base, 2 * n) : stored!
    const body = path === "" ? start : mutated(start, { path, change })
    const answer = await target.send({
      verb: verb === "create" ? "create" : "update",
      resource,
      namespace,
      ...(verb === "create" ? {} : { name: nameIn(stored!) }),
      ...(verb === "status" ? { subresource: "status" } : {}),
      body,
      dryRun: true,
    })
    if (path === "" && answer.code < 300) unchanged.set(verb, leavesOf(answer.object, base))
    return verdictOf(answer, path === "" ? undefined : unchanged.get(verb), base)
  }
  const verdicts: string[] = []
  for (const [i, each] of cases.entries()) if (each.path === "") verdicts[i] = await put(each)
  const rest = cases.map((each, i) => [each, i] as const).filter(([{ path }]) => path !== "")
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) verdicts[next[1]] = await put(next[0])
  }
  await Promise.all(Array.from({ length: inParallel }, worker))
  if (stored !== undefined)
    await target.send({ verb: "delete", resource, namespace, name: nameIn(stored), dryRun: false })
  return verdicts
}

const nameIn = (object: Json): string => (object["metadata"] as { readonly name: string }).name

/** Creates the object that a case changes, and returns it as a client would send it in an update. */
async function store(target: Target, base: Base, n: number): Promise<Json> {
  const resource = resourceOf(base)
  const namespace = resource.scope === "Namespaced" ? NAMESPACE : undefined
  const body = objectOf(base, 2 * n + 1)
  const name = nameIn(body)
  const make = () => target.send({ verb: "create", resource, namespace, body, dryRun: false })
  let made = await make()
  if (made.code === 409) {
    // left by an earlier run that was interrupted
    await target.send({ verb: "delete", resource, namespace, name, dryRun: false })
    made = await make()
  }
  if (made.code >= 300) throw new Error(`${base.kind} ${base.name}: ${JSON.stringify(made)}`)
  const first = base.unversioned === true ? body : withVersionOf(made, body)
  if (base.status === undefined) return first
  const set = await target.send({
    verb: "update",
    resource,
    namespace,
    name,
    subresource: "status",
    body: first,
    dryRun: false,
  })
  if (set.code >= 300) throw new Error(`the status of ${base.kind} ${base.name}: ${JSON.stringify(set)}`)
  return withVersionOf(set, body)
}

function withVersionOf({ object }: Answer, body: Json): Json {
  const { resourceVersion } = (object as { readonly metadata: { readonly resourceVersion: string } }).metadata
  return { ...body, metadata: { ...(body["metadata"] as Json), resourceVersion } }
}
