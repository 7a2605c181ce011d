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
export function reportAll(
  endpoint: string,
  checks: readonly HealthCheck[],
  { excluded, verbose, mayKnow, observe }: HealthQuery,
): HealthReport {
  const lines: string[] = []
  let failed = false
  for (const check of checks) {
    const { name } = check
    if (excluded.includes(name)) {
      lines.push(`[+]${name} excluded: ok`)
      continue
    }
    const found = check.problem()
    observe?.(name, found === undefined)
    if (found !== undefined) failed = true
    lines.push(
      found === undefined
        ? `[+]${name} ok${noteOf(check, mayKnow)}`
        : `[-]${name} failed: ${mayKnow(check) ? found : "reason withheld"}`,
    )
  }
  const unknown = excluded.filter((name) => !checks.some((check) => check.name === name))
  if (unknown.length > 0)
    lines.push(
      "warn: some health checks cannot be excluded: no matches for " +
        `${unknown.map((name) => JSON.stringify(name)).join(",")}`,
    )
  if (failed) return { status: 500, text: `${lines.join("\n")}\n${endpoint} check failed\n` }
  return { status: 200, text: verbose ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok" }
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
