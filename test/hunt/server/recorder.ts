import { isReason } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { Client, Watch, WatchEvent } from "../../../pkg/client/client.ts"
import { Job, Node, Pod, ResourceQuota, Service } from "../../../components/cluster/testing/testing.ts"
import type { Written } from "../record.ts"

const KINDS: readonly Resource[] = [Pod, Job, Node, ResourceQuota, Service] as readonly Resource[]
const AGAIN_MS = 200

/**
 * Writes down every change of the kinds that the record looks at, by watches that go on where they ended, over kills of
 * the server too.
 */
export class Recorder {
  readonly #client: Client
  readonly #entries: { readonly revision: number; readonly entry: Written }[] = []
  readonly #watches = new Map<Resource, Watch>()
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  readonly #last = new Map<string, KubeObject>()
  /** Problems of the watches themselves: a server must never lose an event that it has sent. */
  readonly problems: string[] = []
  #ended = false

  constructor(client: Client) {
    this.#client = client
  }

  async start(): Promise<void> {
    for (const resource of KINDS) {
      const { items, metadata } = await this.#client.list(resource)
      for (const object of items) this.#take("create", object)
      this.#follow(resource, Number(metadata.resourceVersion))
    }
  }

  /** All that was written, in the order of revisions. */
  entries(): readonly Written[] {
    return this.#entries.toSorted((a, b) => a.revision - b.revision).map(({ entry }) => entry)
  }

  stop(): void {
    this.#ended = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const watch of this.#watches.values()) watch.close()
  }

  #follow(resource: Resource, from: number): void {
    let revision = from
    const watch = this.#client.watch(
      resource,
      { resourceVersion: String(from), allowWatchBookmarks: true },
      {
        onEvent: (event: WatchEvent) => {
          if (event.type === "ERROR") return
          const next = Number(event.object.metadata.resourceVersion)
          if (next < revision) this.problems.push(`a watch of ${resource.plural} went from ${revision} to ${next}`)
          revision = next
          if (event.type === "BOOKMARK") return
          this.#take(event.type === "DELETED" ? "delete" : event.type === "ADDED" ? "create" : "update", event.object)
        },
        onEnd: (error) => {
          if (this.#ended) return
          if (isReason(error, "Expired", "Gone")) {
            this.problems.push(`a watch of ${resource.plural} cannot go on from ${revision}: ${error!.message}`)
            return
          }
          const timer = setTimeout(() => {
            this.#timers.delete(timer)
            if (!this.#ended) this.#follow(resource, revision)
          }, AGAIN_MS)
          this.#timers.add(timer)
        },
      },
    )
    this.#watches.set(resource, watch)
  }

  #take(type: Written["type"], object: KubeObject): void {
    const { uid = "", resourceVersion, managedFields = [] } = object.metadata
    const newest = managedFields.toSorted((a, b) => ((a.time ?? "") < (b.time ?? "") ? -1 : 1)).at(-1)
    const entry = {
      type,
      object,
      previous: this.#last.get(uid),
      time: newest?.time ?? "",
      author: newest?.manager ?? "",
    }
    this.#last.set(uid, object)
    this.#entries.push({ revision: Number(resourceVersion), entry })
  }
}
