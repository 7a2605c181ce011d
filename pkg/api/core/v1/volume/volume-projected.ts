import { e, f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { LabelSelector } from "../../../../apimachinery/meta.ts"
import { ObjectFieldSelector, ResourceFieldSelector } from "../container/env.ts"

export const KeyToPath = message("core.v1.KeyToPath", "Puts one key into a file.", {
  key: f.string(1, "The key.").required(),
  path: f.string(2, "Relative path of the file.").required(),
  mode: f.int32(3, "Permission bits of the file; the volume's default unless given.").pointer(),
})
export interface KeyToPath extends ObjectOf<typeof KeyToPath> {}

export const DownwardAPIVolumeFile = message("core.v1.DownwardAPIVolumeFile", "A file with a field of the pod.", {
  path: f.string(1, "Relative path of the file.").required().ownRule(),
  fieldRef: f.message(2, ObjectFieldSelector, "A field of the pod."),
  resourceFieldRef: f.message(3, ResourceFieldSelector, "A request or limit of a container."),
  mode: f.int32(4, "Permission bits of the file; the volume's default unless given.").pointer(),
})
export interface DownwardAPIVolumeFile extends ObjectOf<typeof DownwardAPIVolumeFile> {}

export const SecretProjection = message("core.v1.SecretProjection", "Keys of a Secret as files.", {
  name: f.string(1, "Name of the Secret.").default("").embeddedIn(1),
  items: f.list(2, KeyToPath, "Which keys go where; every key under its own name unless given.").atomic(),
  optional: f.bool(4, "Whether the Secret or key may be missing.").pointer(),
})
export interface SecretProjection extends ObjectOf<typeof SecretProjection> {}

export const ConfigMapProjection = message("core.v1.ConfigMapProjection", "Keys of a ConfigMap as files.", {
  name: f.string(1, "Name of the ConfigMap.").default("").embeddedIn(1),
  items: f.list(2, KeyToPath, "Which keys go where; every key under its own name unless given.").atomic(),
  optional: f.bool(4, "Whether the ConfigMap or key may be missing.").pointer(),
})
export interface ConfigMapProjection extends ObjectOf<typeof ConfigMapProjection> {}

export const DownwardAPIProjection = message("core.v1.DownwardAPIProjection", "Fields of the pod as files.", {
  items: f.list(1, DownwardAPIVolumeFile, "The files.").atomic(),
})
export interface DownwardAPIProjection extends ObjectOf<typeof DownwardAPIProjection> {}

export const ServiceAccountTokenProjection = message(
  "core.v1.ServiceAccountTokenProjection",
  "A token of the pod's service account as a file.",
  {
    audience: f.string(1, "For whom the token is meant; the API server unless given."),
    expirationSeconds: f.int64(2, "Lifetime of the token; it is replaced in time.").default(3600).pointer(),
    path: f.string(3, "Relative path of the file.").required().ownRule(),
  },
)
export interface ServiceAccountTokenProjection extends ObjectOf<typeof ServiceAccountTokenProjection> {}

export const ClusterTrustBundleProjection = message(
  "core.v1.ClusterTrustBundleProjection",
  "Trust anchors as a file.",
  {
    name: f.string(1, "One bundle by name; excludes signerName.").pointer(),
    signerName: f.string(2, "All bundles of a signer; excludes name.").pointer(),
    labelSelector: f.message(3, LabelSelector, "Which of the signer's bundles; absent means none, empty means all."),
    optional: f.bool(5, "Whether the bundles may be missing.").pointer(),
    path: f.string(4, "Relative path of the file.").required().ownRule(),
  },
)
export interface ClusterTrustBundleProjection extends ObjectOf<typeof ClusterTrustBundleProjection> {}

export const PodCertificateProjection = message(
  "core.v1.PodCertificateProjection",
  "A key and a certificate of the pod as files.",
  {
    signerName: f.string(1, "Who is asked for the certificate.").required().ownRule(),
    keyType: f.string(2, "Kind of the key.").required().ownRule(),
    maxExpirationSeconds: f.int32(3, "Longest wanted lifetime of the certificate.").pointer(),
    credentialBundlePath: f.string(4, "File for key and certificate chain together."),
    keyPath: f.string(5, "File for the key."),
    certificateChainPath: f.string(6, "File for the certificate chain."),
    userAnnotations: f.map(7, e.string, "Passed on to the signer."),
  },
)
export interface PodCertificateProjection extends ObjectOf<typeof PodCertificateProjection> {}

export const VolumeProjection = message(
  "core.v1.VolumeProjection",
  "One source of a projected volume; exactly one is given.",
  {
    secret: f.message(1, SecretProjection, "Keys of a Secret."),
    downwardAPI: f.message(2, DownwardAPIProjection, "Fields of the pod."),
    configMap: f.message(3, ConfigMapProjection, "Keys of a ConfigMap."),
    serviceAccountToken: f.message(4, ServiceAccountTokenProjection, "A token of the service account."),
    clusterTrustBundle: f.message(5, ClusterTrustBundleProjection, "Trust anchors."),
    podCertificate: f.message(6, PodCertificateProjection, "A key and a certificate."),
  },
)
export interface VolumeProjection extends ObjectOf<typeof VolumeProjection> {}

export const ProjectedVolumeSource = message("core.v1.ProjectedVolumeSource", "Several sources in one folder.", {
  sources: f.list(1, VolumeProjection, "The sources.").atomic().orNull(),
  defaultMode: f.int32(2, "Permission bits of files that name none.").default(420).pointer(),
})
export interface ProjectedVolumeSource extends ObjectOf<typeof ProjectedVolumeSource> {}
