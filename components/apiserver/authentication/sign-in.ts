/**
 * Sign-in by other programs: OpenID providers, a webhook, a file of tokens. Loaded only where one of them is
 * configured. Source: pkg/kubeapiserver/options/authentication.go.
 */
import { readFileSync } from "node:fs"
import { forbiddenField } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import {
  ConfigurationError,
  configurationText,
  parseConfiguration,
  refusal,
} from "../../../pkg/config-file/config-file.ts"
import { followFile, ReloadMetrics } from "../../../pkg/config-file/follow-file.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { KubeconfigWebhook, readWebhookKubeconfig } from "../webhooks/kubeconfig-webhook.ts"
import { audienceAgnostic } from "./audience-agnostic.ts"
import type { TokenAuthenticator } from "./authenticator.ts"
import type { AnonymousAuthConfig, AuthenticationConfiguration } from "./configuration/fields.ts"
import { authenticationKind } from "./configuration/kind.ts"
import { authenticationFaults } from "./configuration/validation.ts"
import { OidcMetrics } from "./oidc/oidc-metrics.ts"
import { Providers } from "./oidc/providers.ts"
import type { OidcConfig, SignInConfig, TokenWebhookConfig } from "./sign-in-config.ts"
import { createStaticTokens } from "./static-token.ts"
import { usersInTokenFile } from "./token-file.ts"
import { createTokenWebhook } from "./webhook/token-webhook.ts"

export interface SignInOptions {
  readonly config: SignInConfig
  /** The issuers of this cluster's own tokens, which no provider may have. */
  readonly ownIssuers: readonly string[]
  readonly apiAudiences: readonly string[]
  /** What `--anonymous-auth` says about requests without credentials; then the file says nothing about them. */
  readonly anonymous?: boolean | undefined
  readonly metrics: Registry
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export interface SignIn {
  readonly tokens: readonly TokenAuthenticator[]
  /** What the file says about requests without credentials; undefined where it says nothing. */
  readonly anonymous: AnonymousAuthConfig | undefined
  /** Follows the file, and asks the providers for their keys, from now on. */
  start(): void
  stop(): void
}

/** Reads what is configured, and asks nobody yet. @throws ConfigurationError that names file, line and mend */
export function openSignIn(options: SignInOptions): SignIn {
  const { config, ownIssuers, apiAudiences, anonymous, metrics, clock, random, log } = options
  const { file, oidc, tokenFile, webhook } = config
  const configuration = file === undefined ? undefined : parse(configurationText(file), file, ownIssuers)
  if (anonymous !== undefined && configuration?.value.anonymous !== undefined)
    throw refusal(configuration.text, configuration.file, [
      forbiddenField("anonymous", "cannot be used beside --anonymous-auth: leave out one of the two"),
    ])
  const jwt = configuration?.value.jwt ?? (oidc === undefined ? [] : [authenticatorOf(oidc, ownIssuers)])
  const providers = new Providers({
    clock,
    log,
    metrics: new OidcMetrics(metrics, clock),
    algorithms: oidc?.signingAlgorithms,
  })
  const asked = webhook === undefined ? undefined : webhookOf(webhook, { clock, random })
  const tokens: TokenAuthenticator[] = []
  if (tokenFile !== undefined)
    tokens.push(audienceAgnostic(apiAudiences, createStaticTokens(usersInTokenFile(tokenFile))))
  tokens.push(audienceAgnostic(apiAudiences, providers))
  if (webhook !== undefined) {
    const { version, cacheMs } = webhook
    tokens.push(createTokenWebhook({ webhook: asked!, version, cacheMs, apiAudiences, clock, log }))
  }

  let endFollowing = (): void => undefined
  return {
    tokens,
    anonymous: configuration?.value.anonymous,
    start() {
      providers.start(jwt)
      if (configuration === undefined) return
      endFollowing = followFile({
        file: configuration.file,
        text: configuration.text,
        what: "authentication configuration",
        metrics: new ReloadMetrics(metrics, "apiserver_authentication_config_controller", clock),
        clock,
        log,
        async use(text) {
          const { value } = parse(text, configuration.file, ownIssuers)
          if (!deepEqual(value.anonymous, configuration.value.anonymous))
            throw refusal(text, configuration.file, [
              forbiddenField("anonymous", "changed from initial configuration file"),
            ])
          await providers.replace(value.jwt ?? [])
        },
      })
    },
    stop() {
      endFollowing()
      providers.stop()
      asked?.close()
    },
  }
}

interface Read {
  readonly file: string
  readonly text: string
  readonly value: AuthenticationConfiguration
}

function parse(text: string, file: string, ownIssuers: readonly string[]): Read {
  const { value } = parseConfiguration(text, file, [authenticationKind(ownIssuers)])
  // Upstream refuses it too where no egress selector is configured.
  const egress = (value.jwt ?? []).flatMap(({ issuer: { egressSelectorType = "" } }, i) =>
    egressSelectorType === ""
      ? []
      : [
          forbiddenField(
            `jwt[${i}].issuer.egressSelectorType`,
            "there is no egress selector here: providers are reached from the server's network; leave the field out",
          ),
        ],
  )
  if (egress.length > 0) throw refusal(text, file, egress)
  return { file, text, value }
}

function authenticatorOf(oidc: OidcConfig, ownIssuers: readonly string[]) {
  const { issuerUrl, clientId, caFile, usernameClaim, usernamePrefix, groupsClaim, groupsPrefix, requiredClaims } = oidc
  const prefix =
    usernamePrefix === "-" ? "" : usernamePrefix === "" && usernameClaim !== "email" ? `${issuerUrl}#` : usernamePrefix
  let certificateAuthority: string | undefined
  try {
    if (caFile !== undefined) certificateAuthority = readFileSync(caFile, "utf8")
  } catch (err) {
    throw new ConfigurationError(`oidc-ca-file ${caFile}: ${errorMessage(err)}`, { cause: err })
  }
  const authenticator = {
    issuer: {
      url: issuerUrl,
      audiences: [clientId],
      ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    },
    claimMappings: {
      username: { claim: usernameClaim, prefix },
      groups: groupsClaim === "" ? {} : { claim: groupsClaim, prefix: groupsPrefix },
      uid: {},
    },
    claimValidationRules: Object.entries(requiredClaims).map(([claim, requiredValue]) => ({ claim, requiredValue })),
  }
  const faults = authenticationFaults({ jwt: [authenticator] }, ownIssuers)
  if (faults.length > 0)
    throw new ConfigurationError(
      faults.map(({ field, message }) => `--oidc-* cannot be used: ${field}: ${message}`).join("\n"),
    )
  return authenticator
}

function webhookOf({ file }: TokenWebhookConfig, tools: Pick<SignInOptions, "clock" | "random">): KubeconfigWebhook {
  try {
    return new KubeconfigWebhook(readWebhookKubeconfig(file, "--authentication-token-webhook-config-file"), tools)
  } catch (err) {
    throw new ConfigurationError(errorMessage(err), { cause: err })
  }
}
