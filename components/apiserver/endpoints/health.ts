import { reportAll, reportOne, type HealthCheck } from "../../../pkg/component/health.ts"
import type { Exchange } from "../http/exchange.ts"
import type { Query } from "../http/query.ts"
import type { HealthSlis } from "./health-slis.ts"

/**
 * What is asked of the server's state: /livez whether it should be started again, /readyz whether to send it requests,
 * /healthz (of old) both.
 */
export type HealthEndpoint = "healthz" | "livez" | "readyz"
const ENDPOINTS: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"]

interface Check extends HealthCheck {
  readonly endpoints: readonly HealthEndpoint[]
}

const WELL = () => undefined

/**
 * The named checks behind the health endpoints.
 * Differs from upstream: whoever may ask for a check by itself also finds its reason among all of them. Others find it
 * withheld, as there.
 */
export class Health {
  // Log lines are written before the next request is read, so a server that answers has none in its way.
  #checks: readonly Check[] = [
    { name: "ping", problem: WELL, endpoints: ENDPOINTS },
    { name: "log", problem: WELL, endpoints: ENDPOINTS },
  ]
  readonly #shutdown: Check = {
    name: "shutdown",
    problem: () => (this.shuttingDown ? "process is shutting down" : undefined),
    endpoints: ["readyz"],
  }
  readonly slis: HealthSlis

  constructor(slis: HealthSlis) {
    this.slis = slis
  }

  /** Set when the program begins to end: from then on no further requests are to be sent to it. */
  shuttingDown = false

  /**
   * `problem` gives why something is not well, or nothing; it is asked at every request and must answer at once.
   * Returns what takes the check away.
   */
  add(name: string, problem: () => string | undefined, endpoints: readonly HealthEndpoint[] = ENDPOINTS): () => void {
    const check: Check = { name, problem, endpoints }
    this.#checks = [...this.#checks, check]
    return () => {
      this.#checks = this.#checks.filter((other) => other !== check)
    }
  }

  /** What a check finds; undefined when there is no such check. */
  find(name: string): { readonly problem: string | undefined } | undefined {
    const check = this.#checks.find((one) => one.name === name)
    return check === undefined ? undefined : { problem: check.problem() }
  }

  /**
   * Answers `/livez`, `/livez/ping` and their like; false when the path is none of them. `mayAsk` tells whether the
   * sender may read a path.
   */
  serve(exchange: Exchange, path: string, query: Query, mayAsk: (path: string) => boolean): boolean {
    const endpoint = ENDPOINTS.find((one) => path === `/${one}` || path.startsWith(`/${one}/`))
    if (endpoint === undefined) return false
    const checks = [...this.#checks, this.#shutdown].filter(({ endpoints }) => endpoints.includes(endpoint))
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
            observe: (name, isWell) => this.slis.observe(endpoint, name, isWell),
          })
    exchange.sendText(status, text)
    return true
  }
}
