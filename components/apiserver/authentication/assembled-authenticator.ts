/** Puts the authenticators of a server together. Source: pkg/kubeapiserver/authenticator/config.go. */
import type { Client } from "../../../pkg/client/client.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { KnownIssuers } from "../../../pkg/jwt/known-issuers.ts"
import { createLegacyTokenVerifier } from "../../../pkg/jwt/legacy-token.ts"
import { createTokenVerifier } from "../../../pkg/jwt/service-account.ts"
import type { VerifyingKey } from "../../../pkg/jwt/signing-key.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Objects } from "../cacher/objects.ts"
import type { ServingFiles } from "../serving/serving.ts"
import { audienceAgnostic } from "./audience-agnostic.ts"
import { createAuthenticator, type Authenticator, type TokenAuthenticator } from "./authenticator.ts"
import { createBootstrapTokens } from "./bootstrap-token.ts"
import { certificateMeaning } from "./certificate-meaning.ts"
import { keepLastUsed } from "./last-used.ts"
import { createLegacyTokens } from "./legacy-token.ts"
import { nodeMembers } from "./node-members.ts"
import { createServiceAccountTokens } from "./service-account.ts"
import type { SignIn } from "./sign-in.ts"
import { createStaticTokens } from "./static-token.ts"

export interface AssembledAuthenticatorOptions {
  readonly files: ServingFiles
  /** The keys that verify service account tokens. */
  readonly keys: readonly VerifyingKey[]
  /** The issuers of service account tokens. */
  readonly issuers: readonly string[]
  readonly apiAudiences: readonly string[]
  /** Whether requests without credentials are anonymous on all paths or on none; on some of them unless given. */
  readonly anonymous?: boolean | undefined
  /** Sign-in by other programs; none unless given. */
  readonly signIn?: SignIn | undefined
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Logger
  /** Returns the client that records the last use of tokens. */
  readonly client: () => Client
  /** Is told for each request by a client certificate in how many seconds that expires. */
  readonly expiresIn: (seconds: number) => void
}

export function assembledAuthenticator(options: AssembledAuthenticatorOptions): Authenticator {
  const { files, keys, issuers, apiAudiences, signIn, objects, clock, log, client, expiresIn } = options
  const now = () => clock.now()
  const known = new KnownIssuers()
  const forTheApi = (tokens: TokenAuthenticator) => audienceAgnostic(apiAudiences, tokens)
  return createAuthenticator({
    ...anonymousPaths(options),
    expiresIn,
    meaningOf: certificateMeaning(files, now),
    isMember: nodeMembers({ objects, now }),
    now,
    tokens: [
      forTheApi(createStaticTokens([[files.adminToken, { name: "system:admin", groups: ["system:masters"] }]])),
      forTheApi(createBootstrapTokens({ objects, now })),
      createLegacyTokens({
        verifier: createLegacyTokenVerifier({ keys, apiAudiences, known }),
        objects,
        used: keepLastUsed({ client, clock, log }),
      }),
      createServiceAccountTokens({
        verifier: createTokenVerifier({ keys, issuers, apiAudiences, known, clock }),
        objects,
        now,
      }),
      // Last, since these may take time.
      ...(signIn?.tokens ?? []),
    ],
  })
}

/** Source of the meaning of conditions: apiserver pkg/authentication/request/anonymous. */
function anonymousPaths({ anonymous, signIn }: AssembledAuthenticatorOptions): {
  readonly mayBeAnonymous?: (path: string) => boolean
} {
  const file = signIn?.anonymous
  if (file === undefined) return anonymous === undefined ? {} : { mayBeAnonymous: () => anonymous }
  const paths = new Set((file.conditions ?? []).map(({ path }) => path))
  const { enabled = false } = file
  return { mayBeAnonymous: (path) => enabled && (paths.size === 0 || paths.has(path)) }
}
