import { deepFreeze } from "../apimachinery/json/deep-freeze.ts"
import type { ExtensionPoint } from "./extension-points.ts"
import { NodeMirror } from "./node-mirror.ts"
import type { Cycle, NodeView, Refusal, SchedulerPlugin, Verdict } from "./plugin.ts"
import type { Attempt, FilterAnswer, NodesChange, PluginRequest, ScoreAnswer } from "./protocol.ts"

/** Calls the methods of a plugin for the scheduler's requests. Runs where the plugin runs. */
export class PluginRunner {
  readonly #plugin: SchedulerPlugin
  readonly #nodes = new NodeMirror()
  /** The notes of each attempt that has not ended. */
  readonly #states = new Map<string, Map<string, unknown>>()

  constructor(plugin: SchedulerPlugin) {
    this.#plugin = plugin
  }

  /** Takes over what has changed of the nodes. */
  learn(change: NodesChange): void {
    this.#nodes.apply(change)
  }

  /** @throws what the plugin throws; TypeError for an answer that is none */
  async run(request: PluginRequest, change: NodesChange | undefined, signal: AbortSignal): Promise<unknown> {
    if (change !== undefined) this.#nodes.apply(change)
    const plugin = this.#plugin
    switch (request.call) {
      case "configure":
        return plugin.configure?.(deepFreeze(request.args))
      case "preEnqueue":
        return refusalOf(await plugin.preEnqueue!(deepFreeze(request.pod)))
      case "queueSort":
        return sortKey(await plugin.queueSort!(deepFreeze(request.pod)))
      case "queueingHint": {
        const { pod, event, object } = request
        return (await plugin.queueingHint!(deepFreeze(pod), { event, object: deepFreeze(object) })) !== false
      }
      case "filter":
        return this.#filter(request, signal)
      case "postFilter": {
        const { pod, cycle } = this.#cycle(request.attempt, signal)
        const answer = await plugin.postFilter!(pod, deepFreeze(request.refused), cycle)
        return answer === undefined ? undefined : { nominate: text(answer.nominate, "nominate") }
      }
      case "score":
        return this.#score(request, signal)
      case "end":
        this.#states.delete(request.key)
        return undefined
      default:
        return this.#onNode(request, signal)
    }
  }

  #cycle({ key, pod, args }: Attempt, signal: AbortSignal) {
    let state = this.#states.get(key)
    if (state === undefined) this.#states.set(key, (state = new Map()))
    const nodes = this.#nodes
    const cycle: Cycle = {
      state,
      args: deepFreeze(args),
      get nodes() {
        return nodes.list
      },
      node: (name) => nodes.get(name),
      signal,
    }
    return { pod: deepFreeze(pod), cycle }
  }

  #viewOf(name: string): NodeView {
    const view = this.#nodes.get(name)
    if (view === undefined) throw new Error(`node ${name} is gone`)
    return view
  }

  async #filter(
    { attempt, nodes, points, instead = [] }: Extract<PluginRequest, { call: "filter" }>,
    signal: AbortSignal,
  ): Promise<FilterAnswer> {
    const { pod, cycle } = this.#cycle(attempt, signal)
    const refused: Record<string, Refusal> = Object.create(null) as Record<string, Refusal>
    let narrowed: ReadonlySet<string> | undefined
    if (has(this.#plugin, points, "preFilter")) {
      const answer = await this.#plugin.preFilter!(pod, cycle)
      if (typeof answer === "object" && "nodes" in answer) narrowed = new Set(answer.nodes)
      else {
        const refusal = refusalOf(answer)
        if (refusal !== undefined) return { refused, preFilter: refusal }
      }
    }
    const others = new Map(instead.map((view) => [view.name, deepFreeze(view)]))
    for (const name of nodes) {
      if (narrowed?.has(name) === false) {
        refused[name] = { reason: `node(s) didn't satisfy plugin(s) [${this.#plugin.name}]`, unresolvable: true }
        continue
      }
      if (!has(this.#plugin, points, "filter")) continue
      const refusal = refusalOf(await this.#plugin.filter!(pod, others.get(name) ?? this.#viewOf(name), cycle))
      if (refusal !== undefined) refused[name] = refusal
    }
    return { refused }
  }

  async #score(
    { attempt, nodes, points }: Extract<PluginRequest, { call: "score" }>,
    signal: AbortSignal,
  ): Promise<ScoreAnswer> {
    const plugin = this.#plugin
    const { pod, cycle } = this.#cycle(attempt, signal)
    const views = nodes.map((name) => this.#viewOf(name))
    if (has(plugin, points, "preScore") && (await plugin.preScore!(pod, views, cycle)) === "skip") return undefined
    if (!has(plugin, points, "score")) return undefined
    const raw = new Map<string, number>()
    for (const view of views) {
      const score = await plugin.score!(pod, view, cycle)
      if (typeof score !== "number" || !Number.isFinite(score))
        throw new TypeError(`score must return a number, not ${shown(score)}`)
      raw.set(view.name, score)
    }
    const scaled = plugin.normalize === undefined ? raw : await plugin.normalize(raw, cycle)
    const scores = Object.create(null) as Record<string, number>
    for (const name of nodes) {
      const score = scaled.get(name)
      if (typeof score !== "number" || !(score >= 0 && score <= 100))
        throw new TypeError(
          `the score of node ${name} must be from 0 to 100, not ${shown(score)}: scale it in normalize`,
        )
      scores[name] = score
    }
    return scores
  }

  async #onNode(
    { call, attempt, node }: Extract<PluginRequest, { node: string }>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { pod, cycle } = this.#cycle(attempt, signal)
    const view = this.#viewOf(node)
    if (call === "permit") return refusalOf(await this.#plugin.permit!(pod, view, cycle))
    if (call === "bind") return (await this.#plugin.bind!(pod, view, cycle)) === true
    await this.#plugin[call]?.(pod, view, cycle)
    return undefined
  }
}

const has = (
  plugin: SchedulerPlugin,
  points: readonly ExtensionPoint[],
  point: "preFilter" | "filter" | "preScore" | "score",
) => plugin[point] !== undefined && points.includes(point)

const shown = (value: unknown): string => {
  try {
    return String(JSON.stringify(value) ?? value).slice(0, 100)
  } catch {
    return typeof value
  }
}

function refusalOf(verdict: Verdict | null): Refusal | undefined {
  if (verdict === undefined || verdict === null) return undefined
  if (typeof verdict === "string") return { reason: verdict }
  if (typeof verdict === "object" && typeof verdict.reason === "string")
    return verdict.unresolvable === true ? { reason: verdict.reason, unresolvable: true } : { reason: verdict.reason }
  throw new TypeError(`expected nothing, a reason, or { reason, unresolvable }, not ${shown(verdict)}`)
}

function text(value: unknown, what: string): string {
  if (typeof value !== "string") throw new TypeError(`${what} must be a text, not ${shown(value)}`)
  return value
}

function sortKey(value: unknown): readonly (number | string)[] {
  const key = Array.isArray(value) ? (value as readonly unknown[]) : [value]
  for (const part of key)
    if (typeof part !== "string" && (typeof part !== "number" || Number.isNaN(part)))
      throw new TypeError(`queueSort must return numbers or texts, not ${shown(value)}`)
  return key as readonly (number | string)[]
}
