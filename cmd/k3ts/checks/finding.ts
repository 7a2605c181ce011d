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
