import { filterOut } from "../errors/aggregate.ts"
import { isList, type Unstructured } from "../rest/json.ts"
import type { WatchEvent } from "../rest/watch-events.ts"
import type { Info } from "./info.ts"
import { Selector } from "./selector.ts"
import type { Visit, Visitor } from "./visitor.ts"
import { pushAll } from "../../lists/push-all.ts"

/** What a builder has found out. Source: cli-runtime pkg/resource/result.go. */
export class Result {
  readonly #visitor: Visitor
  /** What the command line names: selectors, files, names. */
  readonly sources: readonly Visitor[]
  /** Whether the command line asks for one object. */
  readonly singleItemImplied: boolean
  /** Whether it names objects, rather than lists. */
  readonly targetsSingleItems: boolean
  readonly #ignored: ((err: unknown) => boolean)[] = []
  #infos: readonly Info[] | undefined

  constructor(parts: {
    readonly visitor: Visitor
    readonly sources: readonly Visitor[]
    readonly singleItemImplied?: boolean
    readonly targetsSingleItems?: boolean
  }) {
    this.#visitor = parts.visitor
    this.sources = parts.sources
    this.singleItemImplied = parts.singleItemImplied ?? false
    this.targetsSingleItems = parts.targetsSingleItems ?? false
  }

  /** Errors of the visit that match are none. */
  ignoreErrors(...matchers: readonly ((err: unknown) => boolean)[]): this {
    pushAll(this.#ignored, matchers)
    return this
  }

  async visit(visit: Visit): Promise<void> {
    try {
      await this.#visitor.visit(visit)
    } catch (err) {
      const left = filterOut(err, this.#ignored)
      if (left !== undefined) throw left
    }
  }

  /** All infos; they are visited once. @throws the errors of the visit */
  async infos(): Promise<readonly Info[]> {
    const { infos, error } = await this.infosAndError()
    if (error !== undefined) throw error
    return infos
  }

  /** All infos that could be visited, and the errors of the others. */
  async infosAndError(): Promise<{ readonly infos: readonly Info[]; readonly error?: unknown }> {
    if (this.#infos !== undefined) return { infos: this.#infos }
    const infos: Info[] = []
    try {
      await this.visit((info) => {
        infos.push(info)
        return Promise.resolve()
      })
    } catch (error) {
      return { infos, error }
    }
    this.#infos = infos
    return { infos }
  }

  /** The one object that was asked for, or a List of all. */
  async object(): Promise<Unstructured> {
    const infos = await this.infos()
    const objects = infos.map(({ object }) => object).filter((object) => object !== undefined)
    const only = objects.length === 1 ? objects[0]! : undefined
    if (only !== undefined && (this.singleItemImplied || isList(only))) return only
    const versions = new Set(infos.map(({ resourceVersion }) => resourceVersion))
    return {
      kind: "List",
      apiVersion: "v1",
      metadata: versions.size === 1 ? { resourceVersion: [...versions][0]! } : {},
      items: objects,
    }
  }

  /** The changes of the one list or object that was asked for, after a version. */
  async watch(resourceVersion: string, signal?: AbortSignal): Promise<AsyncGenerator<WatchEvent, void, undefined>> {
    const [source, ...others] = this.sources
    if (source === undefined || others.length > 0)
      throw new Error("you may only watch a single resource or type of resource at a time")
    if (source instanceof Selector) return source.watch(resourceVersion, signal)
    const infos = await this.infos()
    if (infos.length !== 1)
      throw new Error(
        `watch is only supported on individual resources and resource collections - ${infos.length} resources were found`,
      )
    const { helper, namespace, name } = infos[0]!
    return helper.watchSingle(namespace, name, resourceVersion, signal)
  }
}
