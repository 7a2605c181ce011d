import { checkKnown } from "../../../pkg/names/known.ts"
import { DEFAULT_FEATURES, type Features } from "../../../pkg/component/features.ts"
import type { AdmissionMetrics } from "./admission-metrics.ts"
import { measuredAdmission } from "./measured-admission.ts"
import { namedRefusals } from "./named-refusals.ts"
import type { WebhookCaller } from "../webhooks/webhook-caller.ts"
import { chainOf, type Admission } from "./admission.ts"
import { PLUGIN_NAMES, type AdmissionSettings, type OffByDefault } from "./admission-settings.ts"
import type { AdmissionContext } from "./context.ts"
import { disabledFields } from "./disabled-fields.ts"
import { certificates } from "./plugins/certificates.ts"
import { clusterTrustBundleAttest } from "./plugins/clustertrustbundleattest.ts"
import { defaultIngressClass, defaultStorageClass } from "./plugins/defaultclass.ts"
import { defaultTolerationSeconds } from "./plugins/defaulttolerationseconds.ts"
import { limitRanger } from "./plugins/limitranger.ts"
import { namespaceLifecycle } from "./plugins/namespacelifecycle.ts"
import { nodeDeclaredFeatures } from "./plugins/nodedeclaredfeatures.ts"
import { nodeRestriction } from "./plugins/noderestriction/noderestriction.ts"
import { taintNodesByCondition } from "./plugins/nodetaint.ts"
import { persistentVolumeClaimResize } from "./plugins/persistentvolumeclaimresize.ts"
import { podSecurity } from "./plugins/podsecurity/podsecurity.ts"
import { podResize } from "./plugins/podresize.ts"
import { podTopologyLabels } from "./plugins/podtopologylabels.ts"
import { jobValidation, podGroupProtection, podGroupWorkloadExists } from "./plugins/podgroup.ts"
import { priority } from "./plugins/priority.ts"
import { resourceQuota } from "./plugins/resourcequota.ts"
import { runtimeClass } from "./plugins/runtimeclass.ts"
import { serviceAccount } from "./plugins/serviceaccount.ts"
import { storageObjectInUseProtection } from "./plugins/storageobjectinuseprotection.ts"
import { mutatingPolicies } from "./policies/mutating.ts"
import type { PolicyDependencies } from "./policies/policy-dependencies.ts"
import { validatingPolicies } from "./policies/validating.ts"
import { mutatingWebhooks, validatingWebhooks, type WebhookDependencies } from "./webhooks/webhooks.ts"

/**
 * The plugins in the order in which they are called. Source: pkg/kubeapiserver/options/plugins.go AllOrderedPlugins,
 * which has webhooks and policies just before ResourceQuota, the last one. @throws Error for an unknown name of a
 * disabled plugin
 */
export const defaultChain = (
  context: AdmissionContext,
  webhooks: WebhookDependencies,
  policies: PolicyDependencies,
  settings: AdmissionSettings = {},
  features: Features = DEFAULT_FEATURES,
  metrics?: AdmissionMetrics,
): Admission => {
  const { disabled = new Set<string>() } = settings
  const calling = (caller: WebhookCaller | undefined) => (caller === undefined ? webhooks : { ...webhooks, caller })
  const added = (name: OffByDefault) => settings.added?.get(name)
  const plugins = [
    added("AlwaysAdmit"),
    added("NamespaceAutoProvision"),
    namespaceLifecycle(context),
    added("NamespaceExists"),
    added("LimitPodHardAntiAffinityTopology"),
    ...limitRanger(context),
    serviceAccount(context),
    nodeRestriction(context),
    taintNodesByCondition,
    added("AlwaysPullImages"),
    added("ImagePolicyWebhook"),
    ...podSecurity(context, settings.podSecurity),
    added("PodNodeSelector"),
    ...priority(context, features),
    defaultTolerationSeconds(settings.tolerationSeconds),
    added("PodTolerationRestriction"),
    added("EventRateLimit"),
    added("ExtendedResourceToleration"),
    defaultStorageClass(context),
    storageObjectInUseProtection,
    podGroupProtection(features),
    added("OwnerReferencesPermissionEnforcement"),
    persistentVolumeClaimResize(context),
    runtimeClass(context),
    ...certificates(context),
    clusterTrustBundleAttest(context, features),
    defaultIngressClass(context),
    added("DenyServiceExternalIPs"),
    podTopologyLabels(context),
    podGroupWorkloadExists(context, features),
    nodeDeclaredFeatures(context),
    jobValidation(context, features),
    podResize(context),
    disabledFields(features),
    mutatingPolicies(context, policies),
    mutatingWebhooks(context, calling(settings.webhookCallers?.mutating)),
    validatingPolicies(context, policies),
    validatingWebhooks(context, calling(settings.webhookCallers?.validating)),
    resourceQuota(context, settings.limitedResources),
    added("AlwaysDeny"),
  ].filter((plugin) => plugin !== undefined)
  checkKnown("admission plugin", disabled, PLUGIN_NAMES)
  const enabled = plugins.filter(({ name }) => !disabled.has(name))
  const admission = namedRefusals(chainOf(enabled, metrics))
  return metrics === undefined ? admission : measuredAdmission(admission, metrics)
}
