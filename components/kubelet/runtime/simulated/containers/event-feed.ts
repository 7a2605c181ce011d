import type { ContainerEvent } from "../../../../../pkg/cri/container-event.ts"
import { Mailbox } from "../../../../../pkg/cri/mailbox.ts"

/** Sends the events of containers to all that have subscribed to them. */
export class EventFeed {
  readonly #subscribers = new Set<Mailbox<ContainerEvent>>()

  send(event: ContainerEvent): void {
    for (const subscriber of this.#subscribers) subscriber.push(event)
  }

  /** Yields `Relist` and then all events, until the signal aborts. */
  async *subscribe(signal: AbortSignal): AsyncGenerator<ContainerEvent, void> {
    const events = new Mailbox<ContainerEvent>()
    const end = () => events.end()
    signal.addEventListener("abort", end, { once: true })
    this.#subscribers.add(events)
    try {
      if (signal.aborted) return
      yield { type: "Relist" }
      yield* events
    } finally {
      signal.removeEventListener("abort", end)
      this.#subscribers.delete(events)
    }
  }
}
