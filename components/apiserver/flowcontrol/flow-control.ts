/**
 * Priority and fairness: which requests begin at once, which wait, and which are turned away.
 *
 * A FlowSchema says at which priority level a request is served; each level has a number of seats, and requests that
 * find none wait in its queues. Sources: apiserver pkg/util/flowcontrol (apf_controller.go, apf_filter.go), KEP-1040.
 *
 * A request whose answer is ready in the same turn never has a seat: nobody could find it there. So what most requests
 * cost is to be classified, to look whether there is room, and to be counted.
 */
import { byPrecedence, type FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { Deadlines } from "../../../pkg/clock/deadlines.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../request.ts"
import { adjustSeats } from "./borrowing.ts"
import { Classifier, type Classified } from "./classifier.ts"
import type { FlowMetrics } from "./flow-metrics.ts"
import type { FlowRequest } from "./flow-request.ts"
import { mandatoryLevels, mandatorySchemas } from "./mandatory.ts"
import { isUsable, PriorityLevel } from "./priority-level.ts"
import type { Place } from "./queue-set.ts"
import { endOfPeriod } from "./seat-demand.ts"

export interface FlowControlOptions {
  readonly clock: Clock
  readonly metrics: FlowMetrics
  /** How many requests the server serves at once, but for the exempt ones. */
  readonly serverSeats: number
  /** How many seats a list or watch takes; `limit` is how many objects it asks for at most. */
  seatsOf(attributes: ResourceAttributes, limit: number | undefined, maxSeats: number): number
}

/** What is to be known of a request beside its attributes, for the case that it has to wait. */
export interface Terms<T> {
  /** Milliseconds; a quarter of the time that the request has. */
  readonly mostMs: number
  /** Of a list. */
  readonly limit?: number | undefined
  /** False for a watch: it needs seats for as long as it begins. */
  readonly holdsSeats?: false
  /** Waits in a full queue too: who is in this process only holds in another place what is sent away here. */
  readonly isPatient?: true
  /** Told where the request belongs. */
  readonly classified?: (classification: Classification) => void
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined
  /** Called when it has to wait; false where there is no room for what it holds meanwhile. `end` follows if true. */
  readonly begin?: () => boolean
  readonly end?: () => void
  /** The answer where it is turned away; it may come again after `retryAfter` seconds. */
  rejected(retryAfter: number): T
}

/** Where a request belongs: told to clients in the head of the answer, by uid. */
export interface Classification {
  readonly schemaUid: string
  readonly levelUid: string
}

export class FlowControl {
  readonly #options: FlowControlOptions
  readonly #classifier: Classifier
  readonly #deadlines: Deadlines<() => void>
  #levels = new Map<string, PriorityLevel>()
  #configured: { readonly levels: readonly PriorityLevelConfiguration[]; readonly schemas: readonly FlowSchema[] } = {
    levels: [],
    schemas: [],
  }
  #fairProportion = 0
  /** When the seats were divided is no more true from this time on. */
  #adjustAt = 0
  #timer: Timer | undefined
  #waiting = 0

  constructor(options: FlowControlOptions) {
    this.#options = options
    this.#classifier = new Classifier(options.metrics)
    this.#deadlines = new Deadlines(options.clock, (giveUp) => giveUp())
    options.metrics.show(this)
    this.configure([], [])
  }

  /** By name. */
  get levels(): readonly PriorityLevel[] {
    return [...this.#levels.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** What part of its target a level has that meets no bound. */
  get fairProportion(): number {
    return this.#fairProportion
  }

  /**
   * Goes over to these objects. Levels that are not among them, but have requests, remain until those are over; the
   * mandatory objects are there even where they are missing. Source: lockAndDigestConfigObjects.
   */
  configure(configurations: readonly PriorityLevelConfiguration[], schemas: readonly FlowSchema[]): void {
    this.#configured = { levels: configurations, schemas }
    const levels = new Map<string, PriorityLevel>()
    for (const configuration of [...mandatoryLevels(), ...configurations].filter(isUsable)) {
      const name = configuration.metadata.name!
      const known = levels.get(name) ?? this.#levels.get(name)
      known?.configure(configuration)
      levels.set(name, known ?? new PriorityLevel(configuration, this.#options.clock))
    }
    const usable = schemas.filter(({ spec }) => levels.has(spec.priorityLevelConfiguration.name))
    for (const [name, level] of this.#levels) {
      if (levels.has(name) || level.queues.isIdle) continue
      level.isQuiescing = true
      levels.set(name, level)
    }
    this.#levels = levels
    const sum = [...levels.values()].reduce((total, { shares }) => total + shares, 0)
    for (const level of levels.values()) level.share(this.#options.serverSeats, sum)
    this.#adjust()
    const missing = mandatorySchemas().filter(({ metadata }) =>
      usable.every((schema) => schema.metadata.name !== metadata.name),
    )
    this.#classifier.configure([...usable, ...missing].sort(byPrecedence), levels)
  }

  /**
   * Serves a request when its turn has come: at once, and then with the result of `serve` as it is, wherever there is
   * room. A request holds its seats until the promise of `serve` is settled.
   */
  run<T>(
    user: UserInfo,
    attributes: ResourceAttributes | NonResourceRequest,
    serve: () => T | Promise<T>,
    terms: Terms<T>,
  ): T | Promise<T> {
    const classified = this.#classifier.classify(user, attributes)
    terms.classified?.(classified)
    const { level } = classified
    const seats = this.#seatsOf(attributes, terms.limit, level)
    if (!level.queues.hasRoom(seats)) {
      if (this.#options.clock.monotonic() >= this.#adjustAt) this.#adjust()
      if (!level.queues.hasRoom(seats)) return this.#wait(classified, attributes, seats, serve, terms)
    }
    this.#count(classified, seats)
    return this.#execute(
      classified,
      serve,
      terms.holdsSeats === false
        ? undefined
        : () => level.queues.execute(this.#requestOf(classified, attributes, seats, undefined)),
    )
  }

  /** Serves what is over in the same turn, whether there is room or not. */
  pass<T>(user: UserInfo, attributes: ResourceAttributes | NonResourceRequest, serve: () => T): T {
    const classified = this.#classifier.classify(user, attributes)
    this.#count(classified, this.#seatsOf(attributes, undefined, classified.level))
    return this.#execute(classified, serve, undefined) as T
  }

  close(): void {
    this.#stopWatchingSeats()
  }

  #seatsOf(
    attributes: ResourceAttributes | NonResourceRequest,
    limit: number | undefined,
    { maxSeats }: PriorityLevel,
  ): number {
    if ("path" in attributes || (attributes.verb !== "list" && attributes.verb !== "watch")) return 1
    return this.#options.seatsOf(attributes, limit, maxSeats)
  }

  #count({ level, figures }: Classified, seats: number): void {
    figures.estimatedSeats.observe(seats)
    if (!level.isExempt) figures.waited.observe(0)
  }

  #requestOf(
    { schema, flow }: Classified,
    attributes: ResourceAttributes | NonResourceRequest,
    seats: number,
    dispatched: (() => void) | undefined,
  ): FlowRequest {
    return { seats, flow: flow(), schema: schema.metadata.name!, attributes, dispatched }
  }

  /** `take` gives seats to a request that goes on after this turn; it has none to give where there are none to hold. */
  #execute<T>(
    { level, figures }: Classified,
    serve: () => T | Promise<T>,
    take: (() => Place<FlowRequest>) | undefined,
  ): T | Promise<T> {
    const { clock } = this.#options
    const began = clock.monotonic()
    level.counts.dispatched++
    figures.dispatched.inc()
    const result = serve()
    if (take === undefined || !(result instanceof Promise)) {
      figures.execution.observe((clock.monotonic() - began) / 1000)
      return result
    }
    const place = take()
    const { seats } = place.request
    figures.began(seats)
    const over = () => {
      figures.ended(seats, (clock.monotonic() - began) / 1000)
      this.#finish(level, place)
    }
    result.then(over, over)
    return result
  }

  #finish(level: PriorityLevel, place: Place<FlowRequest>): void {
    level.queues.finish(place)
    if (level.isQuiescing && level.queues.isIdle) this.configure(this.#configured.levels, this.#configured.schemas)
  }

  #wait<T>(
    classified: Classified,
    attributes: ResourceAttributes | NonResourceRequest,
    seats: number,
    serve: () => T | Promise<T>,
    terms: Terms<T>,
  ): T | Promise<T> {
    const { level, figures } = classified
    const { clock } = this.#options
    const turnAway = (reason: string, waitedMs: number): T => {
      level.counts.rejected++
      figures.rejected(reason, waitedMs / 1000)
      return terms.rejected(level.dropped.dropped(clock.now()))
    }
    figures.estimatedSeats.observe(seats)
    if (terms.begin?.() === false) return turnAway("queue-full", 0)
    const began = clock.monotonic()
    const turn = Promise.withResolvers<"dispatched" | "timedOut" | "cancelled">()
    const request = this.#requestOf(classified, attributes, seats, () => turn.resolve("dispatched"))
    const place = level.queues.enqueue(request, terms.isPatient)
    if (typeof place === "string") {
      terms.end?.()
      return turnAway(place, 0)
    }
    figures.entered(seats, place.queue!.waiting.size)
    const giveUp = (reason: "timedOut" | "cancelled") => {
      if (level.queues.giveUp(place)) turn.resolve(reason)
    }
    const onAbort = () => giveUp("cancelled")
    const { signal } = terms
    signal?.addEventListener("abort", onAbort, { once: true })
    const deadline = this.#deadlines.add(() => giveUp("timedOut"), began + terms.mostMs)
    this.#waiting++
    this.#watchSeats()
    return turn.promise.then((outcome) => {
      this.#deadlines.delete(deadline)
      signal?.removeEventListener("abort", onAbort)
      figures.left(seats)
      terms.end?.()
      if (--this.#waiting === 0) this.#stopWatchingSeats()
      const waitedMs = clock.monotonic() - began
      if (outcome !== "dispatched") {
        level.counts[outcome]++
        return turnAway("time-out", waitedMs)
      }
      figures.waited.observe(waitedMs / 1000)
      return this.#serveSeated(classified, serve, place, terms.holdsSeats !== false)
    })
  }

  /** Serves a request that has waited, and so has its seats already. */
  #serveSeated<T>(
    classified: Classified,
    serve: () => T | Promise<T>,
    place: Place<FlowRequest>,
    holdsSeats: boolean,
  ): T | Promise<T> {
    let isTaken = false
    const take = () => {
      isTaken = true
      return place
    }
    try {
      return this.#execute(classified, serve, holdsSeats ? take : undefined)
    } finally {
      if (!isTaken) this.#finish(classified.level, place)
    }
  }

  #adjust(): void {
    const now = this.#options.clock.monotonic()
    this.#adjustAt = endOfPeriod(now)
    this.#fairProportion = adjustSeats([...this.#levels.values()], now)
  }

  /** While requests wait, seats are divided anew at the end of each period. */
  #watchSeats(): void {
    this.#timer ??= this.#options.clock.setTimeout(
      () => {
        this.#timer = undefined
        this.#adjust()
        if (this.#waiting > 0) this.#watchSeats()
      },
      Math.max(0, this.#adjustAt - this.#options.clock.monotonic()),
    )
  }

  #stopWatchingSeats(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
