/**
 * The requests of one priority level: those that are executing, and the queues in which others wait.
 *
 * Fair queuing. Each queue has a virtual time at which its oldest request would begin if the level served all queues
 * alike, a bit of each in turn; the request that would be over first goes first. The virtual time of the level, R, goes
 * by as fast as seats are given out to each queue that has something to do. A request is taken to last 3 ms when it
 * begins, and what it really took is set right when it ends. Sources: apiserver
 * pkg/util/flowcontrol/fairqueuing/queueset (doc.go is the theory), KEP-1040.
 *
 * Differs from upstream: R is a floating-point number of seat-seconds, which needs no epochs; and nothing goes on in
 * seats after the end of a request, since watchers are served in the turn of the commit.
 */
import { deal } from "./shuffle-sharding.ts"

export interface QueuingConfig {
  /** 0 where requests do not wait. */
  readonly queues: number
  readonly handSize: number
  readonly queueLengthLimit: number
}

/** Requests that have one claim together: those of a schema that its distinguisher does not tell apart. */
export interface Flow {
  readonly distinguisher: string
  readonly hash: bigint
}

/** What the level knows of a request. */
export interface SeatedRequest {
  readonly seats: number
  readonly flow: Flow
  /** Tells that the request, which waited, may go on. It holds its seats from then on. */
  readonly dispatched: (() => void) | undefined
}

/** A request that waits or is executing. */
export interface Place<Request extends SeatedRequest> {
  readonly request: Request
  readonly queue: Queue<Request> | undefined
  /** Milliseconds of the monotonic clock, as everywhere here. */
  readonly arrived: number
  started: number | undefined
  /** R when it arrived. */
  readonly arrivalR: number
  /** Where it stands among those that are executing. */
  index: number
}

export interface Queue<Request extends SeatedRequest> {
  readonly waiting: Set<Place<Request>>
  /** The first of those that wait: all queues are asked for theirs whenever a request ends. */
  oldest: Place<Request> | undefined
  readonly executing: Place<Request>[]
  /** Of those that wait. */
  seatsWaiting: number
  /** Of those that are executing. */
  seatsInUse: number
  nextDispatchR: number
}

/** Figures of the last time that a request left its queue. */
export interface LastDispatch {
  readonly r: number
  readonly s: number
  readonly bounds: { readonly min: number; readonly max: number }
  readonly discounted: { readonly min: number; readonly max: number }
}

export interface QueueSetOptions {
  /** Requests begin whatever the limit is. */
  readonly isExempt: boolean
  readonly now: () => number
  /** Told how many seats are in use or wanted, whenever that changes. */
  readonly demand: (seats: number, now: number) => void
}

/** How long requests are taken to last. */
const ESTIMATED_MS = 3

export class QueueSet<Request extends SeatedRequest> {
  queues: readonly Queue<Request>[] = []
  /** Those of a level without queues. */
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
  lastDispatch: LastDispatch | undefined
  /** How often the request whose turn it was needed more seats than were free. */
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
    return this.#r
  }

  /** How much work waits in a queue, in seat-seconds. */
  workOf({ seatsWaiting }: Queue<Request>): number {
    return (seatsWaiting * ESTIMATED_MS) / 1000
  }

  /** Queues that are too many are given up when they are empty. */
  configure(config: QueuingConfig): void {
    this.#pass()
    if (config.queues !== this.#config.queues || config.handSize !== this.#config.handSize) this.#hands = new WeakMap()
    this.#config = config
    const missing = config.queues - this.queues.length
    if (missing > 0) this.queues = [...this.queues, ...Array.from({ length: missing }, () => newQueue<Request>())]
  }

  /** How many seats there are now. */
  setLimit(limit: number): void {
    if (limit === this.#limit) return
    this.#pass()
    this.#limit = limit
    this.#dispatchAll()
  }

  /** Whether a request may begin at once. Then nothing waits. */
  hasRoom(seats: number): boolean {
    if (this.#options.isExempt) return true
    if (this.waiting > 0) return false
    return (this.#config.queues === 0 || this.seatsInUse < this.#limit) && this.#accommodates(seats)
  }

  /** Gives seats to a request that has room. Its end is to be told with `finish`. */
  execute(request: Request): Place<Request> {
    this.#pass()
    const queue = this.#config.queues > 0 ? this.#queueFor(request.flow) : undefined
    const place = this.#placeOf(request, queue)
    if (queue !== undefined) this.#activate(queue)
    this.#seat(place)
    return place
  }

  /** Has a request wait that has no room. Says why where it may not; the queue of a patient one is never full. */
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

  /** Takes a request out of its queue. False when it has been dispatched already. */
  giveUp(place: Place<Request>): boolean {
    const { queue } = place
    if (queue === undefined || !queue.waiting.has(place)) return false
    this.#pass()
    this.#leaveQueue(queue, place)
    this.#tellDemand()
    this.#bound(queue)
    this.#afterLeaving(queue)
    // Those behind a wide request may have room without it.
    this.#dispatchAll()
    return true
  }

  /** Gives back the seats of a request, and has others begin. */
  finish(place: Place<Request>): void {
    this.#pass()
    const { request, queue, started = 0 } = place
    this.executing--
    this.seatsInUse -= request.seats
    remove(queue?.executing ?? this.queueless, place)
    if (queue !== undefined) {
      queue.seatsInUse -= request.seats
      queue.nextDispatchR -= (request.seats * (ESTIMATED_MS - (this.#rAt - started))) / 1000
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

  /** Has virtual time go by. To be called before anything changes that its pace hangs on. */
  #pass(): void {
    const now = this.#options.now()
    if (this.#activeQueues > 0)
      this.#r +=
        ((now - this.#rAt) * Math.min(this.seatsInUse + this.seatsWaiting, this.#limit)) / (1000 * this.#activeQueues)
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

  /** Of the queues that the flow may use the one with the least work; those that have the same take turns. */
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
    // One that is wider than all seats gets them all.
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
    // Where several would be over at one time, those after it go before it the next time.
    this.#robin = index
    this.lastDispatch = { r: this.#r, s: queue.nextDispatchR, ...next.bounds }
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

  /** The queue whose oldest request would be over first. */
  #nextQueue():
    | {
        readonly queue: Queue<Request>
        readonly index: number
        readonly bounds: Pick<LastDispatch, "bounds" | "discounted">
      }
    | undefined {
    let found: Queue<Request> | undefined
    let [index, first] = [0, Infinity]
    const bounds = { min: Infinity, max: -Infinity }
    const discounted = { min: Infinity, max: -Infinity }
    const count = this.queues.length
    for (let i = 1; i <= count; i++) {
      const at = (this.#robin + i) % count
      const queue = this.queues[at]!
      const { oldest } = queue
      if (oldest === undefined) continue
      note(bounds, queue.nextDispatchR)
      note(discounted, queue.nextDispatchR - (queue.seatsInUse * ESTIMATED_MS) / 1000)
      const over = queue.nextDispatchR + workOf(oldest.request)
      if (over < first) [first, found, index] = [over, queue, at]
    }
    return found === undefined ? undefined : { queue: found, index, bounds: { bounds, discounted } }
  }

  /** No request begins, in virtual time, before it has arrived: a queue that is slow saves up nothing. */
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

const workOf = ({ seats }: SeatedRequest): number => (seats * ESTIMATED_MS) / 1000

/** The last one takes the place of the one that goes. */
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

function note(range: { min: number; max: number }, value: number): void {
  range.min = Math.min(range.min, value)
  range.max = Math.max(range.max, value)
}
