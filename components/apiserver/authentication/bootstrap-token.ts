import {
  BOOTSTRAP_NAMESPACE,
  BOOTSTRAPPERS,
  parseBootstrapToken,
  tokenOfSecret,
  tokenSecretName,
  type BootstrapToken,
} from "../../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { sameSecret } from "../../../pkg/pki/same-secret.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { withAuthenticated, type TokenAuthenticator } from "./authenticator.ts"

export interface BootstrapTokensOptions {
  readonly objects: ObjectReader
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Authenticates bootstrap tokens as `system:bootstrap:<id>`. Any other token, and one that is not valid, is left to the
 * other authenticators. Source: plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go.
 */
export const createBootstrapTokens = (options: BootstrapTokensOptions): TokenAuthenticator => ({
  authenticate(text) {
    const token = validBootstrapToken(options, text)
    if (token === undefined) return undefined
    const groups = withAuthenticated([...new Set([BOOTSTRAPPERS, ...token.groups])].toSorted())
    return { user: { name: `system:bootstrap:${token.id}`, groups } }
  },
})

/** Returns the token that a Secret holds and that may authenticate now; undefined for a text that is none. */
export function validBootstrapToken(
  { objects, now }: BootstrapTokensOptions,
  text: string,
): BootstrapToken | undefined {
  const shown = parseBootstrapToken(text)
  if (shown === undefined) return undefined
  const secret = objects.get(Secret, { namespace: BOOTSTRAP_NAMESPACE, name: tokenSecretName(shown.id) })
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined
  const token = tokenOfSecret(secret)
  if (token === undefined || !sameSecret(token.secret, shown.secret)) return undefined
  const isExpired = token.expires !== undefined && token.expires <= now()
  return isExpired || !token.usages.includes("authentication") ? undefined : token
}
