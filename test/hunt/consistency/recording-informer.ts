import { ApiError, ConfigMap, type Client, type Cluster } from "../../../components/cluster/testing/testing.ts"
import type { Watch, WatchEvent } from "../../../pkg/client/client.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../chance.ts"
import type { Value } from "./linearizable.ts"
import { valueOf, type SeenByInformer, type SeenEvent } from "./list-watch.ts"
import { NAMES, NAMESPACE, type Recording } from "./recording-client.ts"

export interface RecordingInformerOptions {
  readonly by: string
  /** A client of each server. */
  readonly clients: readonly Client[]
  readonly cluster: Pick<Cluster, "mayBeOld">
  readonly recording: Recording
  readonly random: Random
  readonly clock: Clock
}

interface Seen extends SeenByInformer {
  readonly events: SeenEvent[]
  isOpen: boolean
}

/** Lists and watches the objects, through a server that it chooses anew after each interruption. */
export class RecordingInformer {
  readonly seen: Seen[] = []
  /** Lists that did not have a write that was acknowledged before. */
  readonly stale: string[] = []
  readonly #options: RecordingInformerOptions

  constructor(options: RecordingInformerOptions) {
    this.#options = options
  }

  /** Works until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { random, clock, clients } = this.#options
    let present: Seen | undefined
    while (!signal.aborted) {
      try {
        // As an informer, which resumes; sometimes as one that has just begun.
        if (present === undefined || chance(random, 0.2)) present = await this.#list(pick(random, clients))
        if (present !== undefined && (await this.#watch(pick(random, clients), present, signal)) === "expired")
          present = undefined
      } catch (err) {
        if (!(err instanceof ApiError)) throw err
      }
      await sleep(clock, between(random, 100, 1000), signal).catch(() => undefined)
    }
  }

  async #list(client: Client): Promise<Seen | undefined> {
    const { by, recording, cluster } = this.#options
    const newest = Math.max(0, ...recording.acknowledged.map(({ revision }) => revision))
    const list = await client.list(ConfigMap, { namespace: NAMESPACE })
    const listedAt = Number(list.metadata.resourceVersion)
    if (!cluster.mayBeOld(list) && listedAt < newest)
      this.stale.push(`${by}: a list at ${listedAt} does not have the write ${newest}, which was acknowledged before`)
    const listed = new Map<string, Value>(
      list.items.filter(isOurs).map((object) => [object.metadata.name!, valueOf(object)]),
    )
    const seen: Seen = { by, listedAt, listed, events: [], isOpen: false }
    this.seen.push(seen)
    return seen
  }

  #watch(client: Client, seen: Seen, signal: AbortSignal): Promise<"ended" | "expired"> {
    const resourceVersion = String(seen.events.at(-1)?.revision ?? seen.listedAt)
    const { promise, resolve } = Promise.withResolvers<"ended" | "expired">()
    const close = () => {
      watch?.close()
      resolve("ended")
    }
    seen.isOpen = true
    const watch: Watch | undefined = client.watch(
      ConfigMap,
      { namespace: NAMESPACE, resourceVersion },
      {
        onEvent: (event) => note(seen, event),
        onEnd: (error) => {
          seen.isOpen = false
          signal.removeEventListener("abort", close)
          resolve(error?.reason === "Expired" || error?.reason === "Gone" ? "expired" : "ended")
        },
      },
    )
    signal.addEventListener("abort", close, { once: true })
    if (signal.aborted) close()
    return promise
  }
}

const isOurs = ({ metadata }: ConfigMap): boolean => NAMES.includes(metadata.name ?? "")

function note(seen: Seen, event: WatchEvent<ConfigMap>): void {
  if (event.type === "BOOKMARK" || event.type === "ERROR" || !isOurs(event.object)) return
  const { type, object } = event
  const { name = "", resourceVersion } = object.metadata
  seen.events.push({ type, name, value: valueOf(object), revision: Number(resourceVersion) })
}
