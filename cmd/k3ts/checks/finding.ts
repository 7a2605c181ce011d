/** The result of checking one requirement of the host. */
export interface Finding {
  readonly name: string
  /** warning: k3ts runs without it, with limitations. */
  readonly status: "found" | "missing" | "warning"
  /** What was found, or what is missing. */
  readonly detail: string
  /** How to fix it; undefined when it was found. */
  readonly mend?: string
}

/** @throws Error that lists what is missing, and how to fix it */
export function refuseLacking(findings: readonly Finding[]): void {
  const lacking = findings.filter(({ status }) => status === "missing")
  if (lacking.length > 0)
    throw new Error(
      "this machine lacks what k3ts needs:\n" +
        `${lacking.map(({ name, detail, mend }) => `  ${name}: ${detail}; ${mend}`).join("\n")}`,
    )
}

export const found = (name: string, detail: string): Finding => ({ name, status: "found", detail })
export const missing = (name: string, detail: string, mend: string): Finding => ({
  name,
  status: "missing",
  detail,
  mend,
})
export const warning = (name: string, detail: string, mend: string): Finding => ({
  name,
  status: "warning",
  detail,
  mend,
})
