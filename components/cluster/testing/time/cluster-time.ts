import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { formatTime } from "../../../../pkg/apimachinery/scalars/time.ts"
import { TestClusterError } from "../caller.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { eventually, eventuallyListed, type Check, type EventuallyOptions, type Waiting } from "../verbs/eventually.ts"
import { listOptions, type Selection } from "../verbs/selection.ts"
import { KubectlVerbs } from "../verbs/verbs.ts"
import { instant, milliseconds, type Duration } from "./duration.ts"
import { moveTime } from "./move-time.ts"

/** The time of a cluster: what it is, how a test moves it, and how it waits in it. */
export abstract class ClusterTime extends KubectlVerbs {
  /** @internal Also after the end. */
  protected abstract readonly parts: ClusterParts
  /** @internal */
  protected abstract readonly waiting: Waiting
  /** @internal Throws once the cluster has ended. */
  protected abstract alive(): void
  /** @internal Runs a public method: refuses it after the end, and shows its error at the line that called it. */
  protected abstract called<T>(work: () => T | Promise<T>): Promise<T>

  /** The current time of the cluster. */
  get now(): Date {
    return new Date(this.parts.clock.now())
  }

  /** Advances time by `duration`: everything due until then happens, in order. */
  advance(duration: Duration): Promise<void> {
    return this.called(() => {
      const ms = milliseconds(duration)
      return moveTime("advance", this.parts, (clock) => clock.advance(ms))
    })
  }

  /** Advances time to an instant. */
  advanceTo(time: string | number | Date): Promise<void> {
    return this.called(() => {
      const target = instant(time)
      const now = this.parts.clock.now()
      if (target < now)
        throw new TestClusterError(`Cannot advance to ${formatTime(target)}: it is ${formatTime(now)} already`)
      return moveTime("advanceTo", this.parts, (clock) => clock.advanceTo(target))
    })
  }

  /** Lets everything happen that is due at this instant, and all that follows from it at the same instant. */
  settle(): Promise<void> {
    return this.called(() => moveTime("settle", this.parts, (clock) => clock.settle()))
  }

  /**
   * Waits until `check` returns true, or asserts something without throwing. Meanwhile virtual time advances from one
   * due timer to the next.
   * @throws TestClusterError after `within` (60s by default), with what was last seen; at once when a check returns
   * something else
   */
  eventually(check: Check, options?: EventuallyOptions): Promise<void>
  /** Waits for a list of objects. Returns the list. */
  eventually<T extends KubeObject>(
    resource: Resource<T>,
    selection: Selection,
    check: (objects: readonly T[]) => ReturnType<Check>,
    options?: EventuallyOptions,
  ): Promise<readonly T[]>
  eventually<T extends KubeObject>(
    first: Check | Resource<T>,
    second?: EventuallyOptions | Selection,
    third?: (objects: readonly T[]) => ReturnType<Check>,
    fourth?: EventuallyOptions,
  ): Promise<void | readonly T[]> {
    return this.called<void | readonly T[]>(async () => {
      if (typeof first === "function") return eventually(first, this.waiting, second as EventuallyOptions | undefined)
      const list = async () => (await this.client.list(first, listOptions(second as Selection))).items
      return eventuallyListed(list, third!, this.waiting, fourth)
    })
  }
}
