/** The preferences of a user. Source: kubectl pkg/config/v1beta1/types.go. */
export interface Preference {
  readonly kind?: string
  readonly apiVersion?: string
  readonly defaults?: readonly CommandDefaults[] | null
  readonly aliases?: readonly AliasOverride[] | null
  readonly credentialPluginPolicy?: string
  readonly credentialPluginAllowlist?: readonly AllowlistEntry[]
}

/** Values that the flags of a command have when the command line does not set them. */
export interface CommandDefaults {
  readonly command?: string
  readonly options?: readonly CommandOption[] | null
}

export interface CommandOption {
  readonly name?: string
  readonly default?: string
}

/** A further name of a command, with flags and arguments of its own. */
export interface AliasOverride {
  readonly name?: string
  readonly command?: string
  readonly prependArgs?: readonly string[]
  readonly appendArgs?: readonly string[]
  readonly options?: readonly CommandOption[]
}

export interface AllowlistEntry {
  readonly name?: string
  readonly command?: string
}

export const PREFERENCE_GROUP = "kubectl.config.k8s.io"
export const NEWEST_VERSION = `${PREFERENCE_GROUP}/v1beta1`

/** What the preferences allow of programs that give credentials. */
export interface PluginPolicy {
  readonly type: string
  readonly allowlist: readonly AllowlistEntry[] | undefined
}

export const pluginPolicyOf = (preference: Preference): PluginPolicy => ({
  type: preference.credentialPluginPolicy ?? "",
  allowlist: preference.credentialPluginAllowlist,
})
