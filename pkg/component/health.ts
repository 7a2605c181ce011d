/** One of the things that must be well for a server to be healthy. */
export interface HealthCheck {
  readonly name: string
  /** Why it is not well, or nothing. Answers at once. */
  problem(): string | undefined
}

export interface HealthQuery {
  /** Names of checks that are not to count. */
  readonly excluded: readonly string[]
  /** Tell of each check also when all are well. */
  readonly verbose: boolean
  /** Whether the sender may know why a check fails. */
  mayKnow(check: HealthCheck): boolean
  /** Told of each check that has been made. */
  observe?(name: string, isWell: boolean): void
}

export interface HealthReport {
  readonly status: 200 | 500
  readonly text: string
}

/** What a health endpoint answers. Source: apiserver pkg/server/healthz/healthz.go. */
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
      found === undefined ? `[+]${name} ok` : `[-]${name} failed: ${mayKnow(check) ? found : "reason withheld"}`,
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

/** What the endpoint of one check answers. */
export function reportOne(check: HealthCheck): HealthReport {
  const problem = check.problem()
  return problem === undefined
    ? { status: 200, text: "ok" }
    : { status: 500, text: `internal server error: ${problem}\n` }
}
