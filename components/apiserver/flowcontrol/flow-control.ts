/**
 * API Priority and Fairness: decides which requests are executed at once, which wait, and which are rejected.
 * A FlowSchema assigns a request to a priority level. Each level has a number of seats, and requests that find no free
 * seat wait in the queues of the level. Sources: apiserver pkg/util/flowcontrol (apf_controller.go, apf_filter.go),
 * KEP-1040.
 * A request that is answered in the turn in which it began takes no seat, since no other request can run in that turn.
 * So most requests only cost a classification, a check for free seats and a count.
 */
import { byPrecedence, type FlowSchema } from "../../../pkg/api/flowcontrol/v1/flowschema.ts"
import type { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import type { Clock, Timer } from "../../../pkg/clock/clock.ts"
import { Deadlines } from "../../../pkg/clock/deadlines.ts"
import type { NonResourceRequest, ResourceAttributes, UserInfo } from "../call/request.ts"
import type { Classification } from "../call/classification.ts"
import { adjustSeats } from "./seats/borrowing.ts"
import { Classifier, type Classified } from "./classifier.ts"
import type { FlowMetrics } from "./flow-metrics.ts"
import type { FlowRequest } from "./flow-request.ts"
import { mandatoryLevels, mandatorySchemas } from "./config/mandatory.ts"
import { isUsable, PriorityLevel } from "./priority-level.ts"
import type { Place } from "./fair-queuing/queue-set.ts"
import { endOfPeriod } from "./seats/seat-demand.ts"
import { isPending } from "../call/maybe-promise.ts"

export interface FlowControlOptions {
  readonly clock: Clock
  readonly metrics: FlowMetrics
  /** The server's seats: how many requests it executes concurrently, apart from exempt ones. */
  readonly serverSeats: number
  /** Returns how many seats a list or watch takes; `limit` is the limit parameter of the list. */
  seatsOf(attributes: ResourceAttributes, limit: number | undefined, maxSeats: number): number
}

/** What is needed of a request beside its attributes when it has to wait. */
export interface Terms<T> {
  /** The longest wait, in milliseconds: a quarter of the request's timeout. */
  readonly mostMs: number
  /** The limit parameter of a list. */
  readonly limit?: number | undefined
  /** False for a watch, which holds seats only while it starts. */
  readonly holdsSeats?: false
  /**
   * The request also waits when its queue is full: a caller in this process would only wait elsewhere before it tries
   * again.
   */
  readonly isPatient?: true
  /** Called with the classification of the request. */
  readonly classified?: (classification: Classification) => void
  /** Aborts when the caller no longer waits for the answer. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called when the request has to wait; returns false when what it holds while waiting (its body) exceeds a limit.
   * After true, `end` is called once.
   */
  readonly begin?: () => boolean
  readonly end?: () => void
  /** Returns the answer for a rejected request, which may be sent again after `retryAfter` seconds. */
  rejected(retryAfter: number): T
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
  /** When the seats are to be divided again, in milliseconds of the monotonic clock. */
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

  /** The priority levels, sorted by name. */
  get levels(): readonly PriorityLevel[] {
    return [...this.#levels.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The fraction of its target that a level gets when none of its bounds applies. */
  get fairProportion(): number {
    return this.#fairProportion
  }

  /**
   * Applies a new configuration. Removed levels that still have requests remain until these end. Mandatory objects that
   * are missing get their default content. Source: lockAndDigestConfigObjects.
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
   * Executes a request when it gets seats. With free seats `serve` is called at once and its result returned as it is.
   * The request holds its seats until the promise of `serve` settles.
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

  /** Executes a request that ends within this turn, whether seats are free or not. */
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
    classified: Classified,
    attributes: ResourceAttributes | NonResourceRequest,
    seats: number,
    dispatched: (() => void) | undefined,
  ): FlowRequest {
    return { seats, flow: classified.flow(), schema: classified.schema.metadata.name!, attributes, dispatched }
  }

  /**
   * `take` occupies the seats of a request that continues after this turn; undefined when the request holds no seats.
   */
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
    if (take === undefined || !isPending(result)) {
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

  /** Executes a request that has waited and so already holds seats. */
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

  /** While requests wait, divides the seats again at the end of each period. */
  #watchSeats(): void {
    this.#timer ??= this.#options.clock.setTimeout(
      () => {
        this.#timer = undefined
        try {
          this.#adjust()
        } finally {
          if (this.#waiting > 0) this.#watchSeats()
        }
      },
      Math.max(0, this.#adjustAt - this.#options.clock.monotonic()),
    )
  }

  #stopWatchingSeats(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
