/** A check that must pass for a server to be healthy. */
export interface HealthCheck {
  readonly name: string
  /** Returns why the check fails; undefined when it passes. Must not wait for anything. */
  problem(): string | undefined
  /** Returns what there is to say although the check passes. */
  note?(): string | undefined
}

export interface HealthQuery {
  /** Names of checks that are left out. */
  readonly excluded: readonly string[]
  /** Whether the answer lists each check also when all pass. */
  readonly verbose: boolean
  /** Whether the caller may read why a check fails. */
  mayKnow(check: HealthCheck): boolean
  /** Called with the result of each check. */
  observe?(name: string, isWell: boolean): void
}

export interface HealthReport {
  readonly status: 200 | 500
  readonly text: string
}

/** Returns the answer of a health endpoint. Source: apiserver pkg/server/healthz/healthz.go. */
export function reportAll(endpoint: string, checks: readonly HealthCheck[], query: HealthQuery): HealthReport {
  const { excluded, verbose, observe } = query
  let failed = false
  const problems = checks.map((check) => {
    if (excluded.includes(check.name)) return undefined
    const problem = check.problem()
    observe?.(check.name, problem === undefined)
    if (problem !== undefined) failed = true
    return problem
  })
  // Probes ask often, and read only whether all is well.
  if (!failed && !verbose) return { status: 200, text: "ok" }
  const lines = checks.map((check, i) => lineOf(check, problems[i], query))
  const unknown = excluded.filter((name) => !checks.some((check) => check.name === name))
  if (unknown.length > 0)
    lines.push(
      "warn: some health checks cannot be excluded: no matches for " +
        `${unknown.map((name) => JSON.stringify(name)).join(",")}`,
    )
  if (failed) return { status: 500, text: `${lines.join("\n")}\n${endpoint} check failed\n` }
  return { status: 200, text: `${lines.join("\n")}\n${endpoint} check passed\n` }
}

function lineOf(check: HealthCheck, problem: string | undefined, { excluded, mayKnow }: HealthQuery): string {
  const { name } = check
  if (excluded.includes(name)) return `[+]${name} excluded: ok`
  if (problem === undefined) return `[+]${name} ok${noteOf(check, mayKnow)}`
  return `[-]${name} failed: ${mayKnow(check) ? problem : "reason withheld"}`
}

function noteOf(check: HealthCheck, mayKnow: HealthQuery["mayKnow"]): string {
  const note = check.note?.()
  return note === undefined || !mayKnow(check) ? "" : `: ${note}`
}

/** Returns the answer of the endpoint of one check. */
export function reportOne(check: HealthCheck): HealthReport {
  const problem = check.problem()
  return problem === undefined
    ? { status: 200, text: "ok" }
    : { status: 500, text: `internal server error: ${problem}\n` }
}
