/** Serves a call. Returns a promise when the response is not complete in this turn of the event loop. */
export type Serve<Call> = (call: Call) => void | Promise<void>

/**
 * One step on the way of a request: it takes a call, and lets it proceed with what it has found out, or answers it, or
 * throws why it is refused.
 */
export type Stage<In, Out> = (call: In, proceed: Serve<Out>) => void | Promise<void>

/**
 * Stages in their order. What a stage needs of the ones before it is in the type of its call, so an order that cannot
 * work does not compile. All are linked once, when the server starts; a request only goes through them.
 */
export class Stages<In, Out> {
  readonly #link: (proceed: Serve<Out>) => Serve<In>

  private constructor(link: (proceed: Serve<Out>) => Serve<In>) {
    this.#link = link
  }

  static from<In, Out>(stage: Stage<In, Out>): Stages<In, Out> {
    return new Stages((proceed) => (call) => stage(call, proceed))
  }

  /** Adds a stage after the ones that are there. */
  to<More>(stage: Stage<Out, More>): Stages<In, More> {
    return new Stages((proceed) => this.#link((call) => stage(call, proceed)))
  }

  /** Ends the way: returns what serves a call through all stages. */
  end(serve: Serve<Out>): Serve<In> {
    return this.#link(serve)
  }
}
