import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { ApiRequest } from "../../../apiserver/call/request.ts"
import { shortUser, type Moment } from "./moment.ts"

/** How many failures are kept; the oldest are dropped. */
const KEPT = 5000

/** What components are told when another was faster; they try again. */
const USUAL: ReadonlySet<string> = new Set(["Conflict", "AlreadyExists", "NotFound"])

interface Failure {
  readonly first: number
  readonly user: string
  readonly call: string
  readonly reason: string
  readonly message: string
  count: number
}

/** The requests that the API server has refused or that a fault let fail. The same one again and again is one entry. */
export class RequestFailures {
  readonly #clock: Clock
  #failures: Failure[] = []
  /** By user, request and reason: what was added last of each. */
  readonly #latest = new Map<string, Failure>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(request: ApiRequest, err: unknown): void {
    const { reason, message } = ApiError.from(err)
    const user = request.user.name
    const call = inWords(request)
    const key = `${user} ${call} ${reason}`
    const same = this.#latest.get(key)
    if (same?.message === message) {
      same.count++
      return
    }
    const failure = { first: this.#clock.now(), user, call, reason, message, count: 1 }
    this.#latest.set(key, failure)
    this.#failures.push(failure)
    if (this.#failures.length < KEPT * 2) return
    this.#failures = this.#failures.slice(KEPT)
    this.#latest.clear()
  }

  /** Trouble is what users of the test were refused: components try again. */
  moments(): readonly Moment[] {
    return this.#failures.map(({ first, user, call, reason, message, count }) => ({
      time: first,
      isTrouble: isOfTest(user),
      isOfTest: isOfTest(user),
      isEcho: !isOfTest(user) && USUAL.has(reason),
      who: shortUser(user),
      what: `${call} failed${count > 1 ? ` ${count} times` : ""}: ${reason}: ${message}`,
      alike: `${call.split(" ")[0]} fails with ${reason}`,
    }))
  }
}

const isOfTest = (user: string): boolean => user === "system:admin" || !user.startsWith("system:")

function inWords({ verb, resource, subresource, namespace, name }: ApiRequest): string {
  const path = subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`
  const which = [namespace, name].filter((part) => part !== undefined && part !== "").join("/")
  return [verb, path, which].filter((part) => part !== "").join(" ")
}
