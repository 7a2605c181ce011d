import { ApiError, type Reason } from "../../../../pkg/apimachinery/errors.ts"
import type { Watch } from "../../../../pkg/client/client.ts"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import type { ApiRequest, Pipeline, WatchSink } from "../../../apiserver/call/request.ts"
import { milliseconds, type Duration } from "../time/duration.ts"

/** Selects requests. A field that is left out matches all; a list matches any of its members. */
export interface RequestMatch {
  /** `system:kube-scheduler`, `system:node:node-1`, `system:serviceaccount:kube-system:deployment-controller` … */
  readonly user?: string
  readonly verb?: string | readonly string[]
  /** Plural: `pods`. */
  readonly resource?: string | readonly string[]
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

export interface RequestRule extends RequestMatch {
  /** The time by which they are delayed. */
  readonly delay?: Duration
  /** How they fail: a reason such as `Conflict` or `ServiceUnavailable`, an error, or a function that returns one. */
  readonly error?: Reason | ApiError | ((request: ApiRequest) => ApiError | undefined)
  /** How many requests the rule applies to; all by default. */
  readonly times?: number
}

interface Entry {
  readonly rule: RequestRule
  /** How many more requests it applies to. */
  left: number
  /** Aborts when the rule is removed: the requests that it delays continue. */
  readonly over: AbortController
}

interface OpenWatch {
  readonly request: ApiRequest
  end(error: ApiError | undefined): void
}

/** Applies the rules of the test to requests before the pipeline gets them. */
export class RequestRules {
  readonly #clock: Clock
  readonly #asked: () => void
  readonly #failed: (request: ApiRequest, err: unknown) => void
  readonly #rules: Entry[] = []
  readonly #watches = new Set<OpenWatch>()

  /** `asked` is called for each request, and may throw; `failed` with what a request failed with. */
  constructor(
    clock: Clock,
    asked: () => void = () => {},
    failed: (request: ApiRequest, err: unknown) => void = () => {},
  ) {
    this.#clock = clock
    this.#asked = asked
    this.#failed = failed
  }

  get watches(): readonly ApiRequest[] {
    return [...this.#watches].map(({ request }) => request)
  }

  add(rule: RequestRule): () => void {
    const entry = { rule, left: rule.times ?? Infinity, over: new AbortController() }
    this.#rules.push(entry)
    return () => {
      const index = this.#rules.indexOf(entry)
      if (index >= 0) this.#rules.splice(index, 1)
      entry.over.abort()
    }
  }

  /** Removes all rules. */
  clear(): void {
    for (const { over } of this.#rules.splice(0)) over.abort()
  }

  /** Ends watches like a lost connection. Returns how many. */
  dropWatches(match: RequestMatch): number {
    const dropped = [...this.#watches].filter(({ request }) => matches(match, request))
    for (const watch of dropped) watch.end(undefined)
    return dropped.length
  }

  around = (pipeline: Pipeline): Pipeline => ({
    authorize: (request) => pipeline.authorize(request),
    handle: (request) => this.#noteFailure(request, () => this.#handle(pipeline, request)),
    watch: (request, sink) => this.#watch(pipeline, request, sink),
  })

  #handle(pipeline: Pipeline, request: ApiRequest): ReturnType<Pipeline["handle"]> {
    this.#asked()
    const entry = this.#entryFor(request)
    if (entry === undefined) return pipeline.handle(request)
    const {
      rule: { delay, error },
      over,
    } = entry
    if (delay !== undefined)
      return this.#held(milliseconds(delay), request, over.signal)
        .then(() => failing(error, request) ?? pipeline.handle(request))
        .then(thrown)
    return thrown(failing(error, request) ?? pipeline.handle(request))
  }

  /** Notes the failure of a request. */
  #noteFailure<T>(request: ApiRequest, handle: () => T): T {
    try {
      const answer = handle()
      if (answer instanceof Promise) answer.catch((err: unknown) => this.#failed(request, err))
      return answer
    } catch (err) {
      this.#failed(request, err)
      throw err
    }
  }

  /** Resolves after the delay, or when `over` aborts. @throws the abort reason of the request */
  async #held(ms: number, { signal }: ApiRequest, over: AbortSignal): Promise<void> {
    const ends = signal === undefined ? over : AbortSignal.any([signal, over])
    try {
      await sleep(this.#clock, ms, ends)
    } catch (err) {
      if (!over.aborted) throw err
    }
  }

  #watch(pipeline: Pipeline, request: ApiRequest, sink: WatchSink): Watch {
    const failure = failing(this.#entryFor(request)?.rule.error, request)
    if (failure !== undefined) throw failure
    let inner: Watch | undefined
    const open: OpenWatch = {
      request,
      end: (error) => {
        if (!this.#watches.delete(open)) return
        inner?.close()
        sink.end(error)
      },
    }
    this.#watches.add(open)
    try {
      inner = pipeline.watch(request, {
        send: (frames) => sink.send(frames),
        wait: () => sink.wait?.(),
        opened: () => sink.opened?.(),
        end: (error) => {
          if (this.#watches.delete(open)) sink.end(error)
        },
      })
    } catch (err) {
      this.#watches.delete(open)
      throw err
    }
    return {
      close: () => {
        this.#watches.delete(open)
        inner?.close()
      },
    }
  }

  #entryFor(request: ApiRequest): Entry | undefined {
    if (this.#rules.length === 0) return undefined
    const entry = this.#rules.find(({ rule, left }) => left > 0 && matches(rule, request))
    if (entry !== undefined) entry.left--
    return entry
  }
}

const any = (wanted: string | readonly string[] | undefined, is: string | undefined): boolean =>
  wanted === undefined || (typeof wanted === "string" ? wanted === is : is !== undefined && wanted.includes(is))

const matches = ({ user, verb, resource, subresource, namespace, name }: RequestMatch, request: ApiRequest): boolean =>
  any(user, request.user.name) &&
  any(verb, request.verb) &&
  any(resource, request.resource.plural) &&
  any(subresource, request.subresource) &&
  any(namespace, request.namespace) &&
  any(name, request.name)

function failing(error: RequestRule["error"], request: ApiRequest): ApiError | undefined {
  if (error === undefined || error instanceof ApiError) return error
  if (typeof error === "function") return error(request)
  return new ApiError(
    error,
    `${error}: a rule of the test refuses ${request.verb} ` +
      `${request.resource.plural}${request.name === undefined ? "" : ` ${JSON.stringify(request.name)}`}`,
  )
}

function thrown<T>(result: T | ApiError): T {
  if (result instanceof ApiError) throw result
  return result
}
