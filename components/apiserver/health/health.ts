import { reportAll, reportOne, type HealthCheck } from "../../../pkg/component/health.ts"
import type { Exchange } from "../call/exchange.ts"
import type { Query } from "../call/query.ts"
import type { HealthSlis } from "../../../pkg/component/health-slis.ts"

/**
 * The health endpoints: /livez says whether the server needs a restart, /readyz whether it can take requests, /healthz
 * (deprecated) both.
 */
export type HealthEndpoint = "healthz" | "livez" | "readyz"
const ENDPOINTS: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"]

interface Check extends HealthCheck {
  readonly endpoints: readonly HealthEndpoint[]
}

const WELL = () => undefined

/** Returns the endpoint of `/livez`, `/livez/ping` and the like. */
const endpointOf = (path: string): HealthEndpoint | undefined =>
  ENDPOINTS.find((one) => path.startsWith(one, 1) && (path.length === one.length + 1 || path[one.length + 1] === "/"))

/**
 * The named checks behind the health endpoints. Differs from upstream: a user who may read a check by itself sees its
 * reason in the list of all checks too. For other users the reason is withheld, as upstream.
 */
export class Health {
  // The check "log" always passes: log lines are written before the next request is read.
  #checks: readonly Check[] = [
    { name: "ping", problem: WELL, endpoints: ENDPOINTS },
    { name: "log", problem: WELL, endpoints: ENDPOINTS },
  ]
  /** The checks of each endpoint, as far as it was asked for; forgotten when checks are added or removed. */
  #byEndpoint: Partial<Record<HealthEndpoint, readonly Check[]>> = {}
  readonly #shutdown: Check = {
    name: "shutdown",
    problem: () => (this.shuttingDown ? "process is shutting down" : undefined),
    endpoints: ["readyz"],
  }
  readonly slis: HealthSlis

  constructor(slis: HealthSlis) {
    this.slis = slis
  }

  /** Set when the program begins to stop: clients should send it no more requests. */
  shuttingDown = false

  /**
   * Adds a check. `problem` returns why the check fails, or undefined; it is called at every request and must answer at
   * once. Returns the function that removes the check.
   */
  add(name: string, problem: () => string | undefined, endpoints: readonly HealthEndpoint[] = ENDPOINTS): () => void {
    const check: Check = { name, problem, endpoints }
    this.#set([...this.#checks, check])
    return () => this.#set(this.#checks.filter((other) => other !== check))
  }

  /** Adds a check of /readyz that always passes, and what it has to say to those who read all checks. */
  addNote(name: string, note: () => string | undefined): void {
    this.#set([...this.#checks, { name, problem: WELL, note, endpoints: ["readyz"] }])
  }

  /** Runs a check; undefined when there is no such check. */
  find(name: string): { readonly problem: string | undefined } | undefined {
    const check = this.#checks.find((one) => one.name === name)
    return check === undefined ? undefined : { problem: check.problem() }
  }

  /** Returns the first check of an endpoint that fails, `<name>: <reason>`; undefined when all pass. */
  problem(endpoint: HealthEndpoint): string | undefined {
    return this.#checksOf(endpoint)
      .map(({ name, problem }) => ({ name, reason: problem() }))
      .filter(({ reason }) => reason !== undefined)
      .map(({ name, reason }) => `${name}: ${reason}`)[0]
  }

  #checksOf(endpoint: HealthEndpoint): readonly Check[] {
    return (this.#byEndpoint[endpoint] ??= [...this.#checks, this.#shutdown].filter(({ endpoints }) =>
      endpoints.includes(endpoint),
    ))
  }

  #set(checks: readonly Check[]): void {
    this.#checks = checks
    this.#byEndpoint = {}
  }

  /**
   * Serves `/livez`, `/livez/ping` and the like; false when the path is none of them. `mayAsk` says whether the user
   * may read a path.
   */
  serve(exchange: Exchange, path: string, query: Query, mayAsk: (path: string) => boolean): boolean {
    const endpoint = endpointOf(path)
    if (endpoint === undefined) return false
    const checks = this.#checksOf(endpoint)
    const one = path.slice(endpoint.length + 2)
    const check = checks.find(({ name }) => name === one)
    if (one !== "" && check === undefined) return false
    const { status, text } =
      check !== undefined
        ? reportOne(check)
        : reportAll(endpoint, checks, {
            excluded: query.all("exclude"),
            verbose: query.get("verbose") !== undefined,
            mayKnow: ({ name }) => mayAsk(`/${endpoint}/${name}`),
            observe: this.slis.at(endpoint),
          })
    exchange.sendText(status, text)
    return true
  }
}
