import type { EndpointSlice } from "../../../../pkg/api/discovery/v1/endpointslice.ts"
import type { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import type { HistoryEntry } from "../history/history.ts"

/** How available one Service was. */
export interface ServiceForecast {
  readonly namespace: string
  readonly name: string
  /** Milliseconds without a ready endpoint. */
  readonly unavailableMs: number
  /** When it first had none, in milliseconds after the change; undefined when it always had one. */
  readonly sinceMs: number | undefined
  readonly readyBefore: number
  readonly fewestReady: number
  readonly readyAfter: number
}

const OWNER = "kubernetes.io/service-name"

const readyIn = (slice: EndpointSlice): number =>
  (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).length

const idOf = (namespace: string | undefined, name: string | undefined): string => `${namespace ?? ""}/${name ?? ""}`

/** Returns how available the Services were that had ready endpoints at `begin`, until `end`, in milliseconds. */
export function serviceForecasts(
  services: readonly Service[],
  before: readonly EndpointSlice[],
  entries: readonly HistoryEntry[],
  begin: number,
  end: number,
): readonly ServiceForecast[] {
  const watched = new Map(
    services
      .filter(({ spec }) => Object.keys(spec.selector ?? {}).length > 0)
      .map(({ metadata }) => [idOf(metadata.namespace, metadata.name), new Availability(begin)]),
  )
  const place = (slice: EndpointSlice, ready: number, time: number) =>
    watched
      .get(idOf(slice.metadata.namespace, slice.metadata.labels?.[OWNER]))
      ?.set(slice.metadata.name ?? "", ready, time)
  for (const slice of before) place(slice, readyIn(slice), begin)
  for (const each of watched.values()) each.start()
  for (const { object, type, time } of entries)
    if (object.kind === "EndpointSlice")
      place(object as EndpointSlice, type === "delete" ? 0 : readyIn(object as EndpointSlice), Date.parse(time))
  return services.flatMap(({ metadata: { namespace = "", name = "" } }) => {
    const availability = watched.get(idOf(namespace, name))
    if (availability === undefined || availability.readyBefore === 0) return []
    return [{ namespace, name, ...availability.until(end) }]
  })
}

/** The ready endpoints of one Service over time. */
class Availability {
  readonly #slices = new Map<string, number>()
  readonly #begin: number
  #ready = 0
  #readyBefore = 0
  #fewest = 0
  #unavailableMs = 0
  #lostAt: number | undefined
  #since: number | undefined

  constructor(begin: number) {
    this.#begin = begin
  }

  get readyBefore(): number {
    return this.#readyBefore
  }

  set(slice: string, ready: number, time: number): void {
    this.#slices.set(slice, ready)
    this.#ready = [...this.#slices.values()].reduce((sum, each) => sum + each, 0)
    this.#fewest = Math.min(this.#fewest, this.#ready)
    if (this.#ready === 0) {
      this.#lostAt ??= time
      this.#since ??= time
    } else if (this.#lostAt !== undefined) {
      this.#unavailableMs += time - this.#lostAt
      this.#lostAt = undefined
    }
  }

  /** Takes what is there as the beginning. */
  start(): void {
    this.#readyBefore = this.#fewest = this.#ready
    this.#unavailableMs = 0
    this.#since = undefined
    this.#lostAt = this.#ready === 0 ? this.#begin : undefined
  }

  until(end: number): Omit<ServiceForecast, "namespace" | "name"> {
    const last = this.#lostAt === undefined ? 0 : end - this.#lostAt
    return {
      unavailableMs: this.#unavailableMs + last,
      sinceMs: this.#since === undefined ? undefined : this.#since - this.#begin,
      readyBefore: this.#readyBefore,
      fewestReady: this.#fewest,
      readyAfter: this.#ready,
    }
  }
}
