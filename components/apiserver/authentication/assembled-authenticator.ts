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
import { createAuthenticator, type Authenticator } from "./authenticator.ts"
import { createBootstrapTokens } from "./bootstrap-token.ts"
import { certificateMeaning } from "./certificate-meaning.ts"
import { keepLastUsed } from "./last-used.ts"
import { createLegacyTokens } from "./legacy-token.ts"
import { nodeMembers } from "./node-members.ts"
import { createServiceAccountTokens } from "./service-account.ts"
import { createStaticTokens } from "./static-token.ts"

export interface AssembledAuthenticatorOptions {
  readonly files: ServingFiles
  /** The keys that verify service account tokens. */
  readonly keys: readonly VerifyingKey[]
  /** The issuers of service account tokens, which are the audiences of the API server too. */
  readonly issuers: readonly string[]
  /** Whether requests without credentials are anonymous on all paths or on none; on some of them unless given. */
  readonly anonymous?: boolean | undefined
  readonly objects: Objects
  readonly clock: Clock
  readonly log: Logger
  /** Returns the client that records the last use of tokens. */
  readonly client: () => Client
  /** Is told for each request by a client certificate in how many seconds that expires. */
  readonly expiresIn: (seconds: number) => void
}

export function assembledAuthenticator(options: AssembledAuthenticatorOptions): Authenticator {
  const { files, keys, issuers, anonymous, objects, clock, log, client, expiresIn } = options
  const now = () => clock.now()
  const known = new KnownIssuers()
  return createAuthenticator({
    ...(anonymous === undefined ? {} : { mayBeAnonymous: () => anonymous }),
    expiresIn,
    meaningOf: certificateMeaning(files, now),
    isMember: nodeMembers({ objects, now }),
    now,
    tokens: [
      createStaticTokens({ [files.adminToken]: { name: "system:admin", groups: ["system:masters"] } }),
      createBootstrapTokens({ objects, now }),
      createLegacyTokens({
        verifier: createLegacyTokenVerifier({ keys, apiAudiences: issuers, known }),
        objects,
        used: keepLastUsed({ client, clock, log }),
      }),
      createServiceAccountTokens({ verifier: createTokenVerifier({ keys, issuers, known, clock }), objects, now }),
    ],
  })
}
