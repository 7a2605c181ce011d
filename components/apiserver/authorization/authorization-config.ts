/** Who decides about requests, instead of nodes' own rights and RBAC. */
export interface AuthorizationConfig {
  /** The file of `--authorization-config`. */
  readonly file?: string | undefined
  /** What `--authorization-mode` says; not beside a file. */
  readonly modes?: readonly AuthorizationMode[] | undefined
  /** The webhook of the mode Webhook. */
  readonly webhook?: AuthorizationWebhookConfig | undefined
}

export const AUTHORIZATION_MODES = ["AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"] as const
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number]

export interface AuthorizationWebhookConfig {
  /** A kubeconfig that names it. */
  readonly file: string
  readonly version: "v1" | "v1beta1"
  /** How long its permissions and its refusals count, in milliseconds. */
  readonly authorizedMs: number
  readonly unauthorizedMs: number
}
