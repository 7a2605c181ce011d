/**
 * The requests of one priority level: those that execute, and the queues in which others wait.
 * Fair queuing: each queue has a virtual time at which its oldest request would begin if the level served all queues in
 * turn, a little of each; the request that would end first is dispatched first. R, the virtual time of the level,
 * advances at the rate at which each active queue gets seats. A request is assumed to last 3 ms when it is dispatched,
 * and the difference is corrected when it ends. Sources: apiserver pkg/util/flowcontrol/fairqueuing/queueset (doc.go
 * explains the theory), KEP-1040.
 * Differs from upstream: R is a floating-point number, which needs no epochs; and no request keeps seats after its end,
 * since watchers are served in the turn of the commit.
 */
import { deal } from "./shuffle-sharding.ts"

export interface QueuingConfig {
  /** 0 when requests do not wait. */
  readonly queues: number
  readonly handSize: number
  readonly queueLengthLimit: number
}

/** A group of requests that shares its queues: those of one FlowSchema with the same value of its distinguisher. */
export interface Flow {
  readonly distinguisher: string
  readonly hash: bigint
}

/** What the queues need to know of a request. */
export interface SeatedRequest {
  readonly seats: number
  readonly flow: Flow
  /** Called when the request has waited and is dispatched. It holds its seats from then on. */
  readonly dispatched: (() => void) | undefined
}

/** A request that waits or executes. */
export interface Place<Request extends SeatedRequest> {
  readonly request: Request
  readonly queue: Queue<Request> | undefined
  /** When it arrived, in milliseconds of the monotonic clock, like all times here. */
  readonly arrived: number
  started: number | undefined
  /** The value of R when it arrived. */
  readonly arrivalR: number
  /** Its index in the list of executing requests. */
  index: number
}

export interface Queue<Request extends SeatedRequest> {
  readonly waiting: Set<Place<Request>>
  /** The first waiting request, kept because it is read of every queue whenever a request ends. */
  oldest: Place<Request> | undefined
  readonly executing: Place<Request>[]
  /** Seats that its waiting requests need. */
  seatsWaiting: number
  /** Seats that its executing requests hold. */
  seatsInUse: number
  nextDispatchR: number
}

export interface QueueSetOptions {
  /** Whether requests begin without regard to the limit. */
  readonly isExempt: boolean
  readonly now: () => number
  /** Called with the seats that are in use or wanted, whenever that number changes. */
  readonly demand: (seats: number, now: number) => void
}

/** How long a request is assumed to last. */
const ESTIMATED_MS = 3

/**
 * Virtual times are whole numbers of hundred-millionths of a seat-second, as upstream's, so that the queues of equal
 * flows have equal times: among those the search is fair, while differences by rounding would always favour the same.
 */
const UNITS_A_SECOND = 1e8

const unitsOf = (seats: number, ms: number): number => Math.round((seats * ms * UNITS_A_SECOND) / 1000)

export class QueueSet<Request extends SeatedRequest> {
  queues: readonly Queue<Request>[] = []
  /** The executing requests that came through no queue. */
  readonly queueless: Place<Request>[] = []
  readonly #options: QueueSetOptions
  #config: QueuingConfig = { queues: 0, handSize: 0, queueLengthLimit: 0 }
  #limit = 0
  #hands = new WeakMap<Flow, readonly number[]>()
  #r = 0
  #rAt: number
  #activeQueues = 0
  #robin = 0
  #chosen = 0
  waiting = 0
  executing = 0
  seatsWaiting = 0
  seatsInUse = 0
  /** How often the next request needed more seats than were free. */
  notAccommodated = 0

  constructor(options: QueueSetOptions) {
    this.#options = options
    this.#rAt = options.now()
  }

  get isIdle(): boolean {
    return this.waiting === 0 && this.executing === 0
  }

  /** The virtual time of the level, in seat-seconds. */
  get r(): number {
    this.#pass()
    return this.#r / UNITS_A_SECOND
  }

  /** Returns the work that waits in a queue, in seat-seconds. */
  workOf({ seatsWaiting }: Queue<Request>): number {
    return (seatsWaiting * ESTIMATED_MS) / 1000
  }

  /** Returns the virtual time at which the oldest request of a queue would begin, in seat-seconds. */
  virtualStartOf({ nextDispatchR }: Queue<Request>): number {
    return nextDispatchR / UNITS_A_SECOND
  }

  /** Changes the number of queues. Surplus queues are removed when they are empty. */
  configure(config: QueuingConfig): void {
    this.#pass()
    if (config.queues !== this.#config.queues || config.handSize !== this.#config.handSize) this.#hands = new WeakMap()
    this.#config = config
    const missing = config.queues - this.queues.length
    if (missing > 0) this.queues = [...this.queues, ...Array.from({ length: missing }, () => newQueue<Request>())]
  }

  /** Sets the number of seats. */
  setLimit(limit: number): void {
    if (limit === this.#limit) return
    this.#pass()
    this.#limit = limit
    this.#dispatchAll()
  }

  /** Whether a request may begin at once. That is false while other requests wait. */
  hasRoom(seats: number): boolean {
    if (this.#options.isExempt) return true
    if (this.waiting > 0) return false
    return (this.#config.queues === 0 || this.seatsInUse < this.#limit) && this.#accommodates(seats)
  }

  /** Gives seats to a request after `hasRoom` returned true. The caller reports its end with `finish`. */
  execute(request: Request): Place<Request> {
    this.#pass()
    const queue = this.#config.queues > 0 ? this.#queueFor(request.flow) : undefined
    const place = this.#placeOf(request, queue)
    if (queue !== undefined) this.#activate(queue)
    this.#seat(place)
    return place
  }

  /** Puts a request into a queue. Returns the reason when it must not wait; for a patient request no queue is full. */
  enqueue(request: Request, isPatient = false): Place<Request> | "queue-full" | "concurrency-limit" {
    this.#pass()
    if (this.#config.queues === 0) return "concurrency-limit"
    const queue = this.#queueFor(request.flow)
    const isFull = this.seatsInUse >= this.#limit && queue.waiting.size >= this.#config.queueLengthLimit
    if (isFull && !isPatient) return "queue-full"
    const place = this.#placeOf(request, queue)
    this.#activate(queue)
    queue.waiting.add(place)
    queue.oldest ??= place
    queue.seatsWaiting += request.seats
    this.waiting++
    this.seatsWaiting += request.seats
    this.#tellDemand()
    this.#bound(queue)
    this.#dispatchAll()
    return place
  }

  /** Removes a request from its queue. Returns false when it was dispatched already. */
  giveUp(place: Place<Request>): boolean {
    const { queue } = place
    if (queue === undefined || !queue.waiting.has(place)) return false
    this.#pass()
    this.#leaveQueue(queue, place)
    this.#tellDemand()
    this.#bound(queue)
    this.#afterLeaving(queue)
    // The requests behind one that needs many seats may fit now.
    this.#dispatchAll()
    return true
  }

  /** Frees the seats of a request and dispatches others. */
  finish(place: Place<Request>): void {
    this.#pass()
    const { request, queue, started = 0 } = place
    this.executing--
    this.seatsInUse -= request.seats
    remove(queue?.executing ?? this.queueless, place)
    if (queue !== undefined) {
      queue.seatsInUse -= request.seats
      queue.nextDispatchR -= unitsOf(request.seats, ESTIMATED_MS - (this.#rAt - started))
      this.#bound(queue)
      this.#afterLeaving(queue)
    }
    this.#tellDemand()
    this.#dispatchAll()
  }

  #placeOf(request: Request, queue: Queue<Request> | undefined): Place<Request> {
    return { request, queue, arrived: this.#rAt, arrivalR: this.#r, started: undefined, index: -1 }
  }

  #seat(place: Place<Request>): void {
    const { request, queue } = place
    place.started = this.#rAt
    this.executing++
    this.seatsInUse += request.seats
    const executing = queue?.executing ?? this.queueless
    place.index = executing.push(place) - 1
    if (queue !== undefined) {
      queue.seatsInUse += request.seats
      queue.nextDispatchR += workOf(request)
    }
    this.#tellDemand()
  }

  #tellDemand(): void {
    this.#options.demand(this.seatsInUse + this.seatsWaiting, this.#rAt)
  }

  /** Advances virtual time to now. Must be called before a change of anything that determines its rate. */
  #pass(): void {
    const now = this.#options.now()
    if (this.#activeQueues > 0)
      this.#r += unitsOf(
        Math.min(this.seatsInUse + this.seatsWaiting, this.#limit) / this.#activeQueues,
        now - this.#rAt,
      )
    this.#rAt = now
  }

  #activate(queue: Queue<Request>): void {
    if (queue.waiting.size > 0 || queue.executing.length > 0) return
    this.#activeQueues++
    queue.nextDispatchR = this.#r
  }

  #afterLeaving(queue: Queue<Request>): void {
    if (queue.waiting.size > 0 || queue.executing.length > 0) return
    this.#activeQueues--
    if (this.queues.length <= this.#config.queues) return
    const index = this.queues.indexOf(queue)
    this.queues = this.queues.filter((other) => other !== queue)
    if (this.#robin >= index) this.#robin--
  }

  /** Returns the queue with the least work of those that the flow may use; queues with equal work are used in turn. */
  #queueFor(flow: Flow): Queue<Request> {
    const { queues, handSize } = this.#config
    let hand = this.#hands.get(flow)
    if (hand === undefined) this.#hands.set(flow, (hand = deal(flow.hash, queues, handSize)))
    const offset = this.#chosen++ % hand.length
    let best = this.queues[hand[offset]!]!
    if (this.waiting === 0) return best
    for (let i = 1; i < hand.length; i++) {
      const queue = this.queues[hand[(offset + i) % hand.length]!]!
      if (queue.seatsWaiting < best.seatsWaiting) best = queue
    }
    return best
  }

  #accommodates(seats: number): boolean {
    // A request that needs more seats than there are executes alone.
    return seats > this.#limit ? this.executing === 0 : this.seatsInUse + seats <= this.#limit
  }

  #dispatchAll(): void {
    while (this.waiting > 0 && (this.#options.isExempt || this.seatsInUse < this.#limit))
      if (!this.#dispatchNext()) return
  }

  #dispatchNext(): boolean {
    const next = this.#nextQueue()
    if (next === undefined) return false
    const { queue, index } = next
    const place = queue.oldest!
    if (!this.#options.isExempt && !this.#accommodates(place.request.seats)) {
      this.notAccommodated++
      return false
    }
    // Among queues whose requests would end at the same time, the search starts after this one next time.
    this.#robin = index
    this.#leaveQueue(queue, place)
    this.#seat(place)
    this.#bound(queue)
    place.request.dispatched?.()
    return true
  }

  #leaveQueue(queue: Queue<Request>, place: Place<Request>): void {
    queue.waiting.delete(place)
    if (queue.oldest === place) queue.oldest = oldestOf(queue.waiting)
    queue.seatsWaiting -= place.request.seats
    this.waiting--
    this.seatsWaiting -= place.request.seats
  }

  /** Returns the queue whose oldest request would end first. */
  #nextQueue(): { readonly queue: Queue<Request>; readonly index: number } | undefined {
    let found: Queue<Request> | undefined
    let [index, first] = [0, Infinity]
    const count = this.queues.length
    for (let i = 1; i <= count; i++) {
      const at = (this.#robin + i) % count
      const queue = this.queues[at]!
      const { oldest } = queue
      if (oldest === undefined) continue
      const over = queue.nextDispatchR + workOf(oldest.request)
      if (over < first) [first, found, index] = [over, queue, at]
    }
    return found === undefined ? undefined : { queue: found, index }
  }

  /**
   * Moves the queue's next virtual start to no earlier than the arrival of its oldest request, so that an idle queue
   * saves up no claim.
   */
  #bound(queue: Queue<Request>): void {
    const { oldest } = queue
    if (oldest !== undefined && queue.nextDispatchR < oldest.arrivalR) queue.nextDispatchR = oldest.arrivalR
  }
}

const newQueue = <Request extends SeatedRequest>(): Queue<Request> => ({
  waiting: new Set(),
  oldest: undefined,
  executing: [],
  seatsWaiting: 0,
  seatsInUse: 0,
  nextDispatchR: 0,
})

const workOf = ({ seats }: SeatedRequest): number => unitsOf(seats, ESTIMATED_MS)

/** Removes an entry by moving the last one to its index. */
function remove<Request extends SeatedRequest>(places: Place<Request>[], { index }: Place<Request>): void {
  const last = places.pop()!
  if (index === places.length) return
  places[index] = last
  last.index = index
}

function oldestOf<Request extends SeatedRequest>(waiting: Set<Place<Request>>): Place<Request> | undefined {
  for (const place of waiting) return place
  return undefined
}
