import type { KubeObject } from "../../pkg/apimachinery/resource.ts"
import { createEventRecorder, type EventRecorderContext } from "../../pkg/controller/event-recorder.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"

/** Tells of an object that a part of the API server leaves out: `SetAside` or `SyncFailed`, and why. */
export type TellLeftOut = (object: KubeObject | undefined, reason: string, why: string) => void

/** Writes Events about the objects that the API server leaves out, of which some are left out before it can write. */
export class LeftOutEvents {
  #early: Parameters<TellLeftOut>[] | undefined = []
  #events: EventRecorder | undefined

  readonly tell: TellLeftOut = (object, reason, why) => {
    if (this.#early !== undefined) this.#early.push([object, reason, why])
    else if (object !== undefined) this.#events?.event(object, "Warning", reason, why)
  }

  start(context: EventRecorderContext): void {
    this.#events = createEventRecorder(context, "apiserver")
    const early = this.#early ?? []
    this.#early = undefined
    for (const told of early) this.tell(...told)
  }

  async stop(): Promise<void> {
    await this.#events?.stop()
  }
}
