/** Reads the file of `--admission-control-config-file`. Source: apiserver pkg/admission/config.go. */
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { e, f, message, type ObjectOf } from "../../../pkg/apimachinery/fields.ts"
import type { Message } from "../../../pkg/apimachinery/field-spec.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import { duplicate, invalidValue, notSupported, required } from "../../../pkg/apimachinery/validation/field-errors.ts"
import {
  ConfigurationError,
  embeddedConfiguration,
  parseConfiguration,
  readConfiguration,
  refusal,
  type ConfigurationKind,
} from "../../../pkg/config-file/config-file.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { PLUGIN_NAMES } from "./admission-settings.ts"
import { EVENT_RATE_LIMIT, type EventLimits } from "./plugins/eventratelimit.ts"
import { IMAGE_POLICY, type ImagePolicyConfiguration } from "./plugins/imagepolicy.ts"
import { POD_NODE_SELECTOR } from "./plugins/podnodeselector.ts"
import { POD_TOLERATION_RESTRICTION, type PodTolerations } from "./plugins/podtolerationrestriction.ts"
import { POD_SECURITY, podSecuritySettings } from "./plugins/podsecurity/configuration-kind.ts"
import type { PodSecuritySettings } from "./plugins/podsecurity/podsecurity-settings.ts"
import type { LimitedResource } from "./plugins/resourcequota.ts"
import { ScopedResourceSelectorRequirement } from "../../../pkg/api/core/v1/resourcequota/resourcequotaspec.ts"

const PluginConfiguration = message("admission.AdmissionPluginConfiguration", "The configuration of one plugin.", {
  name: f.string(1, "The name of the plugin."),
  path: f.string(2, "A file with the configuration of the plugin; beside this file unless absolute."),
  configuration: f.extension(3, "The configuration of the plugin; counts before path."),
})
const Admission = message("admission.AdmissionConfiguration", "The configurations of admission plugins.", {
  plugins: f.list(1, PluginConfiguration, "By plugin."),
})
const ADMISSION: ConfigurationKind<typeof Admission> = {
  apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"],
  kind: "AdmissionConfiguration",
  schema: Admission,
  validate: ({ plugins = [] }) =>
    plugins.flatMap(({ name = "" }, i): Cause[] => {
      const field = `plugins[${i}].name`
      if (name === "") return [required(field, "name the plugin")]
      if (!PLUGIN_NAMES.includes(name)) return [notSupported(field, name, PLUGIN_NAMES)]
      return plugins.findIndex((other) => other.name === name) < i ? [duplicate(field, name)] : []
    }),
}

const Limited = message("resourcequota.LimitedResource", "What may only be used where a quota limits its use.", {
  apiGroup: f.string(1, "The API group of the resource."),
  resource: f.string(2, "The plural name of the resource."),
  matchContains: f.list(3, e.string, "Parts of the names of what is limited."),
  matchScopes: f.list(4, ScopedResourceSelectorRequirement, "Scopes of objects that need a quota of that scope."),
})
const QuotaConfiguration = message("resourcequota.Configuration", "What needs a quota.", {
  limitedResources: f.list(1, Limited, "By resource."),
})
const quotaKind = (kind: string, apiVersions: ConfigurationKind["apiVersions"]) => ({
  apiVersions,
  kind,
  schema: QuotaConfiguration,
  validate: ({ limitedResources = [] }: ObjectOf<typeof QuotaConfiguration>) =>
    limitedResources.flatMap(({ resource = "" }, i) =>
      resource === "" ? [required(`limitedResources[${i}].resource`, "")] : [],
    ),
})
/** Source: apiserver pkg/admission/plugin/resourcequota/apis/resourcequota. */
const RESOURCE_QUOTA = [
  quotaKind("ResourceQuotaConfiguration", ["apiserver.config.k8s.io/v1"]),
  quotaKind("Configuration", [
    "resourcequota.admission.k8s.io/v1",
    "resourcequota.admission.k8s.io/v1beta1",
    "resourcequota.admission.k8s.io/v1alpha1",
  ]),
] as const

const WebhookAdmission = message("webhook.WebhookAdmission", "How webhooks recognize this server.", {
  kubeConfigFile: f.string(1, "A kubeconfig whose users are credentials, by the names of hosts."),
  staticManifestsDir: f.string(2, "A folder of webhook configurations."),
})
/** Source: apiserver pkg/admission/plugin/webhook/config/apis/webhookadmission. */
const WEBHOOK_ADMISSION: readonly ConfigurationKind<typeof WebhookAdmission>[] = (
  [
    ["WebhookAdmissionConfiguration", ["apiserver.config.k8s.io/v1"]],
    ["WebhookAdmission", ["apiserver.config.k8s.io/v1alpha1"]],
  ] as const
).map(([kind, apiVersions]) => ({
  apiVersions,
  kind,
  schema: WebhookAdmission,
  validate: ({ kubeConfigFile = "", staticManifestsDir = "" }) => [
    ...(kubeConfigFile === "" || kubeConfigFile.startsWith("/")
      ? []
      : [invalidValue("kubeConfigFile", kubeConfigFile, "must be an absolute file path")]),
    ...(staticManifestsDir === ""
      ? []
      : [
          invalidValue(
            "staticManifestsDir",
            staticManifestsDir,
            "the gate ManifestBasedAdmissionControlConfig is off and not there: apply the manifests to the cluster",
          ),
        ]),
  ],
}))

/** The configurations of plugins. */
export interface PluginConfigurations {
  readonly podSecurity?: PodSecuritySettings | undefined
  readonly eventRateLimit?: EventLimits | undefined
  readonly podNodeSelector?: Readonly<Record<string, string>> | undefined
  readonly podTolerationRestriction?: PodTolerations | undefined
  readonly imagePolicy?: ImagePolicyConfiguration | undefined
  readonly limitedResources?: readonly LimitedResource[] | undefined
  /** The kubeconfigs with credentials for webhooks, by the name of the plugin. */
  readonly webhookKubeconfigs?: Readonly<Record<string, string | undefined>>
}

/** Reads the file and those that it names. @throws ConfigurationError */
export function readAdmissionConfiguration(file: string): PluginConfigurations {
  const { plugins = [] } = readConfiguration(file, [ADMISSION]).value
  const text = readFileSync(file, "utf8")

  function of<M extends Message>(name: string, kinds: readonly ConfigurationKind<M>[]): ObjectOf<M> | undefined {
    const i = plugins.findIndex((plugin) => plugin.name === name)
    const { path = "", configuration } = plugins[i] ?? {}
    if (configuration !== undefined)
      return embeddedConfiguration(configuration, { text, file, at: `plugins[${i}].configuration` }, kinds).value
    return path === "" ? undefined : parseConfiguration(textOf(path, i), resolve(dirname(file), path), kinds).value
  }
  function textOf(path: string, i: number): string {
    try {
      return readFileSync(resolve(dirname(file), path), "utf8")
    } catch (err) {
      throw refusal(text, file, [{ field: `plugins[${i}].path`, message: errorMessage(err) }])
    }
  }

  for (const [i, { name = "", path = "", configuration }] of plugins.entries())
    if (!CONFIGURED.has(name) && (path !== "" || configuration !== undefined))
      throw new ConfigurationError(
        refusal(text, file, [{ field: `plugins[${i}]`, message: `${name} has nothing to configure: remove it` }])
          .message,
      )
  const security = of("PodSecurity", [POD_SECURITY])
  return {
    podSecurity: security && podSecuritySettings(security),
    eventRateLimit: of("EventRateLimit", [EVENT_RATE_LIMIT]),
    podNodeSelector: of("PodNodeSelector", [POD_NODE_SELECTOR])?.podNodeSelectorPluginConfig,
    podTolerationRestriction: of("PodTolerationRestriction", [POD_TOLERATION_RESTRICTION]),
    imagePolicy: of("ImagePolicyWebhook", [IMAGE_POLICY]),
    limitedResources: of("ResourceQuota", RESOURCE_QUOTA)?.limitedResources,
    webhookKubeconfigs: Object.fromEntries(
      WEBHOOK_PLUGINS.map((name) => [name, of(name, WEBHOOK_ADMISSION)?.kubeConfigFile]),
    ),
  }
}

const WEBHOOK_PLUGINS = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"] as const
const CONFIGURED: ReadonlySet<string> = new Set([
  ...["PodSecurity", "EventRateLimit", "PodNodeSelector", "PodTolerationRestriction", "ImagePolicyWebhook"],
  "ResourceQuota",
  ...WEBHOOK_PLUGINS,
])
