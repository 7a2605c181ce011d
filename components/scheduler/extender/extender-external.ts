import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { ExtensionPoint } from "../../../pkg/scheduler-plugin/extension-points.ts"
import { SCHEDULING_EVENTS } from "../../../pkg/scheduler-plugin/plugin.ts"
import type { Cache } from "../cache.ts"
import type { ExtenderConfig } from "../config/scheduler-configuration.ts"
import type { Attempt, External, Filtered } from "../external/external.ts"
import { MAX_SCORE, SUCCESS, unschedulable, type Plugin, type Status } from "../framework.ts"
import type { NodeInfo } from "../node-info.ts"
import type { Breaker } from "../plugin-host/breaker.ts"
import { PluginError } from "../plugin-host/plugin-host.ts"
import type { Candidate } from "../preemption.ts"
import { filterResult, preemptResult, prioritizeResult, throwItsError } from "./extender-answers.ts"
import { extenderName, type AskExtender } from "./extender-client.ts"

/** The highest score of an extender. Source: extender/v1 MaxExtenderPriority. */
const MOST_PRIORITY = 10

/** A server that decides about nodes too. Source: pkg/scheduler/extender.go. */
export class ExtenderExternal implements External {
  readonly sees = "enough"
  readonly name: string
  readonly queueing: Plugin
  readonly ignorable: boolean
  readonly #config: ExtenderConfig
  readonly #send: AskExtender
  readonly #breaker: Breaker
  readonly #cache: Cache
  readonly #managed: ReadonlySet<string>

  constructor(config: ExtenderConfig, send: AskExtender, breaker: Breaker, cache: Cache) {
    this.name = extenderName(config)
    this.queueing = { name: this.name, eventsToRegister: SCHEDULING_EVENTS }
    this.ignorable = config.ignorable
    this.#config = config
    this.#send = send
    this.#breaker = breaker
    this.#cache = cache
    this.#managed = new Set((config.managedResources ?? []).map(({ name }) => name))
  }

  /** Source: IsInterested. */
  concerns({ spec }: Pod): boolean {
    if (this.#managed.size === 0) return true
    return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
      [...Object.keys(resources.requests ?? {}), ...Object.keys(resources.limits ?? {})].some((name) =>
        this.#managed.has(name),
      ),
    )
  }

  does(point: ExtensionPoint): boolean {
    const { filterVerb, prioritizeVerb, bindVerb } = this.#config
    return (
      (point === "filter" && filterVerb !== "") ||
      (point === "score" && prioritizeVerb !== "") ||
      (point === "bind" && bindVerb !== "")
    )
  }

  async filter({ pod }: Attempt, nodes: readonly NodeInfo[]): Promise<Filtered> {
    const asked = new Set(nodes.map(({ name }) => name))
    const { names, refused } = await this.#ask(this.#config.filterVerb, this.#argsFor(pod, nodes), (answer) =>
      filterResult(answer, asked),
    )
    const left = [...asked].filter((name) => !names.has(name))
    return {
      refused: new Map(
        left.map((name) => [name, refused.get(name) ?? unschedulable(`node(s) didn't pass ${this.name}`)]),
      ),
    }
  }

  async score({ pod }: Attempt, nodes: readonly NodeInfo[]): Promise<ReadonlyMap<string, number>> {
    const { prioritizeVerb, weight } = this.#config
    const scores = await this.#ask(prioritizeVerb, this.#argsFor(pod, nodes), prioritizeResult)
    return new Map([...scores].map(([name, score]) => [name, score * weight * (MAX_SCORE / MOST_PRIORITY)]))
  }

  /** Source: ProcessPreemption. */
  async preempt({ pod }: Attempt, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { preemptVerb, nodeCacheCapable } = this.#config
    if (preemptVerb === "") return candidates
    const victims = Object.fromEntries(
      candidates.map(({ node, victims, budgetViolations }) => [
        node,
        {
          Pods: nodeCacheCapable ? victims.map(({ metadata }) => ({ UID: metadata.uid })) : victims,
          NumPDBViolations: budgetViolations,
        },
      ]),
    )
    const args = nodeCacheCapable
      ? { Pod: pod, NodeNameToVictims: null, NodeNameToMetaVictims: victims }
      : { Pod: pod, NodeNameToVictims: victims, NodeNameToMetaVictims: null }
    return this.#ask(preemptVerb, args, (answer) =>
      [...preemptResult(answer)].map(([node, { uids, budgetViolations }]): Candidate => {
        const pods = this.#cache.get(node)?.pods
        if (pods === undefined)
          throw new TypeError(`claims victims on node ${node.slice(0, 100)}, which does not exist`)
        return {
          node,
          budgetViolations,
          victims: uids.map((uid) => {
            const victim = pods.get(uid)
            if (victim === undefined)
              throw new TypeError(
                `claims to preempt pod (UID: ${uid.slice(0, 100)}) on node ${node}, but the pod is not found there`,
              )
            return victim
          }),
        }
      }),
    )
  }

  async bind({ pod: { metadata } }: Attempt, node: string): Promise<boolean> {
    const args = { PodName: metadata.name, PodNamespace: metadata.namespace, PodUID: metadata.uid, Node: node }
    await this.#ask(this.#config.bindVerb, args, throwItsError)
    return true
  }

  postFilter(): Promise<undefined> {
    return Promise.resolve(undefined)
  }
  permit(): Promise<Status> {
    return Promise.resolve(SUCCESS)
  }
  reserve(): Promise<void> {
    return Promise.resolve()
  }
  unreserve(): Promise<void> {
    return Promise.resolve()
  }
  preBind(): Promise<void> {
    return Promise.resolve()
  }
  postBind(): Promise<void> {
    return Promise.resolve()
  }
  ended(): void {
    // An extender is not told.
  }

  #argsFor(pod: Pod, nodes: readonly NodeInfo[]): object {
    return this.#config.nodeCacheCapable
      ? { Pod: pod, Nodes: null, NodeNames: nodes.map(({ name }) => name) }
      : { Pod: pod, Nodes: { metadata: {}, items: nodes.map(({ node }) => node) }, NodeNames: null }
  }

  async #ask<T>(verb: string, args: object, read: (answer: unknown) => T): Promise<T> {
    const answer = await this.#breaker.through(verb, () => this.#send(verb, args))
    try {
      return read(answer)
    } catch (err) {
      throw new PluginError(`${this.name}: ${verb}: ${errorMessage(err)}`, false, { cause: err })
    }
  }
}
