import type { WebhookCaller } from "../webhooks/webhook-caller.ts"
import type { AdmissionPlugin } from "./admission.ts"
import type { TolerationSeconds } from "./plugins/defaulttolerationseconds.ts"
import type { PodSecuritySettings } from "./plugins/podsecurity/podsecurity-settings.ts"
import type { LimitedResource } from "./plugins/resourcequota.ts"

/** What the flags say about admission. */
export interface AdmissionOptions {
  /** Plugins that are on although they are off by default. */
  readonly enabled: readonly string[]
  readonly disabled: readonly string[]
  /** A file with an AdmissionConfiguration. */
  readonly configFile?: string | undefined
}

/** What plugins are told, where it is not what they do by default. */
export interface AdmissionSettings {
  /** Names of the plugins that are off. */
  readonly disabled?: ReadonlySet<string> | undefined
  /** Plugins that are off by default, by their names. */
  readonly added?: ReadonlyMap<string, AdmissionPlugin>
  readonly podSecurity?: PodSecuritySettings | undefined
  readonly limitedResources?: readonly LimitedResource[] | undefined
  readonly tolerationSeconds?: TolerationSeconds | undefined
  /** How webhooks are called that recognize this server; as all webhooks unless given. */
  readonly webhookCallers?:
    | { readonly mutating: WebhookCaller | undefined; readonly validating: WebhookCaller | undefined }
    | undefined
}

/**
 * The plugins that are off by default, in the order in which they are called. Source:
 * pkg/kubeapiserver/options/plugins.go DefaultOffAdmissionPlugins. NodeRestriction is not among them: it is on here, as
 * in every distribution, since nodes have rights of their own.
 */
export const OFF_BY_DEFAULT = [
  "AlwaysAdmit",
  "NamespaceAutoProvision",
  "NamespaceExists",
  "LimitPodHardAntiAffinityTopology",
  "AlwaysPullImages",
  "ImagePolicyWebhook",
  "PodNodeSelector",
  "PodTolerationRestriction",
  "EventRateLimit",
  "ExtendedResourceToleration",
  "OwnerReferencesPermissionEnforcement",
  "DenyServiceExternalIPs",
  "AlwaysDeny",
] as const
export type OffByDefault = (typeof OFF_BY_DEFAULT)[number]

/** The plugins that are on by default. */
export const ON_BY_DEFAULT = [
  "NamespaceLifecycle",
  "LimitRanger",
  "ServiceAccount",
  "NodeRestriction",
  "TaintNodesByCondition",
  "PodSecurity",
  "Priority",
  "DefaultTolerationSeconds",
  "DefaultStorageClass",
  "StorageObjectInUseProtection",
  "PodGroupProtection",
  "PersistentVolumeClaimResize",
  "RuntimeClass",
  "CertificateApproval",
  "CertificateSigning",
  "ClusterTrustBundleAttest",
  "CertificateSubjectRestriction",
  "DefaultIngressClass",
  "PodTopologyLabels",
  "PodGroupWorkloadExists",
  "NodeDeclaredFeatureValidator",
  "JobValidation",
  "PodResizeValidator",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "ResourceQuota",
] as const

/** Every name that the flags know. */
export const PLUGIN_NAMES: readonly string[] = [...ON_BY_DEFAULT, ...OFF_BY_DEFAULT].sort()
