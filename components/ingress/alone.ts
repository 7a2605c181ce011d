import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import { Seam, type Done } from "../../pkg/quarantine/seam.ts"

/** What is worked on: an object, or the certificates that an Ingress names. */
export type Routed = "Ingress" | "IngressTLS" | "Gateway" | "HTTPRoute" | "GRPCRoute" | "TLSRoute"

/** Works on Ingresses, Gateways and routes, so that one that fails is left out alone, with an Event. */
export class Alone {
  readonly #seam: Seam
  readonly #events: EventRecorder
  /** Those that are worked on. */
  readonly #now = new Map<string, KubeObject>()

  /** `changed` is called when one that was left out has its turn again. */
  constructor(context: ComponentContext, changed: () => void) {
    const { quarantine, clock } = context
    const log = context.log.child({ component: "ingress" })
    this.#events = createEventRecorder({ ...context, log }, "ingress-controller")
    this.#seam = new Seam({
      place: "route",
      part: "ingress",
      quarantine,
      clock,
      log,
      again: changed,
      leftOut: (key, reason, why) => {
        const object = this.#now.get(key)
        if (object !== undefined) this.#events.event(object, "Warning", reason, why)
      },
    })
  }

  run<T>(what: Routed, object: KubeObject, work: () => T): Done<T> {
    const key = `${what}/${keyFrom(object.metadata)}`
    this.#now.set(key, object)
    const done = this.#seam.run(key, () => editionOf(object), work)
    this.#now.delete(key)
    return done
  }

  async stop(): Promise<void> {
    this.#seam.stop()
    await this.#events.stop()
  }
}

/** Does the work, and lets its failure out: where nobody works on several objects. */
export const together: Pick<Alone, "run"> = { run: (_what, _object, work) => ({ value: work() }) }
