/** Who may sign in beside the cluster's own users. */
export interface SignInConfig {
  /** The file of `--authentication-config`. */
  readonly file?: string | undefined
  /** The provider of `--oidc-*`, not beside a file. */
  readonly oidc?: OidcConfig | undefined
  /** The file of `--token-auth-file`. */
  readonly tokenFile?: string | undefined
  readonly webhook?: TokenWebhookConfig | undefined
}

/** What the flags `--oidc-*` say. Source: pkg/kubeapiserver/options/authentication.go. */
export interface OidcConfig {
  readonly issuerUrl: string
  readonly clientId: string
  readonly caFile?: string | undefined
  readonly usernameClaim: string
  /** `-` for none; by default the issuer's URL and `#`, unless the claim is `email`. */
  readonly usernamePrefix: string
  readonly groupsClaim: string
  readonly groupsPrefix: string
  readonly signingAlgorithms: readonly SigningAlgorithm[]
  readonly requiredClaims: Readonly<Record<string, string>>
}

/** The algorithms of signatures that may be accepted: none, and those with a shared secret, are not among them. */
export const SIGNING_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
] as const
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

export interface TokenWebhookConfig {
  /** A kubeconfig that names the webhook. */
  readonly file: string
  readonly version: "v1" | "v1beta1"
  readonly cacheMs: number
}
