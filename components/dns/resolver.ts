import { isWithin, type Zone } from "./config/zone.ts"
import { ZoneServer, type Outcome, type ZoneContext } from "./zone-server.ts"
import type { Query } from "./wire/query.ts"

/** Answers queries by the zone that is nearest to the name. */
export class Resolver {
  readonly #context: ZoneContext
  #zones: readonly ZoneServer[]

  /** `zones` has the root among them. */
  constructor(zones: readonly Zone[], context: Omit<ZoneContext, "resolve">) {
    this.#context = { ...context, resolve: (query, name) => this.zoneOf(name).resolve(query, name) }
    this.#zones = []
    this.use(zones)
    context.metrics.cacheEntries(() => ({ success: this.#kept("success"), denial: this.#kept("denial") }))
  }

  /** Replaces the zones. A zone that has not changed keeps its cache and its upstream servers. */
  use(zones: readonly Zone[]): void {
    const before = new Map(this.#zones.map((server) => [JSON.stringify(server.zone), server]))
    this.#zones = zones
      .map((zone) => before.get(JSON.stringify(zone)) ?? new ZoneServer(zone, this.#context))
      .toSorted((a, b) => b.zone.name.length - a.zone.name.length)
  }

  zoneOf(name: string): ZoneServer {
    return this.#zones.find(({ zone }) => isWithin(name, zone.name))!
  }

  answer(query: Query): Promise<Outcome> {
    return this.zoneOf(query.name).answer(query)
  }

  #kept(kind: "success" | "denial"): number {
    return this.#zones.reduce((sum, server) => sum + server.kept(kind), 0)
  }
}
