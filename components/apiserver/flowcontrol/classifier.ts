import type { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../request.ts"
import type { FlowMetrics, SchemaFigures } from "./flow-metrics.ts"
import { matches, names, rulesFor, type RulesOfUser } from "./matching.ts"
import type { PriorityLevel } from "./priority-level.ts"
import type { Flow } from "./fair-queuing/queue-set.ts"
import { hashOfFlow } from "./fair-queuing/shuffle-sharding.ts"

/** The FlowSchema and priority level of a request. */
export interface Classified {
  readonly schema: FlowSchema
  readonly level: PriorityLevel
  readonly schemaUid: string
  readonly levelUid: string
  readonly figures: SchemaFigures
  /** Returns the flow of the request, computed on demand. */
  flow(): Flow
}

/** A FlowSchema with those of its rules whose subjects include one user. */
interface Candidate {
  readonly rules: RulesOfUser
  of(attributes: ResourceAttributes | NonResourceRequest): Classified
}

/** A FlowSchema that can match a user, with the rules whose subjects include it. */
interface Matching {
  readonly schema: FlowSchema
  readonly level: PriorityLevel
  readonly rules: RulesOfUser
}

interface KnownUser {
  readonly groups: readonly string[]
  readonly candidates: readonly Candidate[]
}

/**
 * Most users that are cached; when the limit is reached the cache is emptied. More than the 5,000 nodes of the largest
 * cluster, each of which is a user, and few enough that invented names cannot fill the memory.
 */
const MOST_USERS = 8000
/** Most namespaces of one schema and user that are cached. */
const MOST_NAMESPACES = 1000

/** Finds the FlowSchema of a request. The schemas that can match a user are cached. */
export class Classifier {
  #schemas: readonly { readonly schema: FlowSchema; readonly level: PriorityLevel }[] = []
  readonly #users = new Map<string, KnownUser>()
  /** The rules of users that no schema names: they depend on the groups alone, of which thousands of nodes have the same. */
  readonly #ofGroups = new Map<string, readonly Matching[]>()
  readonly #metrics: FlowMetrics

  constructor(metrics: FlowMetrics) {
    this.#metrics = metrics
  }

  /** Sets the schemas, in the order in which they are tried, and the levels by their names. */
  configure(schemas: readonly FlowSchema[], levels: ReadonlyMap<string, PriorityLevel>): void {
    this.#schemas = schemas.map((schema) => ({
      schema,
      level: levels.get(schema.spec.priorityLevelConfiguration.name)!,
    }))
    this.#users.clear()
    this.#ofGroups.clear()
  }

  /** Classifies a request. One that no schema matches gets the schema `catch-all`. Source: startRequest. */
  classify(user: UserInfo, attributes: ResourceAttributes | NonResourceRequest): Classified {
    const { candidates } = this.#known(user)
    for (const candidate of candidates) if (matches(candidate.rules, attributes)) return candidate.of(attributes)
    return candidates.at(-1)!.of(attributes)
  }

  #known({ name, groups }: UserInfo): KnownUser {
    const known = this.#users.get(name)
    if (known !== undefined && (known.groups === groups || isSame(known.groups, groups))) return known
    const fallback = this.#schemas.find(({ schema }) => schema.metadata.name === "catch-all")!
    const candidates = this.#matching({ name, groups }).map(({ schema, level, rules }) =>
      this.#candidateOf(schema, level, rules, name),
    )
    const found = {
      groups,
      candidates: [...candidates, this.#candidateOf(fallback.schema, fallback.level, NO_RULES, name)],
    }
    if (this.#users.size >= MOST_USERS) this.#users.clear()
    this.#users.set(name, found)
    return found
  }

  /** Returns the schemas that can match a user, with their rules for it. */
  #matching(user: UserInfo): readonly Matching[] {
    const isNamed = this.#schemas.some(({ schema }) => names(schema, user.name))
    const key = isNamed ? "" : JSON.stringify(user.groups)
    const known = isNamed ? undefined : this.#ofGroups.get(key)
    if (known !== undefined) return known
    const found = this.#schemas.flatMap(({ schema, level }) => {
      const rules = rulesFor(user, schema)
      return rules === undefined ? [] : [{ schema, level, rules }]
    })
    if (isNamed) return found
    if (this.#ofGroups.size >= MOST_USERS) this.#ofGroups.clear()
    this.#ofGroups.set(key, found)
    return found
  }

  #candidateOf(schema: FlowSchema, level: PriorityLevel, rules: RulesOfUser, user: string): Candidate {
    const classifiedAs = (distinguisher: string): Classified => {
      let flow: Flow | undefined
      let figures: SchemaFigures | undefined
      const metrics = this.#metrics
      return {
        schema,
        level,
        schemaUid: schema.metadata.uid ?? "",
        levelUid: level.configuration.metadata.uid ?? "",
        get figures() {
          return (figures ??= metrics.of(level.name, schema.metadata.name!))
        },
        flow: () => (flow ??= { distinguisher, hash: hashOfFlow(schema.metadata.name!, distinguisher) }),
      }
    }
    // With one queue, or none, flows need not be told apart.
    const method = (level.queuing?.queues ?? 0) > 1 ? schema.spec.distinguisherMethod?.type : undefined
    if (method !== "ByNamespace") {
      const always = classifiedAs(method === "ByUser" ? user : "")
      return { rules, of: () => always }
    }
    const byNamespace = new Map<string, Classified>()
    return {
      rules,
      of(attributes) {
        const namespace = "path" in attributes ? "" : (attributes.namespace ?? "")
        let classified = byNamespace.get(namespace)
        if (classified === undefined) {
          if (byNamespace.size >= MOST_NAMESPACES) byNamespace.clear()
          byNamespace.set(namespace, (classified = classifiedAs(namespace)))
        }
        return classified
      },
    }
  }
}

const NO_RULES: RulesOfUser = { resourceRules: [], nonResourceRules: [] }

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((group, i) => group === b[i])
