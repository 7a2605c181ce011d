import { finished } from "../../../pkg/apimachinery/finished.ts"
import { isSmall } from "../../../pkg/cache/is-small.ts"
import { inSteps } from "../../../pkg/clock/in-steps.ts"
import { nextTurn } from "../../../pkg/clock/next-turn.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import { storageKey } from "../cacher/view.ts"
import { LARGE, type ApiRequest } from "../call/request.ts"
import type { RegistryContext } from "./context.ts"

/**
 * The steps of a large write take turns of the event loop of their own, so that nobody waits for all of them: an object
 * with tens of thousands of small values takes 20 to 100 ms each to be decoded, tracked, checked and stored.
 */

/**
 * Returns a write with `isLarge`, if it is large: the codec marks those with large bodies. A small patch of a large
 * object is large too, and so is what a component of this process sends without a codec.
 */
export function withSize(context: RegistryContext, request: ApiRequest): ApiRequest {
  if (request.isLarge === true) return request
  return isSentLarge(request) || isStoredLarge(context.storage.get(storageKey(request.resource, request)))
    ? { ...request, isLarge: true }
    : request
}

const isSentLarge = ({ inProcess, body, patch }: ApiRequest): boolean =>
  inProcess === true && !isSmall(body ?? patch?.body, LARGE)

/** The JSON is nearly always there, and then its length is enough. */
const isStoredLarge = (stored: Stored | undefined): boolean =>
  stored !== undefined && (stored.bytes === undefined ? !isSmall(stored.object, LARGE) : stored.bytes > LARGE)

/** Returns what lets others be served between two steps; undefined for a write that is not large. */
export const pauseOf = (
  { clock }: RegistryContext,
  { isLarge }: Pick<ApiRequest, "isLarge">,
): (() => Promise<void>) | undefined => (isLarge === true ? () => nextTurn(clock) : undefined)

/** Takes the steps of a write, those of a large one in several turns. */
export const stepsOf = <T>({ clock }: RegistryContext, { isLarge }: ApiRequest, steps: Iterator<void, T>) =>
  isLarge === true ? inSteps(steps, clock) : finished(steps)
