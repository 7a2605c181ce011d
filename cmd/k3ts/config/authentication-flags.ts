import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import {
  SIGNING_ALGORITHMS,
  type OidcConfig,
  type SignInConfig,
} from "../../../components/apiserver/authentication/sign-in-config.ts"
import { anyText, notEmpty, readingAs, word } from "../cli/flag-type.ts"
import { list, oneOf, trueOrFalse, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

const keyAndValue = readingAs((text): { readonly value: readonly [string, string] } | { readonly fault: string } => {
  const equals = text.indexOf("=")
  return equals < 1 ? { fault: "must be CLAIM=VALUE" } : { value: [text.slice(0, equals), text.slice(equals + 1)] }
})

/** The flags about who may sign in, under upstream's names. Source: pkg/kubeapiserver/options/authentication.go. */
export const authenticationFlags = {
  "authentication-config": value(
    v.fileToRead.optional(),
    "File with an AuthenticationConfiguration: OpenID providers, and what requests without credentials may reach",
    { placeholder: "FILE", path: true },
  ),
  "anonymous-auth": {
    type: trueOrFalse.optional(),
    kind: "boolean" as const,
    summary: "Whether requests without credentials are those of system:anonymous, on all paths",
    defaultText: "on the paths of health and version only",
  },
  "api-audiences": list(anyText, "Audience that tokens must have one of", {
    placeholder: "AUDIENCE",
    defaultText: "the issuers of service account tokens",
  }),
  "service-account-issuer": list(
    notEmpty,
    "Issuer of service account tokens: the first one is in new tokens, and those of all are accepted",
    { placeholder: "URL", defaultText: "https://kubernetes.default.svc.cluster.local", split: (text) => [text] },
  ),
  "oidc-issuer-url": value(anyText.optional(), "URL of an OpenID provider whose tokens are accepted", {
    placeholder: "URL",
  }),
  "oidc-client-id": value(anyText.optional(), "Audience of its tokens", { placeholder: "ID" }),
  "oidc-ca-file": value(v.fileToRead.optional(), "Authorities of its certificate", {
    placeholder: "FILE",
    path: true,
    defaultText: "those of the system",
  }),
  "oidc-username-claim": value(anyText.optional(), "Claim that is the user's name", {
    placeholder: "CLAIM",
    defaultText: "sub",
  }),
  "oidc-username-prefix": value(anyText.optional(), "What is put before the name; - for nothing", {
    placeholder: "TEXT",
    defaultText: "the URL and #; nothing for the claim email",
  }),
  "oidc-groups-claim": value(anyText.optional(), "Claim that has the user's groups", { placeholder: "CLAIM" }),
  "oidc-groups-prefix": value(anyText.optional(), "What is put before each group", { placeholder: "TEXT" }),
  "oidc-required-claim": list(keyAndValue, "Claim that tokens must have, with this value", {
    placeholder: "CLAIM=VALUE",
    split: (text) => [text],
  }),
  "oidc-signing-algs": list(
    word(SIGNING_ALGORITHMS, `must be one of ${SIGNING_ALGORITHMS.join(", ")}`),
    "Algorithm with which its tokens may be signed",
    { placeholder: "NAME", choices: SIGNING_ALGORITHMS, defaultText: "RS256" },
  ),
  "token-auth-file": value(
    v.fileToRead.optional(),
    "CSV file of tokens with their users: token, name, uid, and groups in quotes",
    { placeholder: "FILE", path: true },
  ),
  "authentication-token-webhook-config-file": value(
    v.fileToRead.optional(),
    "Kubeconfig that names a webhook which authenticates tokens",
    { placeholder: "FILE", path: true },
  ),
  "authentication-token-webhook-cache-ttl": value(v.duration.prefault("2m"), "How long its answers count", {
    placeholder: "DURATION",
    defaultText: "2m",
  }),
  "authentication-token-webhook-version": oneOf(
    ["v1", "v1beta1"],
    "v1beta1",
    "Version of the TokenReview that it is sent",
    { placeholder: "VERSION" },
  ),
} as const
type AuthenticationFlags = FlagsOf<typeof authenticationFlags>

/** Returns what the flags say about who may sign in. @throws UsageError for flags that contradict each other */
export function signInOf(
  flags: AuthenticationFlags,
): Pick<ApiServerConfig, "signIn" | "anonymous" | "apiAudiences" | "issuers"> {
  const file = flags["authentication-config"]
  const tokenFile = flags["token-auth-file"]
  const webhookFile = flags["authentication-token-webhook-config-file"]
  const anonymous = flags["anonymous-auth"]
  const apiAudiences = flags["api-audiences"]
  const issuers = flags["service-account-issuer"]
  if (new Set(issuers).size < issuers.length)
    throw new UsageError(`--service-account-issuer ${issuers.join(" ")} names an issuer more than once`)
  const oidc = oidcOf(flags)
  const signIn: SignInConfig = {
    ...(file === undefined ? {} : { file }),
    ...(oidc === undefined ? {} : { oidc }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(webhookFile === undefined
      ? {}
      : {
          webhook: {
            file: webhookFile,
            version: flags["authentication-token-webhook-version"],
            cacheMs: flags["authentication-token-webhook-cache-ttl"] * 1000,
          },
        }),
  }
  return {
    ...(Object.keys(signIn).length === 0 ? {} : { signIn }),
    ...(anonymous === undefined ? {} : { anonymous }),
    ...(apiAudiences.length === 0 ? {} : { apiAudiences }),
    ...(issuers.length === 0 ? {} : { issuers }),
  }
}

function oidcOf(flags: AuthenticationFlags): OidcConfig | undefined {
  const given = Object.entries(flags).flatMap(([name, set]) =>
    name.startsWith("oidc-") && set !== undefined && !(Array.isArray(set) && set.length === 0) ? [name] : [],
  )
  if (given.length === 0) return undefined
  if (flags["authentication-config"] !== undefined)
    throw new UsageError(
      `--${given[0]} cannot be used beside --authentication-config: name the provider in the file, and leave the flag out`,
    )
  const { "oidc-issuer-url": issuerUrl = "", "oidc-client-id": clientId = "" } = flags
  if (issuerUrl === "" || clientId === "")
    throw new UsageError(`--${given[0]} needs both --oidc-issuer-url and --oidc-client-id`)
  const algorithms = flags["oidc-signing-algs"]
  return {
    issuerUrl,
    clientId,
    caFile: flags["oidc-ca-file"],
    usernameClaim: flags["oidc-username-claim"] ?? "sub",
    usernamePrefix: flags["oidc-username-prefix"] ?? "",
    groupsClaim: flags["oidc-groups-claim"] ?? "",
    groupsPrefix: flags["oidc-groups-prefix"] ?? "",
    signingAlgorithms: algorithms.length === 0 ? ["RS256"] : algorithms,
    requiredClaims: Object.fromEntries(flags["oidc-required-claim"]),
  }
}
