/** An event that may be reported repeatedly. */
export interface CorrelatedEvent {
  readonly message: string
  /** What follows the object's name in the name of the Event that was written for it. */
  suffix: string | undefined
  count: number
  /** Start of the time window in which the event was last reported. */
  window: number
}

/** Events about one object that differ only in their message. */
export interface SimilarEvents {
  readonly type: string
  readonly reason: string
  readonly fieldPath: string | undefined
  window: number
  correlated: CorrelatedEvent[]
  /** Replaces all events of a window when they have become too many. */
  combined: CorrelatedEvent | undefined
}

/** The events about one object, and how many more may be written. */
export interface ObjectEvents {
  tokens: number
  at: number
  /** Whether it was packed before and then reported again, as is likely to happen to it another time. */
  readonly isRecurring: boolean
  readonly similar: SimilarEvents[]
}
