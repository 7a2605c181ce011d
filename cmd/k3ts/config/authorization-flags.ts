import type { ApiServerConfig } from "../../../components/apiserver/apiserver-config.ts"
import { AUTHORIZATION_MODES } from "../../../components/apiserver/authorization/authorization-config.ts"
import { word } from "../cli/flag-type.ts"
import { list, oneOf, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

/** The flags about who decides, under upstream's names. Source: pkg/kubeapiserver/options/authorization.go. */
export const authorizationFlags = {
  "authorization-config": value(
    v.fileToRead.optional(),
    "File with an AuthorizationConfiguration: who decides about requests, in which order",
    { placeholder: "FILE", path: true },
  ),
  "authorization-mode": list(
    word(AUTHORIZATION_MODES, (text) =>
      text === "ABAC" ? "there is no ABAC: use RBAC" : `must be one of ${AUTHORIZATION_MODES.join(", ")}`,
    ),
    "Who decides about requests, in this order",
    { placeholder: "MODE", choices: AUTHORIZATION_MODES, defaultText: "Node,RBAC" },
  ),
  "authorization-webhook-config-file": value(
    v.fileToRead.optional(),
    "Kubeconfig that names the webhook of the mode Webhook",
    { placeholder: "FILE", path: true },
  ),
  "authorization-webhook-version": oneOf(
    ["v1", "v1beta1"],
    "v1beta1",
    "Version of the SubjectAccessReview that it is sent",
    { placeholder: "VERSION" },
  ),
  "authorization-webhook-cache-authorized-ttl": value(v.duration.prefault("5m"), "How long its permissions count", {
    placeholder: "DURATION",
    defaultText: "5m",
  }),
  "authorization-webhook-cache-unauthorized-ttl": value(v.duration.prefault("30s"), "How long its refusals count", {
    placeholder: "DURATION",
    defaultText: "30s",
  }),
} as const
type AuthorizationFlags = FlagsOf<typeof authorizationFlags> & { readonly "anonymous-auth": boolean | undefined }

/** Returns what the flags say about who decides. @throws UsageError for flags that contradict each other */
export function authorizationOf(flags: AuthorizationFlags): Pick<ApiServerConfig, "authorization"> {
  const file = flags["authorization-config"]
  const modes = flags["authorization-mode"]
  const webhookFile = flags["authorization-webhook-config-file"]
  if (file !== undefined) {
    if (modes.length > 0 || webhookFile !== undefined)
      throw new UsageError(
        `--${modes.length > 0 ? "authorization-mode" : "authorization-webhook-config-file"} cannot be used beside ` +
          "--authorization-config: name those who decide in the file, and leave the flag out",
      )
    return { authorization: { file } }
  }
  if (new Set(modes).size < modes.length)
    throw new UsageError(`--authorization-mode ${modes.join(",")} names a mode more than once`)
  if (webhookFile === undefined && modes.includes("Webhook"))
    throw new UsageError("--authorization-mode Webhook needs --authorization-webhook-config-file")
  if (webhookFile !== undefined && !modes.includes("Webhook"))
    throw new UsageError("--authorization-webhook-config-file needs --authorization-mode with Webhook")
  if (modes.includes("AlwaysAllow") && flags["anonymous-auth"] === true)
    throw new UsageError(
      "--authorization-mode AlwaysAllow cannot be used with --anonymous-auth=true: everybody could do anything",
    )
  if (modes.length === 0) return {}
  return {
    authorization: {
      modes,
      ...(webhookFile === undefined
        ? {}
        : {
            webhook: {
              file: webhookFile,
              version: flags["authorization-webhook-version"],
              authorizedMs: flags["authorization-webhook-cache-authorized-ttl"] * 1000,
              unauthorizedMs: flags["authorization-webhook-cache-unauthorized-ttl"] * 1000,
            },
          }),
    },
  }
}
