import { APIService, isAvailable } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import { StoredKind } from "../cacher/stored-kind.ts"

/** An APIService whose requests go to an extension server. */
export type RemoteService = APIService & {
  readonly spec: { readonly service: NonNullable<APIService["spec"]["service"]> }
}

export const isRemote = (service: APIService): service is RemoteService => service.spec.service !== undefined

/**
 * The stored APIServices in the form that requests need. Updated in the same turn as each commit. The APIs of this
 * process are among them while no stored one has the same name: so a chart or manifest that brings another server finds
 * nothing in its way (Helm refuses objects that it has not made), and ours is there again when that is deleted.
 */
export class ApiServices {
  readonly #byName = new Map<string, APIService>()
  /**
   * The APIServices with an extension server, by `<group>/<version>`. Most clusters have none, so for most requests it
   * is enough to read the size.
   */
  readonly #remote = new Map<string, RemoteService>()
  readonly #listeners = new Set<(names: readonly string[]) => void>()
  readonly #own: ReadonlyMap<string, APIService>
  readonly #unsubscribe: () => void
  #generation = 0

  constructor(storage: Storage, own: readonly APIService[]) {
    const services = new StoredKind(storage, APIService)
    const { prefix } = services
    this.#own = new Map(own.map((service) => [service.metadata.name ?? "", service]))
    for (const service of own) this.#put(service)
    for (const { object } of services.list()) this.#put(object)
    this.#unsubscribe = storage.subscribe(
      (events) => {
        const names = new Set(events.map(({ key }) => key.slice(prefix.length)))
        for (const name of names) {
          const stored = services.get({ name })
          if (stored === undefined) this.#drop(name)
          else this.#put(stored.object)
        }
        for (const listener of this.#listeners) listener([...names])
      },
      [prefix],
    )
  }

  close(): void {
    this.#unsubscribe()
  }

  /** Rises when the spec of an APIService changes, or the availability of its server. */
  get generation(): number {
    return this.#generation
  }

  get all(): Iterable<APIService> {
    return this.#byName.values()
  }

  get(name: string): APIService | undefined {
    return this.#byName.get(name)
  }

  /** The APIServices with an extension server. */
  get remotes(): ReadonlyMap<string, RemoteService> {
    return this.#remote
  }

  /**
   * Calls the listener with the names of APIServices that were written or deleted. Returns a function that ends this.
   */
  subscribe(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #put(service: APIService): void {
    const name = service.metadata.name ?? ""
    const before = this.#byName.get(name)
    this.#byName.set(name, service)
    if (before === undefined || isAvailable(before) !== isAvailable(service) || !deepEqual(before.spec, service.spec))
      this.#generation++
    const key = keyOf(service)
    // This group is always served by this server; otherwise nobody could correct a wrong APIService for it.
    if (isRemote(service) && service.spec.group !== APIService.group) this.#remote.set(key, service)
    else this.#remote.delete(key)
  }

  #drop(name: string): void {
    const service = this.#byName.get(name)
    const own = this.#own.get(name)
    if (service === undefined || service === own) return
    this.#byName.delete(name)
    this.#remote.delete(keyOf(service))
    this.#generation++
    if (own !== undefined) this.#put(own)
  }

  /** Whether an APIService is not stored, since it is that of an API of this process. */
  isOwn(service: APIService): boolean {
    return this.#own.get(service.metadata.name ?? "") === service
  }
}

const keyOf = ({ spec: { group = "", version = "" } }: APIService): string => `${group}/${version}`
