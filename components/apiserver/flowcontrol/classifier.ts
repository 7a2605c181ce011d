import type { FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import { RecentByText } from "../../../pkg/cache/recent-by-text.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import type { FlowMetrics, SchemaFigures } from "./flow-metrics.ts"
import { matches, namesOf, rulesFor, type RulesOfUser } from "./matching.ts"
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

interface KnownUser {
  readonly groups: readonly string[]
  /** The schemas that can match the user, in the order in which they are tried; the last one matches every request. */
  readonly candidates: readonly Candidate[]
}

/**
 * Most users that are cached: more than the 5,000 nodes of the largest cluster, each of which is a user, and few enough
 * that invented names cannot fill the memory.
 */
const MOST_USERS = 16_000
/** Most sets of groups, and most namespaces of one schema, that are cached. */
const MOST_GROUPS = 2000
/** The most characters of each of these caches. */
const MOST_CHARACTERS = 4_000_000

/** Finds the FlowSchema of a request. The schemas that can match a user are cached. */
export class Classifier {
  #schemas: readonly { readonly schema: FlowSchema; readonly level: PriorityLevel }[] = []
  /** Whether one of the schemas names a user. */
  #isNamed: (user: string) => boolean = () => false
  readonly #users = new RecentByText<KnownUser>({
    entries: MOST_USERS,
    characters: MOST_CHARACTERS,
    weightOf: ({ groups }) => groups.reduce((sum, { length }) => sum + length, 0),
  })
  /**
   * The candidates of users that no schema names: they depend on the groups alone, of which thousands of nodes have the
   * same.
   */
  readonly #ofGroups = new RecentByText<readonly Candidate[]>({ entries: MOST_GROUPS, characters: MOST_CHARACTERS })
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
    this.#isNamed = namesOf(schemas)
    this.#users.clear()
    this.#ofGroups.clear()
  }

  /** Classifies a request. One that no schema matches gets the schema `catch-all`. Source: startRequest. */
  classify(user: UserInfo, attributes: ResourceAttributes | NonResourceRequest): Classified {
    const { candidates } = this.#known(user)
    for (const candidate of candidates) if (matches(candidate.rules, attributes)) return candidate.of(user, attributes)
    return candidates.at(-1)!.of(user, attributes)
  }

  #known({ name, groups }: UserInfo): KnownUser {
    const known = this.#users.get(name)
    if (known !== undefined && (known.groups === groups || isSame(known.groups, groups))) return known
    const found = { groups, candidates: this.#candidatesFor({ name, groups }) }
    this.#users.set(name, found)
    return found
  }

  #candidatesFor(user: UserInfo): readonly Candidate[] {
    const isNamed = this.#isNamed(user.name)
    const key = isNamed ? "" : JSON.stringify(user.groups)
    const known = isNamed ? undefined : this.#ofGroups.get(key)
    if (known !== undefined) return known
    const found = this.#schemas.flatMap(({ schema, level }) => {
      const rules = rulesFor(user, schema)
      return rules === undefined ? [] : [new Candidate(schema, level, rules, this.#metrics)]
    })
    const fallback = this.#schemas.find(({ schema }) => schema.metadata.name === "catch-all")!
    found.push(new Candidate(fallback.schema, fallback.level, NO_RULES, this.#metrics))
    if (isNamed) return found
    this.#ofGroups.set(key, found)
    return found
  }
}

/** A FlowSchema with those of its rules whose subjects include some users. */
class Candidate {
  readonly rules: RulesOfUser
  readonly #schema: FlowSchema
  readonly #level: PriorityLevel
  readonly #metrics: FlowMetrics
  readonly #method: string | undefined
  readonly #byDistinguisher: RecentByText<Classified>

  constructor(schema: FlowSchema, level: PriorityLevel, rules: RulesOfUser, metrics: FlowMetrics) {
    this.#schema = schema
    this.#level = level
    this.rules = rules
    this.#metrics = metrics
    // With one queue, or none, flows need not be told apart.
    this.#method = (level.queuing?.queues ?? 0) > 1 ? schema.spec.distinguisherMethod?.type : undefined
    this.#byDistinguisher = new RecentByText({
      entries: this.#method === "ByUser" ? MOST_USERS : MOST_GROUPS,
      characters: MOST_CHARACTERS,
    })
  }

  of({ name }: UserInfo, attributes: ResourceAttributes | NonResourceRequest): Classified {
    const method = this.#method
    const isNamespaced = method === "ByNamespace" && !("path" in attributes)
    const distinguisher = method === "ByUser" ? name : isNamespaced ? (attributes.namespace ?? "") : ""
    const known = this.#byDistinguisher.get(distinguisher)
    if (known !== undefined) return known
    const classified = new ClassifiedAs(this.#schema, this.#level, distinguisher, this.#metrics)
    this.#byDistinguisher.set(distinguisher, classified)
    return classified
  }
}

class ClassifiedAs implements Classified {
  readonly schema: FlowSchema
  readonly level: PriorityLevel
  readonly #distinguisher: string
  readonly #metrics: FlowMetrics
  #flow: Flow | undefined
  #figures: SchemaFigures | undefined

  constructor(schema: FlowSchema, level: PriorityLevel, distinguisher: string, metrics: FlowMetrics) {
    this.schema = schema
    this.level = level
    this.#distinguisher = distinguisher
    this.#metrics = metrics
  }

  get schemaUid(): string {
    return this.schema.metadata.uid ?? ""
  }
  get levelUid(): string {
    return this.level.configuration.metadata.uid ?? ""
  }
  get figures(): SchemaFigures {
    return (this.#figures ??= this.#metrics.of(this.level.name, this.schema.metadata.name!))
  }
  flow(): Flow {
    return (this.#flow ??= {
      distinguisher: this.#distinguisher,
      hash: hashOfFlow(this.schema.metadata.name!, this.#distinguisher),
    })
  }
}

const NO_RULES: RulesOfUser = { resourceRules: [], nonResourceRules: [] }

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((group, i) => group === b[i])
