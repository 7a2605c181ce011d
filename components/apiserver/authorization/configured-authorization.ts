/**
 * Who decides about requests, as a file or flags say. Loaded only where one of them is given. Source:
 * pkg/kubeapiserver/authorizer, pkg/kubeapiserver/options/authorization.go.
 */
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { forbiddenField, invalidValue, required } from "../../../pkg/apimachinery/validation/field-errors.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import {
  ConfigurationError,
  configurationText,
  parseConfiguration,
  refusal,
} from "../../../pkg/config-file/config-file.ts"
import { followFile, ReloadMetrics } from "../../../pkg/config-file/follow-file.ts"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import { KubeconfigWebhook, readWebhookKubeconfig } from "../webhooks/kubeconfig-webhook.ts"
import type { AuthorizationConfig, AuthorizationWebhookConfig } from "./authorization-config.ts"
import type { Authorizer } from "./authorizer.ts"
import { authorizerChain } from "./chain.ts"
import type { AuthorizerConfiguration, WebhookConfiguration } from "./configuration/fields.ts"
import { AUTHORIZATION_KIND } from "./configuration/kind.ts"
import { WebhookAuthorizer } from "./webhook/webhook-authorizer.ts"
import { AuthorizationWebhookMetrics } from "./webhook/webhook-metrics.ts"

export interface ConfiguredAuthorizationOptions {
  readonly config: AuthorizationConfig
  readonly metrics: Registry
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** The authorizers that need the store. */
export interface OwnAuthorizers {
  readonly node: Authorizer
  readonly rbac: Authorizer
}

export interface ConfiguredAuthorization {
  /** Returns the authorizer of all requests, and follows the file from now on. Called once. */
  start(own: OwnAuthorizers): Authorizer
  /** Whether webhooks decide too, whose rules cannot be listed. */
  readonly hasWebhooks: boolean
  stop(): void
}

/** One that decides: the cluster's own, or a webhook. */
type Step =
  | { readonly type: string }
  | {
      readonly type: "Webhook"
      readonly name: string
      readonly configuration: WebhookConfiguration
      readonly webhook: KubeconfigWebhook
    }

/** Reads what is configured, and asks nobody yet. @throws ConfigurationError that names file, line and mend */
export function openAuthorization(options: ConfiguredAuthorizationOptions): ConfiguredAuthorization {
  const { config, metrics, clock, log } = options
  const { file } = config
  const text = file === undefined ? "" : configurationText(file)
  let steps =
    file === undefined ? stepsOf(authorizersOf(config), "", undefined, options) : read(text, file, [], options)
  const ownTypes = steps.map(({ type }) => type).filter((type) => type !== "Webhook")
  const webhookMetrics = new AuthorizationWebhookMetrics(metrics, clock)
  let endFollowing = (): void => undefined

  const chainOf = (of: readonly Step[], own: OwnAuthorizers): Authorizer =>
    authorizerChain(
      of.map((step) =>
        "webhook" in step ? new WebhookAuthorizer({ ...step, metrics: webhookMetrics, clock, log }) : ownOf(step, own),
      ),
    )
  const close = (of: readonly Step[]) => of.forEach((step) => "webhook" in step && step.webhook.close())

  return {
    get hasWebhooks() {
      return steps.some(({ type }) => type === "Webhook")
    },
    start(own) {
      let current = chainOf(steps, own)
      if (file !== undefined)
        endFollowing = followFile({
          file,
          text,
          what: "authorization configuration",
          metrics: new ReloadMetrics(metrics, "apiserver_authorization_config_controller", clock),
          clock,
          log,
          use(changed) {
            const [before, next] = [steps, read(changed, file, ownTypes, options)]
            current = chainOf(next, own)
            steps = next
            close(before)
          },
        })
      return { authorize: (request) => current.authorize(request) }
    },
    stop() {
      endFollowing()
      close(steps)
    },
  }
}

const ALWAYS: Readonly<Record<string, Authorizer>> = {
  AlwaysAllow: { authorize: () => ({ allowed: true, reason: "" }) },
  AlwaysDeny: { authorize: () => ({ allowed: false, reason: "Everything is forbidden." }) },
}

const ownOf = ({ type }: Step, { node, rbac }: OwnAuthorizers): Authorizer =>
  type === "Node" ? node : type === "RBAC" ? rbac : ALWAYS[type]!

/** @param mustHave the types that the file had when the server started */
function read(
  text: string,
  file: string,
  mustHave: readonly string[],
  tools: Pick<ConfiguredAuthorizationOptions, "clock" | "random">,
): readonly Step[] {
  const { authorizers = [] } = parseConfiguration(text, file, [AUTHORIZATION_KIND]).value
  const missing = mustHave.filter((wanted) => !authorizers.some(({ type }) => type === wanted))
  if (missing.length > 0)
    throw refusal(text, file, [required("authorizers", `missing required types: [${missing.join(" ")}]`)])
  return stepsOf(authorizers, text, file, tools)
}

function stepsOf(
  authorizers: readonly AuthorizerConfiguration[],
  text: string,
  file: string | undefined,
  tools: Pick<ConfiguredAuthorizationOptions, "clock" | "random">,
): readonly Step[] {
  const causes: Cause[] = []
  const steps = authorizers.flatMap(({ type = "", name = "", webhook: configuration }, i): Step[] => {
    const field = `authorizers[${i}]`
    const expected = type.toLowerCase()
    if (type === "ABAC") causes.push(forbiddenField(`${field}.type`, "there is no ABAC here: use RBAC"))
    if (configuration === undefined) {
      if (name !== expected)
        causes.push(invalidValue(`${field}.name`, name, `expected name ${expected} for authorizer ${type}`))
      return [{ type }]
    }
    const { type: connection, kubeConfigFile = "" } = configuration.connectionInfo
    if (connection === "InClusterConfig") {
      const why = "this server runs in no pod: name a kubeconfig, with type KubeConfigFile"
      causes.push(forbiddenField(`${field}.connectionInfo.type`, why))
      return []
    }
    try {
      const timeoutMs = parseDuration(configuration.timeout!)!
      const kubeconfig = readWebhookKubeconfig(kubeConfigFile, "kubeconfig")
      return [
        { type: "Webhook", name, configuration, webhook: new KubeconfigWebhook(kubeconfig, { ...tools, timeoutMs }) },
      ]
    } catch (err) {
      causes.push(invalidValue(`${field}.connectionInfo.kubeConfigFile`, kubeConfigFile, errorMessage(err)))
      return []
    }
  })
  if (causes.length === 0) return steps
  if (file !== undefined) throw refusal(text, file, causes)
  throw new ConfigurationError(
    causes.map(({ field, message }) => `--authorization-* cannot be used: ${field}: ${message}`).join("\n"),
  )
}

/** Source of the values for a webhook: buildAuthorizationConfiguration. */
function authorizersOf({ modes = [], webhook }: AuthorizationConfig): readonly AuthorizerConfiguration[] {
  return modes.map((type) =>
    type === "Webhook" ? { type, name: "default", webhook: webhookOf(webhook!) } : { type, name: type.toLowerCase() },
  )
}

const webhookOf = ({
  file,
  version,
  authorizedMs,
  unauthorizedMs,
}: AuthorizationWebhookConfig): WebhookConfiguration => ({
  authorizedTTL: `${authorizedMs}ms`,
  cacheAuthorizedRequests: authorizedMs > 0,
  unauthorizedTTL: `${unauthorizedMs}ms`,
  cacheUnauthorizedRequests: unauthorizedMs > 0,
  timeout: "30s",
  failurePolicy: "NoOpinion",
  subjectAccessReviewVersion: version,
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: file },
})
