import type { PriorityLevelConfiguration } from "../../../pkg/api/flowcontrol/v1/prioritylevelconfiguration.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { DroppedRequests } from "./dropped-requests.ts"
import type { FlowRequest } from "./flow-request.ts"
import { QueueSet, type QueuingConfig } from "./fair-queuing/queue-set.ts"
import { SeatDemand } from "./seats/seat-demand.ts"

/**
 * The seats of a level, and the bounds for lending and borrowing. Source: priorityLevelState in apiserver
 * apf_controller.go.
 */
export interface SeatLimits {
  /** Its share of the server's seats. */
  readonly nominal: number
  /** The seats that remain when it lends all that it may lend. */
  readonly min: number
  /** The seats that it has when it borrows all that it may borrow. */
  readonly max: number
}

/** A priority level: its seats, queues and counters. */
export class PriorityLevel {
  readonly name: string
  readonly demand: SeatDemand
  readonly queues: QueueSet<FlowRequest>
  readonly dropped = new DroppedRequests()
  limits: SeatLimits | undefined
  /** The seats that it has now. */
  current = 0
  /** The seats that it should have had at the last adjustment. */
  target = 0
  /** The most seats that a single request may take. */
  maxSeats = 1
  /** Its object was deleted; the level remains until its last request ends. */
  isQuiescing = false
  /** Counters since the level was created. */
  readonly counts = { dispatched: 0, rejected: 0, timedOut: 0, cancelled: 0 }
  #configuration: PriorityLevelConfiguration

  constructor(configuration: PriorityLevelConfiguration, clock: Clock) {
    this.#configuration = configuration
    this.name = configuration.metadata.name ?? ""
    this.demand = new SeatDemand(clock.monotonic())
    this.queues = new QueueSet({
      isExempt: this.isExempt,
      now: () => clock.monotonic(),
      demand: (seats, now) => this.demand.set(seats, now),
    })
    this.configure(configuration)
  }

  get configuration(): PriorityLevelConfiguration {
    return this.#configuration
  }

  get isExempt(): boolean {
    return this.#configuration.spec.type === "Exempt"
  }

  get shares(): number {
    const { limited, exempt } = this.#configuration.spec
    return limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? 0
  }

  get queuing(): QueuingConfig | undefined {
    return this.#configuration.spec.limited?.limitResponse.queuing
  }

  configure(configuration: PriorityLevelConfiguration): void {
    this.#configuration = configuration
    this.isQuiescing = false
    this.queues.configure(this.queuing ?? { queues: 0, handSize: 0, queueLengthLimit: 0 })
  }

  /**
   * Gives the level its share of `serverSeats`. A new level begins with a number between its nominal seats and its
   * minimum. Source: finishQueueSetReconfigsLocked.
   */
  share(serverSeats: number, sumOfShares: number): void {
    const { limited, exempt } = this.#configuration.spec
    const nominal = sumOfShares === 0 ? 0 : Math.ceil((serverSeats * this.shares) / sumOfShares)
    const percentOf = (percent: number) => Math.round((nominal * percent) / 100)
    const lendable = percentOf(limited?.lendablePercent ?? exempt?.lendablePercent ?? 0)
    const borrowing = limited?.borrowingLimitPercent
    const isNew = this.limits === undefined
    this.limits = {
      nominal,
      min: nominal - lendable,
      max: nominal + (borrowing === undefined ? serverSeats : percentOf(borrowing)),
    }
    const { handSize } = this.queuing ?? { handSize: 1 }
    // 15 % of the seats, but at most one seat for each queue of a hand.
    if (this.queuing !== undefined)
      this.maxSeats = Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize)))
    if (isNew) this.current = nominal - Math.floor(lendable / 2)
  }
}

/** Whether a priority level is valid: its fields match its type, and only the level `exempt` is exempt. */
export function isUsable({ metadata, spec }: PriorityLevelConfiguration): boolean {
  const { type, limited, exempt } = spec
  const isExempt = type === "Exempt"
  if ((type === "Limited") !== (limited !== undefined) || isExempt !== (exempt !== undefined)) return false
  if (isExempt !== (metadata.name === "exempt")) return false
  return (
    limited === undefined || (limited.limitResponse.type === "Queue") === (limited.limitResponse.queuing !== undefined)
  )
}
