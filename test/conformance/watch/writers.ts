import type { Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../../hunt/chance.ts"
import type { Api, Sent } from "./api.ts"
import type { ObjectHistory } from "./history.ts"
import { pathOf, type WatchedKind } from "./kinds.ts"

const MERGE = "application/merge-patch+json"
const APPLY = "application/apply-patch+yaml"
export const TIERS = ["a", "b", "c"]

export interface Written {
  readonly kind: WatchedKind
  readonly namespace: string
  readonly name: string
  readonly history: ObjectHistory
}

export interface WriterOptions {
  readonly api: Api
  readonly random: Random
  readonly run: string
  /** Called with each acknowledged revision. */
  acknowledged(revision: number): void
  /** Called with an answer that is not allowed. */
  wrong(what: string): void
}

/** Writes to objects, one request after the other, and records the answers. */
export class Writer {
  readonly #options: WriterOptions
  #count = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Makes one random write to an object of this writer alone. */
  async write(written: Written): Promise<void> {
    const { random } = this.#options
    const last = written.history.versions.at(-1)?.object
    if (last === undefined) return this.create(written, pick(random, TIERS))
    const tier = pick(random, TIERS)
    const { paint, field } = written.kind
    const choice = random.next()
    if (choice < 0.12) return this.#delete(written)
    if (choice < 0.18) return this.#deleteSlowly(written)
    if (choice < 0.24) return this.#deleteByLabel(written)
    // This write changes nothing, so it has no new revision.
    if (choice < 0.3) return this.#patch(written, MERGE, { metadata: { labels: last.metadata.labels } })
    if (choice < 0.5 && paint !== undefined) {
      const { patch, subresource = "" } = paint(pick(random, field!.values))
      return this.#patch(written, MERGE, { ...patch, metadata: { annotations: this.#next() } }, subresource)
    }
    if (choice < 0.6) return this.#put(written, last, tier)
    if (choice < 0.75) return this.#apply(written, tier)
    return this.relabel(written, tier)
  }

  /** Changes an object that other writers also change. */
  relabel(written: Written, tier: string, writer = ""): Promise<void> {
    return this.#patch(written, MERGE, { metadata: { labels: { tier }, annotations: { ...this.#next(), writer } } })
  }

  async create({ kind, namespace, name, history }: Written, tier: string): Promise<void> {
    const { random, run } = this.#options
    const color =
      kind.field === undefined ? undefined : kind.plural === "pods" ? undefined : pick(random, kind.field.values)
    const { code, body } = await this.#options.api.send("POST", pathOf(kind, namespace), {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, labels: { run, tier, name }, annotations: this.#next() },
      ...kind.body(color, namespace),
    })
    this.#answered("create", history, code, body, 201)
  }

  /** Brings the object into a state that the selectors match at the end of a run. */
  async end(written: Written): Promise<void> {
    const { random } = this.#options
    if (written.history.versions.at(-1)?.object === undefined) await this.create(written, pick(random, TIERS))
    else await this.relabel(written, pick(random, TIERS))
  }

  async #patch(
    { kind, namespace, name, history }: Written,
    type: string,
    patch: object,
    subresource = "",
  ): Promise<void> {
    const path = `${pathOf(kind, namespace, name)}${subresource}${type === APPLY ? "?fieldManager=applier&force=true" : ""}`
    const { code, body } = await this.#options.api.send("PATCH", path, patch, type)
    this.#answered("patch", history, code, body, 200)
  }

  #apply(written: Written, tier: string): Promise<void> {
    const { apiVersion, kind } = written.kind
    const metadata = { name: written.name, labels: { tier }, annotations: this.#next() }
    return this.#patch(written, APPLY, { apiVersion, kind, metadata })
  }

  async #put({ kind, namespace, name, history }: Written, last: Sent, tier: string): Promise<void> {
    const { metadata } = last
    const { code, body } = await this.#options.api.send("PUT", pathOf(kind, namespace, name), {
      ...last,
      metadata: { ...metadata, labels: { ...metadata.labels, tier }, annotations: this.#next() },
    })
    this.#answered("put", history, code, body, 200)
  }

  async #delete({ kind, namespace, name, history }: Written): Promise<void> {
    const { code, body } = await this.#options.api.send("DELETE", pathOf(kind, namespace, name))
    if (code === 200) history.acknowledgeDeletion({ marked: kind.graceful === true })
    else this.#options.wrong(`delete ${history.key}: ${code} ${body.message}`)
  }

  /** Deletes an object with a finalizer: it is marked first, and goes when the finalizer is removed. */
  async #deleteSlowly(written: Written): Promise<void> {
    const { kind, namespace, name, history } = written
    await this.#patch(written, MERGE, { metadata: { finalizers: ["k3ts.test/held"], annotations: this.#next() } })
    const { code, body } = await this.#options.api.send("DELETE", pathOf(kind, namespace, name))
    this.#answered("slow delete", history, code, body, 200)
    const end = await this.#options.api.send(
      "PATCH",
      pathOf(kind, namespace, name),
      { metadata: { finalizers: null } },
      MERGE,
    )
    if (end.code === 200) history.acknowledgeDeletion()
    else this.#options.wrong(`end of ${history.key}: ${end.code} ${end.body.message}`)
  }

  async #deleteByLabel({ kind, namespace, name, history }: Written): Promise<void> {
    const { run } = this.#options
    const { code, body } = await this.#options.api.send(
      "DELETE",
      `${pathOf(kind, namespace)}?labelSelector=run%3D${run},name%3D${name}`,
    )
    if (code === 200) history.acknowledgeDeletion({ marked: kind.graceful === true })
    else this.#options.wrong(`delete collection ${history.key}: ${code} ${body.message}`)
  }

  #next(): { readonly n: string } {
    return { n: String(++this.#count) }
  }

  #answered(verb: string, history: ObjectHistory, code: number, body: Sent, wanted: number): void {
    if (code !== wanted) return this.#options.wrong(`${verb} ${history.key}: ${code} ${body.message}`)
    history.acknowledge(body)
    this.#options.acknowledged(Number(body.metadata.resourceVersion))
  }
}

/** The number of writes that a writer sends in a row to one of its objects, so that their events are close together. */
export const burst = (random: Random): number => (chance(random, 0.3) ? between(random, 3, 6) : 1)
