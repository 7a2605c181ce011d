import { readFileSync } from "node:fs"
import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { signingKey, verifyingKeysIn } from "../../../pkg/jwt/signing-key.ts"
import { textThat } from "../cli/flag-type.ts"
import { boolean, list, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

const httpsUrl = textThat(
  (text) => URL.canParse(text) && new URL(text).protocol === "https:",
  "must be a URL with https, as in https://keys.example.com/jwks",
)

/** The flags of service account tokens, under upstream's names. Source: pkg/kubeapiserver/options/authentication.go. */
export const serviceAccountFlags = {
  "service-account-signing-key-file": value(
    v.fileToRead.optional(),
    "Private key that signs service account tokens: P-256, P-384, P-521, RSA or Ed25519, as PEM",
    { placeholder: "FILE", path: true, defaultText: "a key in data-dir" },
  ),
  "service-account-key-file": list(
    v.fileToRead,
    "Keys or certificates, as PEM, that verify service account tokens, beside the key that signs them",
    { placeholder: "FILE", path: true, defaultText: "those in data-dir" },
  ),
  "service-account-jwks-uri": value(
    httpsUrl.optional(),
    "Where others find the keys of service account tokens, as the issuer's discovery document tells them",
    { placeholder: "URL", defaultText: "/openid/v1/jwks of this server" },
  ),
  "service-account-max-token-expiration": value(
    v.duration.refine((seconds) => seconds >= 3600, "must be 1h or longer").optional(),
    "Longest life of a service account token; longer ones that are asked for are shortened",
    { placeholder: "DURATION", defaultText: "as asked for" },
  ),
  "service-account-extend-token-expiration": boolean(
    "Let tokens in pods live for a year, for clients that do not read them again; the kubelet renews them hourly",
    {},
    true,
  ),
} as const
type ServiceAccountFlags = FlagsOf<typeof serviceAccountFlags>

/** Returns what the flags say about service account tokens. @throws UsageError for a file that cannot be used */
export function serviceAccountsOf(flags: ServiceAccountFlags): Pick<ApiServerConfig, "serviceAccounts"> {
  const signingFile = flags["service-account-signing-key-file"]
  const signing =
    signingFile === undefined ? undefined : keysIn("service-account-signing-key-file", signingFile, signingKey)
  const verifying = flags["service-account-key-file"].flatMap((file) =>
    keysIn("service-account-key-file", file, verifyingKeysIn),
  )
  return {
    serviceAccounts: {
      signing,
      verifying,
      jwksUri: flags["service-account-jwks-uri"],
      longestSeconds: flags["service-account-max-token-expiration"],
      extendsTokens: flags["service-account-extend-token-expiration"],
    },
  }
}

function keysIn<T>(flag: string, file: string, read: (pem: string) => T): T {
  try {
    return read(readFileSync(file, "utf8"))
  } catch (err) {
    throw new UsageError(`--${flag} ${file} cannot be used: ${errorMessage(err)}`)
  }
}
