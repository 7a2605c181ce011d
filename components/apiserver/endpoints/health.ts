import type { Exchange } from "../http/exchange.ts"
import type { Query } from "../http/query.ts"

/** What is asked of the server's state: /livez whether it should be started again, /readyz whether to send it requests, /healthz (of old) both. */
export type HealthEndpoint = "healthz" | "livez" | "readyz"
const ENDPOINTS: readonly string[] = ["healthz", "livez", "readyz"]

interface Check {
  readonly name: string
  readonly problem: () => string | undefined
  readonly endpoints: readonly HealthEndpoint[]
}

/** The named checks behind the health endpoints. Source: apiserver pkg/server/healthz/healthz.go. */
export class Health {
  private readonly checks: Check[] = [{ name: "ping", problem: () => undefined, endpoints: ["healthz", "livez", "readyz"] }]

  /** `problem` gives why something is not well, or nothing; it is asked at every request and must answer at once. */
  add(name: string, problem: () => string | undefined, endpoints: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"]): void {
    this.checks.push({ name, problem, endpoints })
  }

  /** Answers `/livez`, `/livez/ping` and their like; false when the path is none of them. */
  serve(exchange: Exchange, path: string, query: Query): boolean {
    const [, endpoint = "", one, ...more] = path.split("/")
    if (!ENDPOINTS.includes(endpoint) || more.length > 0) return false
    const checks = this.checks.filter(({ endpoints }) => endpoints.includes(endpoint as HealthEndpoint))
    if (one === undefined || one === "") {
      sendAll(exchange, endpoint, checks, query)
      return true
    }
    const check = checks.find(({ name }) => name === one)
    if (check === undefined) return false
    const problem = check.problem()
    if (problem === undefined) exchange.sendText(200, "ok")
    else exchange.sendText(500, `internal server error: ${problem}\n`)
    return true
  }
}

function sendAll(exchange: Exchange, endpoint: string, checks: readonly Check[], query: Query): void {
  const excluded = query.all("exclude")
  const lines: string[] = []
  let failed = false
  for (const { name, problem } of checks) {
    if (excluded.includes(name)) {
      lines.push(`[+]${name} excluded: ok`)
      continue
    }
    const found = problem()
    if (found !== undefined) failed = true
    lines.push(found === undefined ? `[+]${name} ok` : `[-]${name} failed: ${found}`)
  }
  const unknown = excluded.filter((name) => !checks.some((check) => check.name === name))
  if (unknown.length > 0) lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.map((name) => JSON.stringify(name)).join(", ")}`)
  if (failed) exchange.sendText(500, `${lines.join("\n")}\n${endpoint} check failed\n`)
  else if (query.get("verbose") === undefined) exchange.sendText(200, "ok")
  else exchange.sendText(200, `${lines.join("\n")}\n${endpoint} check passed\n`)
}
