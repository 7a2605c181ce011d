import { createHash } from "node:crypto"
import type { StoredHook } from "../../pkg/helm/release.ts"

/** The annotation of a HelmChart with the digest of the hooks that its release was stored with. */
export const HOOKS = "helm.k3ts.io/hooks"

/**
 * Tells hooks that k3ts has stored from others. Whoever may write Secrets in the namespace of a release can write what
 * is stored of it, and hooks are created with all rights; the HelmChart only administrators can write. Differs from
 * upstream, where helm runs what is stored.
 */
export interface KnownHooks {
  /** The digest of the hooks that k3ts has stored last; undefined where it has stored none. */
  readonly digest: string | undefined
  /** Keeps the digest of hooks that are about to be stored. */
  keep(digest: string): Promise<void>
  /** Tells that the hooks of an event are not run. */
  refused(event: string): void
}

/** Returns the digest of hooks as they are stored, in hexadecimal. */
export const hooksDigest = (hooks: readonly StoredHook[]): string =>
  createHash("sha256").update(JSON.stringify(hooks)).digest("hex")
