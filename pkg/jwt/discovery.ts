/**
 * The documents with which relying parties outside the cluster verify its tokens. Source:
 * pkg/serviceaccount/openidmetadata.go.
 */
import type { VerifyingKey } from "./signing-key.ts"

const JWKS_PATH = "/openid/v1/jwks"

export interface Jwk {
  readonly use: "sig"
  readonly kid: string
  readonly alg: string
  readonly kty: string
  readonly [member: string]: string
}

/** Returns the public keys, served at `/openid/v1/jwks` as `application/jwk-set+json`. */
export function jwks(keys: readonly VerifyingKey[]): { readonly keys: readonly Jwk[] } {
  return {
    keys: keys.map(({ publicKey, keyId, algorithm }) => {
      const { kty = "", crv, x, y, n, e } = publicKey.export({ format: "jwk" })
      const members = Object.entries({ crv, x, y, n, e }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      )
      return { use: "sig", kty, kid: keyId, alg: algorithm, ...Object.fromEntries(members) }
    }),
  }
}

export interface OpenIdConfiguration {
  readonly issuer: string
  readonly jwks_uri: string
  readonly response_types_supported: readonly string[]
  readonly subject_types_supported: readonly string[]
  readonly id_token_signing_alg_values_supported: readonly string[]
}

/**
 * Returns the document at `/.well-known/openid-configuration`. `server` is the API server's URL outside the cluster,
 * `https://host:port`; `jwksUri` is where the keys are, if not there.
 */
export function openIdConfiguration({
  issuer,
  server,
  keys,
  jwksUri = `${server}${JWKS_PATH}`,
}: {
  issuer: string
  server: string
  keys: readonly VerifyingKey[]
  jwksUri?: string | undefined
}): OpenIdConfiguration {
  return {
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.map((key) => key.algorithm))].sort(),
  }
}
