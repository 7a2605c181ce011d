import { cleanPath } from "../../apimachinery/go/go-path.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { pluginPolicyOf, type CommandOption, type PluginPolicy, type Preference } from "./preference.ts"

/** Source: kubectl pkg/kuberc/kuberc.go (validate). @throws Error for preferences that make no sense */
export function validatePreference(preference: Preference): void {
  const names = new Set<string>()
  for (const { name = "", options } of preference.aliases ?? []) {
    if (!/^[a-zA-Z]+$/.test(name)) throw new Error("invalid alias name, can only include alphabetical characters")
    validateOptions(options)
    if (names.has(name)) throw new Error(`duplicate alias name ${name}`)
    names.add(name)
  }
  for (const { options } of preference.defaults ?? []) validateOptions(options)
  validatePolicy(pluginPolicyOf(preference))
}

function validateOptions(options: readonly CommandOption[] | null = []): void {
  for (const { name = "" } of options ?? [])
    if (name.startsWith("-")) throw new Error(`flag name ${name} should be in long form without dashes`)
}

/** Source: client-go plugin/pkg/client/auth/exec/exec.go (ValidatePluginPolicy). */
function validatePolicy({ type, allowlist }: PluginPolicy): void {
  if (type === "" || type === "AllowAll" || type === "DenyAll") {
    if (allowlist !== undefined)
      throw new Error(
        `misconfigured credential plugin allowlist: plugin policy is ${goQuoted(type)} but allowlist is non-nil`,
      )
    return
  }
  if (type !== "Allowlist") throw new Error(`unknown plugin policy: ${goQuoted(type)}`)
  const set = 'credential plugin policy set to "Allowlist", but allowlist is'
  if (allowlist === undefined) throw new Error(`${set} unspecified`)
  if (allowlist.length === 0) throw new Error(`${set} empty; use "DenyAll" policy instead`)
  for (const [at, { name = "", command = "" }] of allowlist.entries()) {
    if (name === "" && command === "")
      throw new Error(`misconfigured credential plugin allowlist: empty allowlist entry #${at + 1}`)
    const clean = cleanPath(command)
    if (clean !== command) throw new Error(`non-normalized file path: ${goQuoted(command)} vs ${goQuoted(clean)}`)
  }
}
