/** What was found of one requirement of the host. */
export interface Finding {
  readonly name: string
  /** warning: k3ts runs without it, but not as well. */
  readonly status: "found" | "missing" | "warning"
  /** What is there, or what is not. */
  readonly detail: string
  /** What to do about it; there unless found. */
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
