import { basename } from "node:path"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type { Environment } from "../environment/environment.ts"
import type { PluginPolicy } from "../preferences/preference.ts"

/**
 * Checks whether the preferences allow a program that gives credentials. Source: client-go
 * plugin/pkg/client/auth/exec/exec.go (updateCommandAndCheckAllowlistLocked).
 * @throws Error when they do not
 */
export async function checkPlugin(
  command: string,
  { type, allowlist = [] }: PluginPolicy,
  { programs }: Pick<Environment, "programs">,
): Promise<void> {
  if (type === "" || type === "AllowAll") return
  if (type === "DenyAll") throw new Error(`plugin ${goQuoted(command)} not allowed: policy set to "DenyAll"`)
  const allowed = new Set(allowlist.map((entry) => entry.command ?? ""))
  if (allowed.has(command)) return
  const path = await programs.find(command)
  if (path === undefined)
    throw new Error(
      `plugin path ${goQuoted(command)} cannot be resolved for credential plugin allowlist check: exec: ${goQuoted(command)}: ${command.includes("/") ? "no such file or directory" : "executable file not found in $PATH"}`,
    )
  if (allowed.has(path)) return
  for (const entry of allowed) if (basename(entry) === basename(path) && (await programs.find(entry)) === path) return
  throw new Error(`plugin path ${goQuoted(path)} is not permitted by the credential plugin allowlist`)
}
