import { join } from "node:path"
import type { Environment } from "../environment/environment.ts"

/** A file of preferences, and whether somebody has named it. */
export interface KubercPath {
  readonly path: string
  readonly isExplicit: boolean
}

/**
 * Returns the file of the preferences: that of `--kuberc`, of the variable KUBERC, or the one beside the kubeconfig.
 * Undefined when preferences are off. Source: kubectl pkg/kuberc/kuberc.go (LoadKuberc).
 */
export function kubercPath(
  { variables, home }: Pick<Environment, "variables" | "home">,
  flag: string,
): KubercPath | undefined {
  const variable = variables["KUBERC"] ?? ""
  if (variable === "off") {
    if (flag !== "") throw new Error("disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive")
    return undefined
  }
  const usual = join(home, ".kube", "kuberc")
  if (flag !== "" && flag !== usual) return { path: flag, isExplicit: true }
  if (variable !== "") return { path: variable, isExplicit: true }
  return { path: usual, isExplicit: flag !== "" }
}

/** The value of `--kuberc`, which is needed before the command and its flags are known. */
export function kubercFlag(argv: readonly string[]): string {
  for (const [at, arg] of argv.entries()) {
    if (arg === "--") return ""
    const value = arg === "--kuberc" ? argv[at + 1] : arg.includes("--kuberc=") ? arg.split("=")[1] : ""
    if (value === undefined || (value === "" && arg.includes("--kuberc="))) throw new Error("kuberc file is not found")
    if (value !== "") return value
  }
  return ""
}
