import type { Client } from "../../../pkg/client/client.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import { httpsCaller } from "../webhooks/https-caller.ts"
import { readWebhookCredentials } from "../webhooks/webhook-credentials.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { AdmissionPlugin } from "./admission.ts"
import { readAdmissionConfiguration, type PluginConfigurations } from "./admission-configuration.ts"
import {
  OFF_BY_DEFAULT,
  PLUGIN_NAMES,
  type AdmissionOptions,
  type AdmissionSettings,
  type OffByDefault,
} from "./admission-settings.ts"
import type { AdmissionContext } from "./context.ts"
import { alwaysAdmit, alwaysDeny } from "./plugins/alwaysadmit.ts"
import { alwaysPullImages } from "./plugins/alwayspullimages.ts"
import { limitPodHardAntiAffinityTopology } from "./plugins/antiaffinity.ts"
import { denyServiceExternalIPs } from "./plugins/denyserviceexternalips.ts"
import { eventRateLimit } from "./plugins/eventratelimit.ts"
import { extendedResourceToleration } from "./plugins/extendedresourcetoleration.ts"
import { ownerReferencesPermissionEnforcement } from "./plugins/gc.ts"
import { imagePolicyWebhook } from "./plugins/imagepolicy.ts"
import { namespaceAutoProvision, namespaceExists } from "./plugins/namespaceexists.ts"
import { podNodeSelector } from "./plugins/podnodeselector.ts"
import { podTolerationRestriction } from "./plugins/podtolerationrestriction.ts"

interface OptionalContext extends AdmissionContext {
  /** The client of the server itself, once it has started. */
  readonly client: () => Client
  readonly scheme: Pick<Scheme, "of">
  readonly tracing: Tracing | undefined
}

/**
 * Makes the plugins that are off by default and were enabled, and reads what plugins are told. It is loaded only where
 * something is said about admission.
 * @throws ConfigurationError, or Error that names the flag
 */
export function admissionSettings(options: AdmissionOptions, context: OptionalContext): AdmissionSettings {
  checkNames(options)
  const { enabled, disabled, configFile } = options
  const told = configFile === undefined ? {} : readAdmissionConfiguration(configFile)
  const { podSecurity, limitedResources, webhookKubeconfigs } = told
  const callerOf = (plugin: string) => {
    const file = webhookKubeconfigs?.[plugin] ?? ""
    return file === "" ? undefined : httpsCaller({ ...context, credentials: readWebhookCredentials(file) })
  }
  const added = OFF_BY_DEFAULT.filter((name) => enabled.includes(name)).map(
    (name) => [name, pluginOf(name, context, told)] as const,
  )
  return {
    disabled: new Set(disabled),
    added: new Map(added),
    podSecurity,
    limitedResources,
    webhookCallers: {
      mutating: callerOf("MutatingAdmissionWebhook"),
      validating: callerOf("ValidatingAdmissionWebhook"),
    },
  }
}

/**
 * Checks what the flags say. @throws Error that names the flag. Source: apiserver pkg/server/options/admission.go
 * Validate.
 */
export function checkNames({ enabled, disabled, configFile }: AdmissionOptions): void {
  for (const [flag, names] of [
    ["enable-admission-plugins", enabled],
    ["disable-admission-plugins", disabled],
  ] as const)
    for (const name of names)
      if (!PLUGIN_NAMES.includes(name))
        throw new Error(`--${flag}: plugin ${JSON.stringify(name)} is unknown: there are ${PLUGIN_NAMES.join(", ")}`)
  const both = enabled.filter((name) => disabled.includes(name))
  if (both.length > 0)
    throw new Error(`[${both.join(" ")}] in --enable-admission-plugins and --disable-admission-plugins overlapped`)
  for (const name of NEEDING_CONFIGURATION)
    if (enabled.includes(name) && configFile === undefined) throw needsConfiguration(name)
}

/** Plugins that cannot do anything without being told what. */
const NEEDING_CONFIGURATION = ["EventRateLimit", "ImagePolicyWebhook"] as const

const needsConfiguration = (name: string): Error =>
  new Error(`--enable-admission-plugins ${name}: the plugin needs a configuration in --admission-control-config-file`)

function pluginOf(name: OffByDefault, context: OptionalContext, told: PluginConfigurations): AdmissionPlugin {
  switch (name) {
    case "AlwaysAdmit":
      return alwaysAdmit
    case "AlwaysDeny":
      return alwaysDeny
    case "AlwaysPullImages":
      return alwaysPullImages
    case "DenyServiceExternalIPs":
      return denyServiceExternalIPs
    case "EventRateLimit":
      if (told.eventRateLimit === undefined) throw needsConfiguration(name)
      return eventRateLimit(context, told.eventRateLimit)
    case "ExtendedResourceToleration":
      return extendedResourceToleration
    case "ImagePolicyWebhook":
      if (told.imagePolicy === undefined) throw needsConfiguration(name)
      return imagePolicyWebhook(context, told.imagePolicy)
    case "LimitPodHardAntiAffinityTopology":
      return limitPodHardAntiAffinityTopology
    case "NamespaceAutoProvision":
      return namespaceAutoProvision(context, context.client)
    case "NamespaceExists":
      return namespaceExists(context)
    case "OwnerReferencesPermissionEnforcement":
      return ownerReferencesPermissionEnforcement(context, context.scheme)
    case "PodNodeSelector":
      return podNodeSelector(context, told.podNodeSelector)
    case "PodTolerationRestriction":
      return podTolerationRestriction(context, told.podTolerationRestriction)
  }
}
