import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Clients, Following, Identity } from "./clients.ts"

export interface PartOptions<C extends Component> {
  readonly name: string
  readonly clients: Clients
  readonly user: Identity
  /** The field selectors of its informers; without them they follow all objects that the user may see. */
  readonly following?: Following
  readonly create: (context: ComponentContext) => C
}

/** A part whose component is there while it runs. */
export interface RunningPart<C extends Component = Component> extends Component {
  /** The component while it runs; undefined otherwise. */
  readonly component: C | undefined
}

interface Running<C> {
  readonly component: C
  readonly context: ComponentContext
}

/**
 * A component that is created again at each start, with its own informers that end when it stops. So it starts without
 * any state from before, like a program that is started again.
 */
export class Part<C extends Component = Component> implements RunningPart<C> {
  readonly name: string
  readonly #options: PartOptions<C>
  #running: Running<C> | undefined

  constructor(options: PartOptions<C>) {
    this.name = options.name
    this.#options = options
  }

  get component(): C | undefined {
    return this.#running?.component
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clients, user, following, create } = this.#options
    const context = clients.contextFor(user, following)
    const component = create(context)
    const running = { component, context }
    this.#running = running
    try {
      await component.start(signal)
    } finally {
      // Its stop came while it was starting, and did not see what the start has made since then. So it is stopped
      // again.
      if (this.#running !== running) await this.#end(running)
    }
  }

  async stop(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    if (running !== undefined) await this.#end(running)
  }

  async #end({ component, context }: Running<C>): Promise<void> {
    await component.stop()
    this.#options.clients.release(context)
  }

  problem(): string | undefined {
    return this.component === undefined ? "it is not running" : this.component.problem?.()
  }
}
