import type { Event } from "../../../../pkg/api/core/v1/event/event.ts"
import type { Resource } from "../../../../pkg/apimachinery/resource.ts"
import { TestClusterError } from "../caller.ts"
import { Cluster } from "../cluster.ts"
import type { EventuallyOptions } from "../verbs/eventually.ts"
import { refOf, type Reference } from "../verbs/selection.ts"
import { eventsOf, lastEvents, matchInWords, wantedEvent, type EventMatch } from "./events.ts"
import { podsOf } from "./pods-of.ts"
import { whyNeverReady, whyNotReady } from "./readiness.ts"

/** What a matcher tells the runner. */
export interface MatcherResult {
  readonly pass: boolean
  message(): string
}

/** The matchers as `expect(cluster)` has them. */
export interface ClusterMatchers {
  /**
   * Waits until an object is ready, in the cluster's time, 60s unless `within` says otherwise. A workload is ready when
   * its rollout is complete, a Job when it is, a claim when it is bound, any other object by its condition Ready,
   * Available, Complete or Established. With `.not` it must not become ready in that time. What can never become ready,
   * a Job that has failed or a pod of no
   * controller that has ended, is not waited for.
   */
  toBecomeReady(resource: Resource, ref: Reference, options?: EventuallyOptions): Promise<void>
  /** Looks for an Event; for as long as `within` says, and only now unless given. */
  toHaveEvent(event: EventMatch, options?: EventuallyOptions): Promise<void>
}

async function toBecomeReady(
  received: unknown,
  resource: Resource,
  ref: Reference,
  options: EventuallyOptions = {},
): Promise<MatcherResult> {
  const cluster = clusterOf(received, "toBecomeReady")
  const { name, namespace } = refOf(resource, ref)
  const what = `${resource.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`
  let never: string | undefined
  const isReady = async () => {
    const object = await cluster.find(resource, ref)
    never = object === undefined ? undefined : whyNeverReady(object)
    const why = never ?? (object === undefined ? "it does not exist" : whyNotReady(object))
    if (why === undefined) return true
    // So that the message explains the pods that are in the way.
    if (object !== undefined) await podsOf(cluster, object)
    throw new TestClusterError(`${what} is not ready: ${why}`)
  }
  const isDecided = () => isReady().catch((err: unknown) => (never === undefined ? Promise.reject(err as Error) : true))
  const late = await unlessHolds(cluster, options, isDecided)
  const failure = never === undefined ? late : await unlessHolds(cluster, { within: 0 }, isReady)
  return {
    pass: failure === undefined,
    message: () => failure ?? `Expected ${what} not to become ready, and it is at ${cluster.now.toISOString()}`,
  }
}

async function toHaveEvent(
  received: unknown,
  event: EventMatch,
  { within = 0 }: EventuallyOptions = {},
): Promise<MatcherResult> {
  const cluster = clusterOf(received, "toHaveEvent")
  const isWanted = wantedEvent(event)
  let events: readonly Event[] = []
  const failure = await unlessHolds(cluster, { within }, async () => {
    events = await eventsOf(cluster)
    return events.some(isWanted)
  })
  const seen = () => lastEvents(events, event)
  return {
    pass: failure === undefined,
    message: () => `Expected ${failure === undefined ? "no" : "an"} Event with ${matchInWords(event)}; ${seen()}`,
  }
}

/** For `expect.extend`. */
export const matchers = { toBecomeReady, toHaveEvent }

/** Returns why a check did not hold in time; undefined when it did. Other failures are the test's. */
async function unlessHolds(
  cluster: Cluster,
  options: EventuallyOptions,
  check: () => Promise<boolean>,
): Promise<string | undefined> {
  try {
    await cluster.eventually(check, options)
    return undefined
  } catch (err) {
    if (err instanceof TestClusterError && err.reason === "Timeout") return err.message
    throw err
  }
}

function clusterOf(received: unknown, matcher: string): Cluster {
  if (received instanceof Cluster) return received
  throw new TestClusterError(`Cannot use ${matcher}: expected a cluster, as in \`expect(cluster).${matcher}(…)\``)
}
