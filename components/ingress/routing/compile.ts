import type { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import type { ObjectMeta } from "../../../pkg/apimachinery/meta.ts"
import { exactKey } from "../../../pkg/cache/exact-key.ts"
import { keyFrom, type Key } from "../../../pkg/client/informer.ts"
import { together, type Alone } from "../alone.ts"
import { claimOf, parseIngress, type ParsedIngress } from "./parse-ingress.ts"
import type { Problem } from "./problem.ts"
import { HostPaths, RoutingTable } from "./table.ts"
import type { Target } from "./target.ts"

/** The namespace of the oldest Ingress that names a host, and when that was created. */
export interface HostOwner {
  readonly namespace: string
  readonly since: string
  readonly ingress: Ingress
}

export interface Compiled {
  readonly table: RoutingTable<Target>
  readonly problems: readonly Problem[]
  /** To which namespace each host of a rule belongs, and since when; `""` is every other host. */
  readonly owners: ReadonlyMap<string, HostOwner>
}

/**
 * Returns the routes of all Ingresses. A host belongs to the namespace of the oldest Ingress that names it, so that no
 * namespace can take requests of another; rules of other namespaces for it are ignored. An Ingress without rules
 * applies to every host. The default backend of an Ingress gets requests that match none of the paths of its hosts, and
 * requests for hosts without a rule unless another Ingress applies to these.
 */
export const compile = (ingresses: readonly Ingress[]): Compiled => new IngressCompiler().compile(ingresses)

/** The routes of one host, with what they were made of. */
interface CompiledHost {
  readonly members: readonly ParsedIngress[]
  readonly extras: readonly ParsedIngress[]
  readonly paths: HostPaths<Target>
  readonly problems: readonly Problem[]
}

/**
 * Compiles Ingresses again and again: those that did not change are not read again, and only hosts are worked out anew
 * whose Ingresses have changed. An Ingress that is left out keeps the routes that it had; without any it keeps its
 * hosts from other namespaces.
 */
export class IngressCompiler {
  readonly #parsed = new WeakMap<Ingress, ParsedIngress>()
  readonly #alone: Pick<Alone, "run">
  #last: ReadonlyMap<Key, ParsedIngress> = new Map()
  #hosts: ReadonlyMap<string, CompiledHost> = new Map()

  constructor(alone: Pick<Alone, "run"> = together) {
    this.#alone = alone
  }

  compile(ingresses: readonly Ingress[]): Compiled {
    const steps = this.steps(ingresses)
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
    }
  }

  /** Compiles in steps, each for one Ingress or one host, between which others may run. */
  *steps(ingresses: readonly Ingress[]): Generator<void, Compiled> {
    const oldestFirst: ParsedIngress[] = []
    for (const ingress of [...ingresses].sort(byAge)) {
      oldestFirst.push(this.#parse(ingress))
      yield
    }
    this.#last = new Map(oldestFirst.map((parsed) => [parsed.key, parsed]))
    const members = new Map<string, ParsedIngress[]>()
    for (const parsed of oldestFirst)
      for (const host of parsed.hosts) {
        const known = members.get(host)
        if (known === undefined) members.set(host, [parsed])
        else known.push(parsed)
      }
    const owners = new Map<string, HostOwner>()
    for (const [host, [{ ingress, namespace }]] of members as Map<string, [ParsedIngress]>)
      owners.set(host, { namespace, since: ingress.metadata.creationTimestamp ?? "", ingress })
    const defaults = freeDefaults(
      oldestFirst.filter(({ fallback, hasRules }) => hasRules && fallback !== undefined),
      owners.get("")?.namespace,
    )
    if (defaults.length > 0 && !members.has("")) members.set("", [])
    const hosts = new Map<string, CompiledHost>()
    for (const [host, of] of members) {
      hosts.set(host, this.#host(host, of, host === "" ? defaults : []))
      yield
    }
    this.#hosts = hosts
    const problems = [
      ...oldestFirst.flatMap((parsed) => parsed.problems),
      ...[...hosts.values()].flatMap((compiled) => compiled.problems),
      ...lostHosts(owners),
    ]
    return { table: new RoutingTable(new Map([...hosts].map(([host, { paths }]) => [host, paths]))), problems, owners }
  }

  #parse(ingress: Ingress): ParsedIngress {
    const known = this.#parsed.get(ingress)
    if (known !== undefined) return known
    const done = this.#alone.run("Ingress", ingress, () => {
      const parsed = parseIngress(ingress)
      // What follows with other Ingresses is tried with this one alone.
      for (const host of parsed.hosts) compileHost(host, [parsed], [])
      return parsed
    })
    if (done === undefined) return this.#last.get(keyFrom(ingress.metadata)) ?? claimOf(ingress)
    this.#parsed.set(ingress, done.value)
    return done.value
  }

  #host(host: string, members: readonly ParsedIngress[], extras: readonly ParsedIngress[]): CompiledHost {
    const known = this.#hosts.get(host)
    if (known !== undefined && isSame(known.members, members) && isSame(known.extras, extras)) return known
    return { members, extras, ...compileHost(host, members, extras) }
  }
}

const isSame = (a: readonly ParsedIngress[], b: readonly ParsedIngress[]): boolean =>
  a.length === b.length && a.every((each, i) => each === b[i])

/** Returns the routes of a host from the Ingresses that name it, the oldest first, and the default backends for it. */
function compileHost(
  host: string,
  members: readonly ParsedIngress[],
  extras: readonly ParsedIngress[],
): { readonly paths: HostPaths<Target>; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  const paths = new HostPaths<Target>(host)
  const taken = new Map<string, Key>()
  const owner = members[0]?.namespace
  const problem = ({ ingress }: ParsedIngress, reason: Problem["reason"], message: string) =>
    problems.push({ ingress, reason, message })
  for (const parsed of members) {
    const { key, namespace, fallback, hasRules } = parsed
    const isOwner = namespace === owner
    for (const { number, paths: own } of parsed.rules.get(host) ?? []) {
      if (!isOwner) {
        const text = `${hostText(host)} belongs to an older Ingress in namespace ${owner}: rule ${number} is left out`
        problem(parsed, "HostConflict", text)
        continue
      }
      for (const { path, text, target, resource } of own) {
        if (resource !== undefined) problem(parsed, "ResourceBackend", resource)
        const before = taken.get(exactKey([path.type, path.value]))
        if (before === undefined) taken.set(exactKey([path.type, path.value]), key)
        else if (before !== key)
          problem(
            parsed,
            "PathConflict",
            `${hostText(host)} has the path ${text} already from the older Ingress ${before}`,
          )
        paths.add(path, target)
      }
    }
    if (fallback === undefined) continue
    if (isOwner) paths.add(undefined, fallback)
    else if (!hasRules)
      problem(
        parsed,
        "HostConflict",
        `${hostText("")} belongs to an older Ingress in namespace ${owner}: the default backend is left out`,
      )
  }
  for (const { fallback } of extras) paths.add(undefined, fallback!)
  return { paths, problems }
}

/** The default backends of Ingresses with rules, for hosts that nobody names: where nobody else is for them. */
const freeDefaults = (defaults: readonly ParsedIngress[], ownerOfAll: string | undefined): readonly ParsedIngress[] => {
  const owner = ownerOfAll ?? defaults[0]?.namespace
  return defaults.filter(({ namespace }) => namespace === owner)
}

/** The most hosts that the text of one problem names. */
const MOST_NAMED = 3

/**
 * An exact host comes before a wildcard, whose Ingress may be older and of another namespace: its owner is told which
 * requests the Ingress does not get.
 */
function lostHosts(owners: ReadonlyMap<string, HostOwner>): readonly Problem[] {
  const lost = new Map<string, string[]>()
  for (const [host, { namespace, since }] of owners) {
    const wildcard = host.startsWith("*") || host === "" ? undefined : `*${host.slice(host.indexOf("."))}`
    const owner = wildcard === undefined ? undefined : owners.get(wildcard)
    if (owner === undefined || owner.namespace === namespace || owner.since > since) continue
    const hosts = lost.get(wildcard!) ?? []
    hosts.push(`${JSON.stringify(host)} (namespace ${namespace})`)
    lost.set(wildcard!, hosts)
  }
  return [...lost].map(([wildcard, hosts]) => {
    const more = hosts.length > MOST_NAMED ? ` and ${hosts.length - MOST_NAMED} more` : ""
    return {
      ingress: owners.get(wildcard)!.ingress,
      reason: "HostConflict",
      message:
        `${hostText(wildcard)} does not get the requests for ${hosts.slice(0, MOST_NAMED).join(", ")}${more}: newer ` +
        "Ingresses name these hosts exactly",
    }
  })
}

/** The oldest first; of the same age by name. */
export function byAge({ metadata: a }: Aged, { metadata: b }: Aged): number {
  const [first, second] = [a.creationTimestamp ?? "", b.creationTimestamp ?? ""]
  if (first !== second) return first < second ? -1 : 1
  return keyFrom(a) < keyFrom(b) ? -1 : 1
}

interface Aged {
  readonly metadata: ObjectMeta
}

const hostText = (host: string): string => (host === "" ? "every host without a rule" : `host ${JSON.stringify(host)}`)
