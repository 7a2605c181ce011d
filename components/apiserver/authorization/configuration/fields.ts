/**
 * The file of `--authorization-config`: who decides about requests, in which order. Source: apiserver
 * pkg/apis/apiserver/v1/types.go, KEP-3221.
 */
import { f, message, type ObjectOf } from "../../../../pkg/apimachinery/fields.ts"

const WebhookConnectionInfo = message("apiserver.v1.WebhookConnectionInfo", "How the webhook is reached.", {
  type: f.string(1, "KubeConfigFile or InClusterConfig."),
  kubeConfigFile: f.string(2, "The kubeconfig that names it."),
})

const WebhookMatchCondition = message("apiserver.v1.WebhookMatchCondition", "When the webhook is asked.", {
  expression: f.string(1, "An expression on `request` that must be true."),
})

const WebhookConfiguration = message("apiserver.v1.WebhookConfiguration", "A webhook that decides.", {
  authorizedTTL: f.duration(1, "How long a permission counts.").default("5m0s"),
  cacheAuthorizedRequests: f.bool(2, "Whether permissions are kept.").default(true).pointer(),
  unauthorizedTTL: f.duration(3, "How long a refusal counts.").default("30s"),
  cacheUnauthorizedRequests: f.bool(4, "Whether refusals are kept.").default(true).pointer(),
  timeout: f.duration(5, "The longest time for an answer, up to 30s."),
  subjectAccessReviewVersion: f.string(6, "What it is sent: v1 or v1beta1."),
  matchConditionSubjectAccessReviewVersion: f.string(7, "What the conditions see: v1."),
  failurePolicy: f.string(8, "What follows where it gives no answer: NoOpinion or Deny."),
  connectionInfo: f.message(9, WebhookConnectionInfo, "How it is reached.").always(),
  matchConditions: f.list(10, WebhookMatchCondition, "When it is asked; always unless given."),
})
export interface WebhookConfiguration extends ObjectOf<typeof WebhookConfiguration> {}

const AuthorizerConfiguration = message("apiserver.v1.AuthorizerConfiguration", "One that decides.", {
  type: f.string(1, "Node, RBAC, Webhook, AlwaysAllow or AlwaysDeny."),
  name: f.string(2, "Its name: for a type other than Webhook the type in lower case."),
  webhook: f.message(3, WebhookConfiguration, "The webhook of the type Webhook."),
})
export interface AuthorizerConfiguration extends ObjectOf<typeof AuthorizerConfiguration> {}

export const AuthorizationConfiguration = message("apiserver.v1.AuthorizationConfiguration", "Who decides.", {
  authorizers: f.list(1, AuthorizerConfiguration, "Those who decide, in the order in which they are asked."),
})
export interface AuthorizationConfiguration extends ObjectOf<typeof AuthorizationConfiguration> {}
