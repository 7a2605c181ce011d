import type { Random } from "../../../pkg/clock/random.ts"
import { between, pick } from "../../hunt/chance.ts"
import type { Api, Sent, WatchLine } from "./api.ts"
import type { Selector } from "./history.ts"
import { pathOf, type WatchedKind } from "./kinds.ts"

/** One connection of a watch, from its start until it is cut. */
export interface Session {
  /** The revision after which the watch began; undefined if the server chose it. */
  readonly after: number | undefined
  /** Whether it requested the objects that exist first. */
  readonly initialEvents: boolean
  readonly lines: WatchLine[]
}

/** A consistent list, of one page or of several. */
export interface Listed {
  /** The query of its last page. */
  readonly query: string
  readonly revision: number
  readonly items: readonly Sent[]
}

export interface WatcherOptions {
  readonly api: Api
  readonly kind: WatchedKind
  readonly selector: Selector
  /** Whether only metadata are requested. */
  readonly metadataOnly: boolean
  readonly random: Random
  /** Returns a revision that was acknowledged earlier. */
  someRevision(): number
  /** Whether watches may begin with the objects that exist. Upstream's server needs etcd 3.5.13 or later for that. */
  readonly initialEvents: boolean
  /** Whether the writers have finished: then the watch is no longer cut. */
  ended(): boolean
}

const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

/**
 * Watches with one selector. Its connection is cut after some events; it resumes there, at a random revision, or starts
 * anew.
 */
export class Watcher {
  readonly options: WatcherOptions
  readonly sessions: Session[] = []
  readonly lists: Listed[] = []
  readonly wrong: string[] = []
  expired = 0
  /** The last revision that it has received. */
  #last = 0
  /** The revision up to which it must receive everything. */
  #target = Infinity
  #cut: () => void = () => undefined

  constructor(options: WatcherOptions) {
    this.options = options
  }

  /** Ends the watch as soon as it has received this revision; called after the last write. */
  finish(revision: number): void {
    this.#target = revision
    if (this.#last >= revision) this.#cut()
  }

  /** Ends the watch at once. Returns what it has not received; undefined if it has received everything. */
  giveUp(): string[] {
    const { kind, selector } = this.options
    if (this.#last >= this.#target) return []
    const [last, target] = [this.#last, this.#target]
    this.#target = 0
    this.#cut()
    return [`${pathOf(kind, selector.namespace)}?${selector.query} came to ${last} only, not to ${target}`]
  }

  async run(): Promise<void> {
    const { random, ended } = this.options
    let after: number | undefined = await this.#list()
    while (this.#last < this.#target) {
      const choice = random.next()
      if (after !== undefined && choice >= 0.6 && !ended())
        after = choice < 0.85 ? this.options.someRevision() : choice < 0.92 ? await this.#list() : undefined
      const gone = await this.#session(after)
      if (gone) this.expired++
      after = !gone && this.#last > 0 ? this.#last : random.next() < 0.7 ? await this.#list() : undefined
    }
  }

  /** Returns whether the revision had expired. */
  async #session(after: number | undefined): Promise<boolean> {
    const { api, kind, selector, metadataOnly, random, ended } = this.options
    const initialEvents = after === undefined && this.options.initialEvents
    const session: Session = { after, initialEvents, lines: [] }
    this.sessions.push(session)
    const start =
      after !== undefined
        ? `allowWatchBookmarks=true&resourceVersion=${after}`
        : initialEvents
          ? "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
          : "resourceVersion=0"
    let left = between(random, 1, 40)
    let gone = false
    this.#last = after ?? 0
    const path = `${pathOf(kind, selector.namespace)}?watch=1&${selector.query}&${start}`
    const watch = api.watch(path, metadataOnly ? METADATA : "application/json", (line) => {
      if (line.type === "ERROR") {
        const { code, reason, message } = line.object
        gone =
          code === 410 && reason === "Expired" && /^(too old resource version|The resourceVersion)/.test(message ?? "")
        if (!gone) this.wrong.push(`watch ${path}: ${code} ${reason} ${message}`)
        return false
      }
      session.lines.push(line)
      this.#last = Math.max(this.#last, Number(line.object.metadata.resourceVersion))
      return this.#last < this.#target && (ended() || --left > 0)
    })
    this.#cut = watch.cut
    await watch.over
    return gone
  }

  /** Returns the revision of the list. Starts the list anew if its continuation token has expired. */
  async #list(): Promise<number> {
    const { api, kind, selector, random } = this.options
    const limit = pick(random, ["", "", "&limit=3", "&limit=10"])
    const exact =
      random.next() < 0.2 ? `&resourceVersionMatch=Exact&resourceVersion=${this.options.someRevision()}` : ""
    const items: Sent[] = []
    const base = `${pathOf(kind, selector.namespace)}?${selector.query}`
    let next = `${limit}${exact}`
    for (;;) {
      const { code, body } = await api.send("GET", `${base}${next}`)
      if (code === 410) {
        this.expired++
        items.length = 0
        next = ""
        continue
      }
      if (code !== 200) {
        this.wrong.push(`list ${base}${next}: ${code} ${body.message}`)
        return this.options.someRevision()
      }
      items.push(...(body.items ?? []))
      const { resourceVersion, continue: token = "" } = body.metadata
      if (token !== "") {
        next = `${limit}&continue=${encodeURIComponent(token)}`
        continue
      }
      this.lists.push({ query: `${base}${next}`, revision: Number(resourceVersion), items })
      this.#last = Number(resourceVersion)
      return this.#last
    }
  }
}
